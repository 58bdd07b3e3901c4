"""The tree where it is dense, the weight of its edges, its ring, and what a node tells under the pointer."""

from __future__ import annotations

from html import unescape

from hypothesis import given, settings
from hypothesis import strategies as st

from recap.trace import Step
from visual import hover, layout, text, tree

from .test_visual import THEMES, make, steps


@given(st.text(max_size=300))
def test_hover_wraps_and_keeps_every_word(some: str) -> None:
    words = some.split(" ")
    lines = hover.wrap(some).split("<br>")
    assert " ".join(lines) == text.escape(some) or some.startswith(" ")
    assert all(len(unescape(line)) <= max(hover.WIDTH, *(len(word) for word in words)) for line in lines)
    assert hover.title("x" * 10_000).replace("<br>", "").count("x") == hover.LONGEST


@settings(max_examples=40, deadline=None)
@given(steps, st.sampled_from(THEMES))
def test_dense_tree_shows_every_token_beside_its_node(step: Step, look: str) -> None:
    dense = tree.spec(step, look, dense=True)
    meta, data = dense["layout"]["meta"], {one["name"]: one for one in dense["data"]}
    assert meta["dense"] and tree.LEAST_ROW <= meta["row"] <= tree.DENSE.row
    if meta["row"] > tree.LEAST_ROW:
        assert dense["layout"]["height"] <= tree.FRAME + 1
    assert meta["row"] == tree.spec(step, look, dense=True)["layout"]["meta"]["row"]
    for kind in ("accepted", "refused"):
        nodes, tokens = data[kind], data[f"{kind} tokens"]
        assert tokens["textposition"] == "middle right" and tokens["y"] == nodes["y"]
        assert tokens["text"] == [text.label(step.text(n), tree.LONGEST_TOKEN) for n in nodes["customdata"]]
        assert all(0 < right - x < 0.2 for right, x in zip(tokens["x"], nodes["x"]))
        assert all(size < meta["row"] for size in nodes["marker"]["size"])
    roomy = {one["name"]: one for one in tree.spec(step, look)["data"]}
    assert data["refused"]["y"] == roomy["refused"]["y"] and data["accepted"]["x"] == roomy["accepted"]["x"]


@settings(max_examples=30, deadline=None)
@given(steps)
def test_dense_edges_begin_after_the_token(step: Step) -> None:
    for node in range(len(step)):
        begin = tree._begin(step, node)
        shown = text.shorten(text.visible(step.text(node)), tree.LONGEST_TOKEN)
        wide = tree.BOLD if step.accepted[node] else tree.LETTER
        assert begin <= tree.DENSE.turn - tree.DENSE.corner[0] + 1e-9
        assert begin * tree.DENSE.column >= min(tree.GAP + wide * sum(map(text.breadth, shown)), 56)


@settings(max_examples=30, deadline=None)
@given(steps)
def test_edges_are_as_wide_as_their_scores(step: Step) -> None:
    edges = [one for one in tree.spec(step)["data"] if one["name"] == "refused branches"]
    assert [one["line"]["width"] for one in edges] == [1.0, 1.7, 2.8]
    ends = [[(x, y) for x, y, after in zip(one["x"], one["y"], [*one["x"][1:], 0]) if after is None] for one in edges]
    places = list(zip(step.depths, layout.tidy(step).rows))
    for node in range(1, len(step)):
        score = step.scores[node]
        wide = 2 if score >= 0.05 else 1 if score >= 0.005 else 0
        assert [places[node] in some for some in ends] == [not step.accepted[node] and wide == at for at in range(3)]


def test_the_selected_node_wears_a_ring() -> None:
    step = make(8)
    for dense in (False, True):
        rings = {}
        for selected in (None, 3, -1, len(step)):
            data = tree.spec(step, selected=selected, dense=dense)["data"]
            (ring,) = [one for one in data if one["name"] == "selected"]
            rings[selected] = list(zip(ring["x"], ring["y"]))
        own = data[-1]
        assert rings[None] == rings[len(step)] == [] and rings[-1] == [(own["x"][0], own["y"][0])]
        assert rings[3] == [(step.depths[3], layout.tidy(step).rows[3])]
