"""Fusion weights and tokens over time, on traces whose numbers are worked out by hand."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from recap.trace import Comparison, RowTable, Step, Trace
from visual import throughput, weights

from . import synthetic

THEMES = ("light", "dark")


def tree(index: int, parents: list[int], mixed: list[list[float]], ms: float = 100.0, committed: int = 1) -> Step:
    """A pass whose nodes hang where `parents` says, fused with the weights `mixed`; zeros make a suffix node."""
    n = len(parents)
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    origins = ["root", *("memory" if any(one) else "suffix" for one in mixed[1:])]
    return Step(
        index=index, prefix_length=9, max_nodes=63, suffix_tokens=4, tokens=list(range(n)), parents=parents,
        depths=depths, scores=[1.0] * n, origins=origins, weights=mixed, shares=mixed, rows=[[-1] * 3] * n,
        fused=[-1] * n, target=[-1] * n, choices=[-1] * n, accepted=[True] + [False] * (n - 1),
        committed=list(range(committed)), draft_ms=ms / 4, verify_ms=ms / 2, update_ms=ms / 4, sizes={},
        table=RowTable(texts={0: " a", 1: "<b>", 2: "\n", 3: "d"}),
    )  # fmt: skip


@pytest.fixture
def trace() -> Trace:
    """Two passes. Lookups: (G, C), (G, C, U) twice, (C, U) and U alone."""
    none = [0.0] * 3
    one = tree(0, [-1, 0, 0, 1], [none, [0.75, 0.25, 0.0], [0.75, 0.25, 0.0], [0.5, 0.25, 0.25]], 100.0, committed=3)
    two = tree(1, [-1, 0, 1, 2, 0], [none, [0.75, 0.125, 0.125], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0], none], 300.0)
    table = one.table
    two.table = table
    empty = replace(synthetic.trace(random.Random(1)), steps=[one, two], table=table, comparison=None)
    return replace(empty, token_ids=[0, 0, 1, 2, 0], encode_seconds=0.25, prefill_seconds=0.5, decode_seconds=0.8)


def test_calls_are_the_nodes_that_were_looked_up(trace: Trace) -> None:
    assert weights.calls(trace.steps[0]) == {0: [0.75, 0.25, 0.0], 1: [0.5, 0.25, 0.25]}
    assert weights.calls(trace.steps[1]) == {0: [0.75, 0.125, 0.125], 1: [0.0, 0.5, 0.5], 2: [0.0, 0.0, 1.0]}


def test_averages_go_by_rank_and_leave_single_rows_out(trace: Trace) -> None:
    assert weights.averages(trace, 0) == {2: ((0.75, 0.25), 1), 3: ((0.5, 0.25, 0.25), 1)}
    assert weights.averages(trace, 1) == {2: ((0.625, 0.375), 2), 3: ((0.625, 0.1875, 0.1875), 2)}
    alone = replace(trace, steps=[tree(0, [-1, 0], [[0.0] * 3, [0.0, 0.0, 1.0]])])
    assert weights.averages(alone, 0) == {} and weights.averages(replace(trace, steps=[]), 0) == {}


@pytest.mark.parametrize("look", THEMES)
def test_bars_stack_to_one_and_tell_their_context(trace: Trace, look: str) -> None:
    data = {one["name"]: one for one in weights.spec(trace, 1, look)["data"]}
    assert [data[name]["y"] for name in "GCU"] == [[0.75, 0.0, 0.0], [0.125, 0.5, 0.0], [0.125, 0.5, 1.0]]
    assert data["C"]["customdata"] == [0, 1, 2] and data["C"]["text"] == ["", "C", ""]
    assert data["G"]["hovertext"][0] == "after “␣a”<br>G 0.75 · C 0.12 · U 0.12"
    assert data["G"]["hovertext"][2] == "after “⏎”<br>U 1.00 (the only row found)"
    assert "&lt;b&gt;" in data["G"]["hovertext"][1] and "<b>" not in json.dumps(list(data.values()))
    assert len({data[name]["marker"]["pattern"]["shape"] for name in "GCU"}) == 3


def test_averages_stand_beside_the_papers(trace: Trace) -> None:
    plain = weights.spec(trace, 1)
    ranks = [one for one in plain["data"] if one["name"].startswith("rank")]
    assert [one["x"] for one in ranks] == [[0.625, 0.764, 0.625, 0.693], [0.375, 0.236, 0.1875, 0.199], [0.1875, 0.108]]
    assert [one["y"] for one in ranks] == [[0, 1, 2, 3], [0, 1, 2, 3], [2, 3]]
    assert "93,482 lookups" in ranks[0]["hovertext"][1] and "71,925 lookups" in ranks[0]["hovertext"][3]
    names = [note["text"] for note in plain["layout"]["annotations"] if note["yref"] == "y2"]
    assert names == ["2 rows, here", "the paper", "3 rows, here", "the paper"]


def test_nothing_to_show_is_a_sentence(trace: Trace) -> None:
    silent = replace(trace, steps=[tree(0, [-1], [[0.0] * 3]), *trace.steps, tree(3, [-1], [[0.0] * 3])])
    first, last = weights.spec(silent, 0), weights.spec(silent, 3)
    assert first["data"] == [] and "No candidate came from the memories" in first["layout"]["annotations"][0]["text"]
    assert [one["name"] for one in last["data"]] == ["rank 1", "rank 2", "rank 3"]
    (said,) = [note for note in last["layout"]["annotations"] if note["text"].startswith("No candidate of this pass")]
    heads = [note for note in last["layout"]["annotations"] if note.get("yanchor") == "bottom"]
    high = 168 - last["layout"]["margin"]["t"] - last["layout"]["margin"]["b"]  # the page's
    middle, half = high * said["y"], said["font"]["size"] * 1.3 * len(said["text"].split("<br>")) / 2
    below, above = sorted((high * head["y"], high * head["y"] + 1 + 1.3 * head["font"]["size"]) for head in heads)
    assert below[1] < middle - half and middle + half < above[0], "between two headings, over neither"
    with pytest.raises(IndexError):
        weights.spec(silent, 4)


def test_points_end_at_the_traces_own_time(trace: Trace) -> None:
    """100 and 300 ms of passes stand for 0.8 s of decoding, half of it bookkeeping."""
    assert throughput.points(trace) == [(0.0, 0), (0.75, 1), (pytest.approx(0.95), 4), (pytest.approx(1.55), 5)]
    assert throughput.points(trace)[-1][0] == pytest.approx(trace.seconds)
    assert throughput.points(replace(trace, token_ids=[], steps=[])) == [(0.0, 0)]
    assert throughput.points(replace(trace, token_ids=[7], steps=[], decode_seconds=0.0)) == [(0.0, 0), (0.75, 1)]


def test_a_lone_lane_shows_what_it_was_compared_with(trace: Trace) -> None:
    compared = replace(trace, comparison=Comparison([0, 0, 1, 2, 0], "", 0.25, 0.5, 2.25, None))
    own, other = throughput.spec([("RECAP", compared)])["data"]
    assert own["line"]["shape"] == "hv" and own["line"]["dash"] == "solid" and own["y"] == [0, 1, 4, 5]
    assert other["line"]["dash"] == "dash" and (other["x"][-1], other["y"][-1]) == (3.0, 5)
    assert list(zip(other["x"], other["y"])) == [(0.0, 0), (0.75, 0), (0.75, 1), (3.0, 5)]
    plain = replace(trace, method="ar", decode_seconds=2.25)
    race = throughput.spec([("AR", plain), ("RECAP", compared)])
    assert [one["name"] for one in race["data"]] == ["AR", "RECAP"] and race["data"][0]["line"]["dash"] == "dash"
    labels = race["layout"]["annotations"]
    assert [(note["text"], note["yanchor"]) for note in labels] == [
        ("<b>RECAP</b><br>3.2 tok/s", "bottom"), ("<b>AR</b><br>1.7 tok/s", "top")
    ]  # fmt: skip


def test_two_lanes_that_are_not_plain_decoding_differ_without_colour(trace: Trace) -> None:
    one, other = throughput.spec([("a", trace), ("<b>", trace)])["data"]
    assert one["line"]["dash"] != other["line"]["dash"] and other["hovertext"][1].startswith("&lt;b&gt;: 1 token after")


def test_axes_seldom_change_while_an_answer_grows() -> None:
    whole = synthetic.trace(random.Random(3), steps=60, compared=False)
    seen = []
    for passes in range(61):
        ids = whole.token_ids[: 1 + sum(len(step.committed) for step in whole.steps[:passes])]
        part = replace(whole, steps=whole.steps[:passes], token_ids=ids, decode_seconds=0.05 * passes)
        layout = throughput.spec([("RECAP", part)])["layout"]
        assert layout["yaxis"]["range"][1] >= len(ids) and layout["xaxis"]["range"][1] * 0.79 >= part.seconds
        seen.append((layout["xaxis"]["range"][1], layout["yaxis"]["range"][1]))
    assert seen == sorted(seen) and len(set(seen)) <= 15
    assert [throughput._round_up(value) for value in (0.1, 1, 1.01, 3, 57, 100, 101)] == [0.1, 1, 1.5, 3, 70, 100, 150]


@pytest.mark.parametrize("look", THEMES)
def test_figures_are_what_the_page_draws(trace: Trace, look: str) -> None:
    for figure, plain in (
        (weights.figure(trace, 1, look), weights.spec(trace, 1, look)),
        (throughput.figure([("RECAP", trace)], look), throughput.spec([("RECAP", trace)], look)),
    ):
        assert isinstance(figure, go.Figure) and len(figure.data) == len(plain["data"])
        assert json.loads(json.dumps(plain)) == plain and plain["layout"]["xaxis"]["fixedrange"] is True
    for make in (lambda: weights.spec(trace, 1, "blue"), lambda: throughput.spec([("RECAP", trace)], "blue")):
        with pytest.raises(ValueError, match="light or dark"):
            make()
