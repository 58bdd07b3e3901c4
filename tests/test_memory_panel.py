"""The memory panel: growth over a conversation, hits, and what a context retrieves."""

from __future__ import annotations

import json

import numpy as np
import pytest

from visual import memory
from visual.theme import COLOURS

from . import panels

TALK = [
    [{"G": 10, "C": 8, "U": 100, "bytes": 2**20}, {"G": 30, "C": 20, "U": 110, "bytes": 2**20}],
    [],
    [{}, {"G": 5, "C": 4, "U": 120, "bytes": 3 * 2**19}],
]


@pytest.mark.parametrize("look", ["light", "dark"])
def test_u_goes_on_where_g_and_c_begin_anew(look: str) -> None:
    spec = memory.growth_spec(TALK, look)
    lines = {one["name"]: one for one in spec["data"]}
    assert {name: (line["x"], line["y"]) for name, line in lines.items()} == {
        "G": ([1, 2, None, 3], [10, 30, None, 5]),
        "C": ([1, 2, None, 3], [8, 20, None, 4]),
        "U": ([1, 2, 3], [100, 110, 120]),
    }
    assert lines["U"]["hovertext"][2] == "<b>U</b> 120 rows<br>question 3, pass 1<br>memory in all: 1.50 MiB"
    assert all(line["line"]["color"] == COLOURS[name] for name, line in lines.items())
    assert len({line["line"]["dash"] for line in lines.values()}) == 3
    assert len({line["marker"]["symbol"] for line in lines.values()}) == 3
    (separator,) = spec["layout"]["shapes"]
    assert separator["x0"] == separator["x1"] == 2.5
    assert json.loads(json.dumps(spec)) == spec


def test_lines_are_labelled_at_their_ends_without_overlap() -> None:
    notes = memory.growth_spec(TALK)["layout"]["annotations"]
    labels = [one for one in notes if one.get("xref") == "paper" and one["x"] == 1]
    assert [one["text"] for one in labels] == ["<b>C</b> 4", "<b>G</b> 5", "<b>U</b> 120"]
    heights = [one["y"] for one in labels]
    assert all(other - one >= 0.1 for one, other in zip(heights, heights[1:])) and 0 <= heights[0] and heights[-1] <= 1


def test_numbers_of_questions_have_room_even_on_a_phone() -> None:
    def numbers(*lengths: int) -> list[tuple[str, float]]:
        talk = [[{"G": 1, "C": 1, "U": 1}] * length for length in lengths]
        notes = memory.growth_spec(talk)["layout"]["annotations"]
        assert [one["text"] for one in notes if one.get("xanchor") == "right"] == ["question"]
        return [(one["text"], one["x"] + 0.5) for one in notes if "xref" not in one]

    assert numbers(2, 0, 1) == [("1", 1), ("3", 3)]
    assert numbers(8, 1, 120) == [("1–3", 1)], "the newcomer's chart, where three names were printed over each other"
    assert numbers(40, 2, 40, 40) == [("1", 1), ("2–3", 41), ("4", 83)]
    for lengths in ([1] * 30, [5, 1, 1, 50, 2, 90, 1, 1, 1, 7], [100, *[1] * 12, 80]):
        ends = -1.0
        for label, at in numbers(*lengths):
            left = 230 * (at - 1) / sum(lengths)
            assert left > ends
            ends = left + 7 * len(label)


def test_an_empty_conversation() -> None:
    for answers in ([], [[]], [[{}]]):
        spec = memory.growth_spec(answers, "dark")
        assert spec["data"] == [] and "Ask something" in spec["layout"]["annotations"][0]["text"]
        assert "Memory is empty" in memory.sizes(answers)
    with pytest.raises(ValueError, match="light or dark"):
        memory.growth_spec([], "blue")
    assert panels.Page(memory.sizes(TALK)).words.startswith(
        "G 5 rows: last three tokens, this request C 4 rows: last two tokens, this request U 120 rows: last token"
    )
    assert "1.50 MiB in all" in memory.sizes(TALK)


def test_hits_are_counted_over_every_node_of_every_tree() -> None:
    trace = panels.trace()
    page = panels.Page(memory.hits(trace))  # the second pass has five nodes; the first has no memory
    assert "5 lookups" in page.words
    for line in ("G 1 20 % 1", "C 2 40 % 0", "U 3 60 % 0"):
        assert line in page.words, page.words
    assert "Of 4 tokens in all, 0 more came from repeated text (suffix), and 3 were the model's own" in page.words
    assert [one["style"] for one in page.named("of-U") if "style" in one] == ["--p:60.0"]
    trace.steps = trace.steps[:1]
    assert "No lookups" in memory.hits(trace)


def test_what_a_context_retrieves_now() -> None:
    found = {
        "G": None,
        "C": (np.array([5, 3]), np.array([0.75, 0.25], np.float32)),
        "U": (np.array([4, 5]), np.array([0.5, 0.5], np.float32)),
    }
    page = panels.Page(memory.retrieved(["x", " the", " cat", "\n"], found, panels.WORDS.__getitem__))
    assert page.words == (
        "After “␣the” “␣cat” “⏎” memory holds now: token G C U ␣hat 75 50 ␣head 50 ␣sat 25 Nothing in G. Numbers in %."
    )
    warm = panels.Page(memory.retrieved(["x", " the", " cat", "\n"], found, panels.WORDS.__getitem__, warm=True))
    assert warm.words.replace("U (warm)", "U").startswith(page.words.removesuffix(" Numbers in %."))
    assert "token G C U (warm)" in warm.words and "not from this conversation, but loaded for every visitor" in warm.words
    nothing = dict.fromkeys("GCU")
    assert "Nothing: none of G, C, U" in memory.retrieved([" cat"], nothing, str)
    assert "Choose a token" in memory.retrieved([], nothing, str)


def test_what_was_recorded_at_a_node() -> None:
    step = panels.tree()
    assert panels.Page(memory.recorded(step, 1)).words == (
        "After “␣cat” “␣sat” when this pass began, memory held: token G C U ␣hat 88 ␣dog 12 Nothing in G and C. Numbers in %."
    )
    assert "After “␣cat” “␣sat” “␣hat” when this pass began, memory held: Nothing" in panels.Page(memory.recorded(step, 3)).words
    for node in (-1, 5):
        with pytest.raises(ValueError, match="node must be from 0 to 4"):
            memory.recorded(step, node)


@pytest.mark.parametrize("number", range(len(panels.HOSTILE)))
def test_token_texts_stay_text(number: int) -> None:
    trace = panels.hostile(number, panels.trace())
    panels.harmless(memory.hits(trace))
    panels.harmless(memory.recorded(trace.steps[1], 0))
    panels.harmless(memory.retrieved([panels.HOSTILE[number]] * 3, dict.fromkeys("GCU"), str))


def test_many_tokens_unfold() -> None:
    row = (np.arange(16), np.full(16, 1 / 16, np.float32))
    shown = memory.retrieved(["a"], {"G": None, "C": None, "U": row}, str)
    assert "6 more tokens" in shown and "1 more token<" not in shown
    assert len(panels.Page(shown).named("of-U")) == 17  # a head and sixteen tokens, folded ones among them
