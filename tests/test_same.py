"""The badge: same tokens as plain decoding, or where they part and how close the call was."""

from __future__ import annotations

import math

import pytest

from recap.trace import Row
from visual import same

from . import panels


def test_same_tokens() -> None:
    trace = panels.trace(theirs=[0, 1, 3, 2])
    assert same.difference(trace) is None
    assert same.badge(trace) == '<p class="badge same">✓ same 4 tokens as plain decoding (AR)</p>'


@pytest.mark.parametrize(
    "theirs, index, ours, other, margin",
    [
        ([0, 1, 4], 2, " sat", " head", math.log(0.75 / 0.25)),  # decided at the root of the second pass
        ([0, 1, 3, 5], 3, " dog", " hat", math.log(0.625 / 0.375)),  # decided at its accepted node
        ([0, 1, 3, 7], 3, " dog", " mat", None),  # not in the row
        ([0, 2, 3, 5], 1, " cat", " dog", None),  # a pass without a row
        ([2, 1, 3, 2], 0, "The", " dog", None),  # decided by the prompt
    ],
)
def test_first_difference_and_its_margin(
    theirs: list[int], index: int, ours: str, other: str, margin: float | None
) -> None:
    trace = panels.trace(theirs=theirs)
    found = same.difference(trace)
    assert (found.index, found.ours, found.theirs) == (index, ours, other)
    assert (found.ours_id, found.theirs_id) == (trace.token_ids[index], theirs[index])
    assert found.margin == (None if margin is None else pytest.approx(margin))
    shown = panels.Page(same.badge(trace))
    assert shown.named("differs") and f"differs from AR at token {index + 1}: “" in shown.text
    assert ("logit margin" in shown.text) == (margin is not None)


def test_the_whole_sentence_of_a_difference() -> None:
    trace = panels.trace(theirs=[0, 1, 4])
    assert panels.Page(same.badge(trace)).words == (
        "✗ differs from AR at token 3: “␣sat” instead of “␣head” (logit margin 1.099)"
    )
    trace.table.rows[trace.steps[1].target[0]] = Row((3, 4), (0.50005, 0.49995), 0.5)
    assert "(logit margin 2e-04)" in same.badge(trace)
    trace.table.rows[trace.steps[1].target[0]] = Row((3, 4), (1.0, 0.0), 1.0)
    assert same.difference(trace).margin is None  # its logarithm has no end


def test_one_of_them_went_less_far() -> None:
    trace = panels.trace(theirs=[0, 1])
    found = same.difference(trace)
    assert (found.index, found.ours, found.theirs, found.theirs_id, found.margin) == (2, " sat", None, None, None)
    shown = same.badge(trace)
    assert 'class="badge same"' in shown and "as far as both went, 2 tokens: plain decoding ended earlier" in shown
    for reason, words in (("cancelled", "was stopped there"), ("", "still being written"), ("length", "ended earlier")):
        trace = panels.trace(theirs=[0, 1, 3, 2, 6])
        trace.finish_reason = reason
        assert "✓ same as plain decoding (AR) as far as both went, 4 tokens" in same.badge(trace)
        assert words in same.badge(trace)
    assert "one of the two answers has no token" in same.badge(panels.trace(theirs=[]))


def test_nothing_compared() -> None:
    for trace in (None, panels.trace()):
        assert same.badge(trace) == '<p class="badge unknown">Not compared yet: press Race.</p>'
    assert same.difference(panels.trace()) is None
    assert "This is plain decoding (AR) itself" in same.badge(panels.trace("ar"))


@pytest.mark.parametrize("number", range(len(panels.HOSTILE)))
def test_token_texts_stay_text(number: int) -> None:
    panels.harmless(same.badge(panels.hostile(number, panels.trace(theirs=[0, 1, 4]))))
