"""The draft tree's picture and the words beside it, on random trees that obey the contract."""

from __future__ import annotations

import json
import random
import re

import networkx as nx
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.trace import RowTable, Step
from visual import layout, reasons, summary, text, theme, tree

from . import synthetic

THEMES = ("light", "dark")
steps = st.builds(
    lambda seed, nodes, suffix, luck: make(seed, nodes, suffix, luck),
    st.integers(0, 10**6), st.sampled_from([0, 1, 4, 16, 63]), st.integers(0, 4), st.sampled_from([0.0, 0.6, 1.0]),
)  # fmt: skip


def make(seed: int, nodes: int = 24, suffix: int = 3, luck: float = 0.7) -> Step:
    table = RowTable(texts=dict(enumerate(synthetic.WORDS)))
    return synthetic.step(random.Random(seed), table, seed % 7, nodes, suffix, luck)


def named(step: Step, name: str, look: str = "light") -> dict:
    return next(one for one in tree.spec(step, look)["data"] if one["name"] == name)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_layout_has_no_overlap_and_no_crossing(step: Step) -> None:
    places = layout.tidy(step)
    spots = list(zip(step.depths, places.rows))
    assert len(set(spots)) == len(step) and places.rows[0] == 0 and min(places.rows) == 0
    assert max(places.rows) == places.height - 1 and nx.is_arborescence(layout.graph(step))
    # an edge takes up its own column gap between its parent's row and its own: two of one gap must be nested or apart
    rows = places.rows
    for level in range(1, places.columns):
        spans = sorted(
            {(rows[step.parents[n]], rows[n], step.parents[n]) for n, depth in enumerate(step.depths) if depth == level}
        )
        for (_, end, parent), (start, _, other) in zip(spans, spans[1:]):
            assert parent == other or end < start


@settings(max_examples=30, deadline=None)
@given(steps)
def test_positions_depend_on_the_tree_alone(step: Step) -> None:
    n = len(step)
    silent = Step(**{**vars(step), "accepted": [True] + [False] * (n - 1), "choices": [-1] * n, "committed": []})
    assert layout.tidy(step) == layout.tidy(silent)
    one, other = tree.spec(step)["layout"], tree.spec(silent)["layout"]
    assert one["xaxis"] == other["xaxis"] and one["yaxis"] == other["yaxis"] and one["height"] == other["height"]
    assert tree.spec(step) == tree.spec(step)


@settings(max_examples=40, deadline=None)
@given(steps, st.sampled_from(THEMES))
def test_every_node_is_drawn_once_where_the_layout_says(step: Step, look: str) -> None:
    drawn = {}
    for name in ("accepted", "refused"):
        nodes = named(step, name, look)
        for node, x, y in zip(nodes["customdata"], nodes["x"], nodes["y"]):
            assert step.accepted[node] == (name == "accepted") and node not in drawn
            drawn[node] = (x, y)
    assert sorted(drawn) == list(range(len(step)))
    assert [drawn[n] for n in range(len(step))] == list(zip(step.depths, layout.tidy(step).rows))


@settings(max_examples=40, deadline=None)
@given(steps)
def test_own_choice_is_a_hollow_node_on_free_places(step: Step) -> None:
    own = tree.spec(step)["data"][-2]
    end = step.accepted_nodes[-1] if step.accepted_nodes else 0
    assert own["x"] == [step.depths[end] + 1]  # synthetic targets always choose, so there always is one
    taken = set(zip(step.depths, layout.tidy(step).rows))
    (x,), (y,) = own["x"], own["y"]
    assert (x, y) not in taken and (x + 1, y) not in taken
    low, high = tree.spec(step)["layout"]["yaxis"]["range"]
    assert high < y < low and "Not proposed" in own["hovertext"][0].replace("<br>", " ")
    words = tree.spec(step)["data"][-1]["text"][0]
    assert text.label(step.table.text(step.committed[-1])) in words
    assert ("instead" in words) == bool(step.children(end))


@settings(max_examples=40, deadline=None)
@given(steps)
def test_each_refusal_has_its_reason(step: Step) -> None:
    for node in range(1, len(step)):
        sentence, parent = reasons.why(step, node), step.parents[node]
        held = any(step.tokens[child] == step.choices[parent] for child in step.children(parent))
        if step.accepted[node]:
            assert sentence.startswith("Accepted")
        elif not step.accepted[parent]:
            assert "parent" in sentence and "was refused" in sentence
        elif held:
            assert "another candidate" in sentence
        else:
            assert "no candidate held" in sentence


def test_an_answer_that_ends_inside_the_draft() -> None:
    step = make(3, luck=1.0)
    last = step.accepted_nodes[-1]
    cut = Step(**{**vars(step), "committed": [step.tokens[n] for n in step.accepted_nodes[:-1]]})
    cut.accepted = [kept and node != last for node, kept in enumerate(step.accepted)]
    assert cut.bonus is None and tree.spec(cut)["data"][-2]["x"] == []
    assert "the answer ended before it" in reasons.why(cut, last)
    assert "There the answer ended" in summary.caption(cut)


