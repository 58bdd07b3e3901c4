"""The draft tree's picture and the words beside it, on random trees that obey the contract."""

from __future__ import annotations

import inspect
import json
import random
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import networkx as nx
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from recap.trace import RowTable, Step
from visual import fit, hover, layout, reasons, summary, text, theme, tree
from visual.fit import ROOMY

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
    places = layout.tidy(step)
    xs = fit.fit(step, places).xs
    assert list(xs) == sorted(set(xs)) and len(xs) == places.columns + 1
    assert [drawn[n] for n in range(len(step))] == list(zip([xs[depth] for depth in step.depths], places.rows))


@settings(max_examples=40, deadline=None)
@given(steps)
def test_own_choice_is_a_hollow_node_on_free_places(step: Step) -> None:
    own = tree.spec(step)["data"][-1]
    end = step.accepted_nodes[-1] if step.accepted_nodes else 0
    places = layout.tidy(step)
    xs = fit.fit(step, places).xs
    assert own["x"] == [xs[step.depths[end] + 1]]  # synthetic targets always choose, so there always is one
    (x,), (y,) = own["x"], own["y"]
    said = fit.OWN + fit.own_width(ROOMY.sizes[2], 9.5)
    assert not any(x <= xs[depth] < x + said and y == row for depth, row in zip(step.depths, places.rows))
    low, high = tree.spec(step)["layout"]["yaxis"]["range"]
    assert high < y < low and "Not proposed" in own["hovertext"][0].replace("<br>", " ")
    (words,) = tree.spec(step)["layout"]["annotations"]
    assert text.label(step.table.text(step.committed[-1])) in words["text"] and (words["x"], words["y"]) == (x, y)
    assert x + said <= tree.spec(step)["layout"]["meta"]["wide"]
    assert words["bgcolor"] == theme.palette("light").background  # edges that pass behind the words do not cross them
    assert (y - high) * tree.ROW >= 8  # room for the words below the frame's edge


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
    assert cut.bonus is None and tree.spec(cut)["data"][-1]["x"] == []
    assert "the answer ended before it" in reasons.why(cut, last)
    assert "There the limit of tokens was reached" in summary.caption(cut)
    assert "There the answer ended" in summary.caption(cut, ended=True)
    assert tree.spec(cut)["layout"]["annotations"] == []


def test_no_text_becomes_markup() -> None:
    hostile = '<b>x</b><a href="http://example.org">&lt;'
    step = make(5)
    step.table.texts.update(dict.fromkeys(step.table.texts, hostile))
    shown = json.dumps(tree.spec(step))
    assert "<a" not in shown and "&lt;a" in shown and "&amp;lt;" in shown
    assert set(re.findall(r"<(/?\w+)", shown)) <= {"b", "/b", "br"} and "<b>x" not in shown
    page = summary.caption(step)
    assert "<b>" not in page and "<a" not in page and "&lt;b&gt;" in page
    about = dict.fromkeys(("name", "device", "dtype", "passes", "exact", "note"), "<script>")
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
    assert sum(map(text.breadth, short)) <= width + 1e-9 or short == "…"


def test_hover_tells_score_weights_shares_and_choice() -> None:
    step = make(8)
    memory = step.origins.index("memory")
    told = hover.node(step, memory)
    assert all(word in told for word in ("score", "weights", "shares", "the model says"))
    assert f"{step.scores[memory]:.3f}" in told and reasons.why(step, memory)[:20] in told.replace("<br>", " ")
    assert "suffix path" in hover.node(step, step.origins.index("suffix"))
    step.shares[memory] = step.weights[memory] = [0.0] * 3  # a method that does not tell
    assert "weights" not in hover.node(step, memory)
    assert "D" in [mark for name in ("refused", "accepted") for mark in named(step, name)["text"]]


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
        tint = theme.mix(colour, greys.background, greys.tint)
        assert theme.contrast(theme.letter_on(tint), tint) >= 4.5
    assert theme.contrast(greys.quiet, greys.background) >= (4.5 if look == "dark" else 2)  # refused, but seen


def test_typed_keeps_blanks() -> None:
    assert text.typed("a\n\n    <b>x</b>") == "a\n\n" + 4 * "&#160;" + "&#60;b&#62;x&#60;&#47;b&#62;"
    assert unescape(rendered(text.typed("a   b"))) == "<p>a \xa0\xa0b</p>"


def test_literal() -> None:
    assert not set("<>*_`[]!\\") & set(text.literal("<image> **a** `b` [c](d) ![e](f) \\"))
    assert rendered("**a**\n*b*") == "<p><strong>a</strong><br><em>b</em></p>"
    assert rendered("- a\n  1. b\n\n# h\n> q") == (
        "<ul><li>a<ol><li>b</li></ol></li></ul><h1>h</h1><blockquote><p>q</p></blockquote>"
    )
    assert unescape(rendered("a `<b>&amp;` b\n```c\ni<b\n\n\t![z]\n```\n\nend")) == (
        "<p>a <code><b>&amp;</code> b</p><pre><code>i<b\n\n\t![z]</code></pre><p>end</p>"
    )
    assert unescape(rendered("```\n<never closed")) == "<pre><code><never closed</code></pre>"
    assert "<td>1</td>" in rendered("|a|\n|-|\n|1|") and '<ol start="0">' in rendered("0. a")


PLAIN = set("p strong em ul ol li code pre h1 h2 h3 h4 h5 h6 br blockquote hr table thead tbody tr th td".split())


