"""The answer as tokens: every token once, with who proposed it, and nothing but text."""

from __future__ import annotations

import random

import pytest

from recap.trace import Step
from visual import ribbon

from . import panels, synthetic


def test_every_token_with_its_pass_node_proposer_and_story() -> None:
    page = panels.Page(ribbon.html(panels.trace()))
    tokens = page.named("token")
    places = [(one["data-step"], one["data-node"], one["class"], one["data-who"]) for one in tokens]
    assert places == [
        ("-1", "0", "token from-prefill", "·"),
        ("0", "-1", "token from-bonus", "+"),
        ("1", "1", "token from-G", "G"),
        ("1", "-1", "token from-bonus", "+"),
    ]
    assert page.words == "The␣cat␣sat␣dog"
    assert tokens[2]["title"] == "“␣sat” Pass 2. Proposed by G 62 %, U 38 %; the model accepted it."
    assert tokens[2]["style"] == "--g:62;--c:0;--u:38" and "style" not in tokens[3]
    assert [one["data-step"] for one in page.named("pass")] == ["-1", "0", "1"]
    assert {(one["type"], one["tabindex"]) for one in tokens} == {("button", "-1")}


def test_entries_can_be_fetched_from_any_place_while_the_answer_grows() -> None:
    trace = synthetic.trace(random.Random(4), steps=6)
    whole = ribbon.fragments(trace)
    assert len(whole) == 7 and ribbon.html(trace) == f'<div class="ribbon">{"".join(whole)}</div>'
    for first in range(9):
        assert ribbon.fragments(trace, first) == whole[first:]
    page = panels.Page(ribbon.html(trace))
    assert len(page.named("token")) == len(trace.token_ids)
    for place, attributes in zip([0, *(one.index for one in trace.steps for _ in one.committed)], page.named("token")):
        step, node = int(attributes["data-step"]), int(attributes["data-node"])
        assert step in (-1, place) and (node < 1 or trace.steps[step].accepted[node])
    trace.token_ids, trace.steps = [], []
    assert ribbon.fragments(trace) == [] and ribbon.html(trace) == '<div class="ribbon"></div>'


def test_a_repeat_a_method_without_memories_and_plain_decoding() -> None:
    trace = panels.trace()
    step = trace.steps[1]
    trace.steps[1] = Step(**{**vars(step), "origins": ["root", "suffix", *step.origins[2:]]})
    token = panels.Page(ribbon.fragments(trace)[2]).named("token")[0]
    assert (token["class"], token["data-who"]) == ("token from-suffix", "S") and "ended like this" in token["title"]
    trace.steps[1] = Step(**{**vars(step), "shares": [[0.0] * 3] * 5})
    token = panels.Page(ribbon.fragments(trace)[2]).named("token")[0]
    assert (token["class"], token["data-who"]) == ("token from-draft", "D") and "method's draft" in token["title"]
    trace.method = "ar"
    assert "plain decoding gets one from each pass" in ribbon.fragments(trace)[1]
    trace.steps[1] = Step(**{**vars(step), "committed": [3]})
    assert len(panels.Page(ribbon.fragments(trace)[2]).named("token")) == 1  # an answer that ended inside the draft


@pytest.mark.parametrize("number", range(len(panels.HOSTILE)))
def test_token_texts_stay_text(number: int) -> None:
    shown = ribbon.html(panels.hostile(number, panels.trace()))
    panels.harmless(shown)
    assert len(panels.Page(shown).named("token")) == 4 and len(shown) < 6000