def test_no_text_becomes_markup() -> None:
    hostile = '<b>x</b><a href="http://example.org">&lt;'
    step = make(5)
    step.table.texts.update(dict.fromkeys(step.table.texts, hostile))
    shown = json.dumps(tree.spec(step))
    assert "<a" not in shown and "&lt;a" in shown and "&amp;lt;" in shown
    assert set(re.findall(r"<(/?\w+)", shown)) <= {"b", "/b", "br"} and "<b>x" not in shown
    page = summary.caption(step)
    assert "<b>" not in page and "<a" not in page and "&lt;b&gt;" in page
    about = dict.fromkeys(("name", "device", "dtype", "exact", "note"), "<script>")
    assert "<script" not in summary.status(about, "<script>") + summary.status(None, error="<script>")


def test_blanks_are_visible_and_long_tokens_are_cut_with_the_whole_on_hover() -> None:
    assert text.visible(" a\n\tb\r") == "␣a⏎⇥b␍" and text.visible("") == "(empty)"
    assert text.visible("\x00\u202e") == "␀⟨202e⟩"
    step = make(6)
    long = " internationalisation of everything"
    step.table.texts.update(dict.fromkeys(step.table.texts, long))
    node = named(step, "refused")
    assert "␣internationalisation␣of␣everything" in node["hovertext"][0].replace("<br>", "")
    labels = [one for one in tree.spec(step)["data"] if one["name"].endswith("tokens")]
    assert all(label.endswith("…") and len(label) < 16 for one in labels for label in one["text"])
    assert all(one["hoverinfo"] == "skip" for one in labels)


@given(st.text(max_size=40), st.floats(2, 20))
def test_shorten_keeps_the_width(some: str, width: float) -> None:
    short = text.shorten(some, width)
    assert short == some or (short.endswith("…") and some.startswith(short[:-1]))
    assert sum(map(text._width, short)) <= width + 1e-9 or short == "…"


def test_hover_tells_score_weights_shares_and_choice() -> None:
    step = make(8)
    memory = step.origins.index("memory")
    hover = tree._hover(step, memory)
    assert all(word in hover for word in ("score", "weights", "shares", "the model says"))
    assert "suffix path" in tree._hover(step, step.origins.index("suffix"))


@pytest.mark.parametrize("look", THEMES)
def test_figure_is_what_the_page_draws(look: str) -> None:
    step = make(9)
    figure = tree.figure(step, look)
    assert isinstance(figure, go.Figure) and len(figure.data) == len(tree.spec(step, look)["data"])
    assert figure.layout.meta["row"] == tree.ROW and "layout" not in figure.layout.template.to_plotly_json()
    assert json.loads(figure.to_json())["layout"]["xaxis"]["fixedrange"] is True
    empty = tree.empty("Nothing <yet>.", look)
    assert empty.layout.annotations[0].text == "Nothing &lt;yet&gt;." and not empty.data
    with pytest.raises(ValueError, match="light or dark"):
        tree.figure(step, "blue")


@pytest.mark.parametrize("look", THEMES)
def test_contrast(look: str) -> None:
    greys = theme.palette(look)
    assert theme.contrast(greys.ink, greys.background) > 12
    assert theme.contrast(greys.muted, greys.background) >= 4.5
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21)
    for colour in theme.COLOURS.values():
        # filled nodes carry an outline in ink, so the fill itself only has to be told from its letter
        assert theme.contrast(theme.letter_on(colour), colour) >= 4.5
        tint = theme.mix(colour, greys.background, 0.26)
        assert theme.contrast(theme.letter_on(tint), tint) >= 4.5


def test_literal_and_answer() -> None:
    assert not set("<>*_`[]!\\") & set(text.literal("<image> **a** `b` [c](d) ![e](f) \\"))
    assert text.answer("a <img src=x> ![p](http://x/y.png) `<b>` b\n```\n<i>![z]\n```") == (
        "a &lt;img src=x> !&#91;p](http://x/y.png) `<b>` b\n```\n<i>![z]\n```"
    )
    assert text.answer("```\n<never closed") == "```\n<never closed"


def test_numbers_and_caption_and_status() -> None:
    trace = synthetic.trace(random.Random(1), steps=3)
    page = summary.numbers(trace)
    assert f"{trace.acceptance_length:.2f}" in page and f"{trace.tokens_per_second:.1f}" in page and ">3<" in page
    assert summary.numbers(None).count("–") == 4
    assert summary.caption(None) == "" and "Pass 2 of 3" in summary.caption(trace.steps[1], 3)
    about = {"name": "builtin", "device": "cpu", "dtype": "bfloat16", "exact": True, "note": "A stand-in."}
    assert all(word in summary.status(about, "c") for word in ("builtin", "cpu", "bfloat16", "C core", "A stand-in."))
    assert "Python twin" in summary.status(about, "python") and "oading" in summary.status(None, seconds=3)
    assert "no disk" in summary.status(None, error="no disk")