class Elements(HTMLParser):
    """What a browser makes of HTML: names of elements, attributes, text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.said = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {f"{tag} {name}" for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_comment(self, data: str) -> None:
        self.tags.add("!--")

    handle_decl = handle_pi = unknown_decl = handle_comment


def rendered(markdown: str) -> str:
    """As the chat shows it: indentation cleaned by gradio, then a reader of Markdown that lets HTML through."""
    renderer = MarkdownIt("js-default", {"html": True, "breaks": True, "linkify": False})
    return renderer.render(inspect.cleandoc(text.answer(markdown)))


def assert_harmless(markdown: str) -> None:
    page = Elements(rendered(markdown))
    assert page.tags <= PLAIN and page.attributes <= {"ol start"}, rendered(markdown)


HOSTILE = (
    "``` <b>live</b> <img src=/p2.png>",
    "`\\`![p](http://evil.example/p7.png)\\``",
    "\\`![p](http://evil.example/p7.png)\\`",
    "- ```\n<form action=http://evil.example>",
    "&#10;&#10;![p](/p.png)&#13;&#13;<img src=/p>",
    "&lt;img src=/p&gt; &#60;b&#62; <http://evil.example> [a](javascript:x) www.evil.example\n\n[a]: /p\n\n![a] [a]",
    "</code></pre></p><script>x</script>\n<!-- <b>\n<?x?>\n<![CDATA[x]]>",
)


@pytest.mark.parametrize("markdown", HOSTILE)
def test_nothing_a_model_writes_becomes_an_element(markdown: str) -> None:
    assert_harmless(markdown)
    for start in ("> ", "1. ", "    ", "```\n", "~~~ ", "`", "\\", "|", "<p>\n\n"):
        assert_harmless(start + markdown)


PIECES = st.lists(
    st.sampled_from(
        ["```", "``", "`", "~~~", "\\", "<b>", "<img src=/p>", "![p](/q)", "[a](/b)", "</p>", "&#10;", "&lt;", "\n", "\n\n",
         "\r", "    ", "- ", "> ", "1. ", "# ", "|", "|-|", "a"]
    ), max_size=12,
).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(PIECES | st.text(st.sampled_from("`~<>![]()\\&#;/=\"|-*_ \t\n\r1:abpimgsrc"), max_size=60))
def test_no_text_at_all_becomes_an_element(markdown: str) -> None:
    assert_harmless(markdown)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_every_letter_of_an_answer_is_shown(markdown: str) -> None:
    def letters(some: str) -> list[str]:
        return [one for one in some if one.isalpha()]

    assert_harmless(markdown)
    quiet = markdown.translate({ord(mark): " " for mark in "&`~"})  # which name characters and languages
    assert letters(Elements(rendered(quiet)).said) == letters(quiet)


def test_numbers_and_caption_and_status() -> None:
    trace = synthetic.trace(random.Random(1), steps=3)
    page = summary.numbers(trace)
    assert f"{trace.acceptance_length:.2f}" in page and f"S counts them: {trace.tokens_per_second:.1f}" in page and ">3<" in page
    names = re.findall("<dt>(.*?)</dt>", page)
    assert names == ["S, times plain decoding", "tau, tokens a pass", "tokens per second, writing", "passes of the model", "tokens"]
    assert f"<dd>{(len(trace.token_ids) - 1) / trace.decode_seconds:.1f}</dd><dt>tokens per second" in page
    assert f"<dd>{trace.speedup:.1f}x</dd>" in page and "plain decoding (AR) on this machine, in the same run" in page
    both = replace(trace)
    trace.comparison = None
    assert "<dd>–</dd><dt>S," in summary.numbers(trace) and "press Race" in summary.numbers(trace)
    trace.method = "ar"
    assert "This is plain decoding (AR) itself" in summary.numbers(trace)
    assert summary.numbers(None).count("<dd>–</dd>") == 5
    chosen = replace(trace.steps[1], expected_tokens=1.5, expected_ms=12.0, plain_ms=10.0)
    gain = len(chosen.committed) * 10.0 / (chosen.draft_ms + chosen.verify_ms + chosen.update_ms)
    assert f"{gain:.1f} × plain decoding's speed (1.2 × hoped for)" in summary.caption(chosen)
    assert "plain decoding" not in summary.caption(trace.steps[1]) and "gain" not in summary.caption(chosen)
    for name, told in (("S, ", "twice as fast"), ("tau, ", "how many tokens a pass of the model gave, on average")):
        assert re.search(f'title="{name.strip(", ")}[^"]*{told}[^"]*"><dd>[^<]*</dd><dt>{name}', summary.numbers(both))
    assert summary.caption(None) == "" and "Pass 2 of 3" in summary.caption(trace.steps[1], 3)
    about = {"name": "builtin", "device": "cpu", "dtype": "bfloat16", "passes": "torch (2 threads)", "exact": True,
             "note": "A stand-in."}  # fmt: skip
    assert all(word in summary.status(about, "c") for word in ("builtin", "cpu", "bfloat16", "C core", "2 threads", "A stand-in."))
    assert "Python twin" in summary.status(about, "python") and "oading" in summary.status(None, seconds=3)
    assert "3 s so far. Measuring &lt;passes&gt; (40%)." in summary.status(None, seconds=3, doing="Measuring <passes> (40%).")
    compiled = {**about, "dtype": "float32", "passes": "compiled (avx2)"}
    assert "bit for bit" in summary.status(compiled) and "bit" not in summary.status({**compiled, "passes": "torch"})
    assert "no disk" in summary.status(None, error="no disk")
