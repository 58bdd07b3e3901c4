"""Whether an answer is the one that plain decoding gives, and where it is not, how close the call was."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from recap.trace import Comparison, Trace

from .text import quote


@dataclass(frozen=True)
class Difference:
    """The first token in which an answer and plain decoding (AR) differ."""

    index: int
    """Its place in the answer, 0 for the first token."""
    ours: str | None
    """Text of the answer's token there; None where the answer had ended."""
    theirs: str | None
    """Text of plain decoding's token there; None where that had ended."""
    ours_id: int | None
    theirs_id: int | None
    margin: float | None
    """By how much the model's logit of our token exceeds that of theirs; None where that is not on record."""


def difference(trace: Trace) -> Difference | None:
    """None for identical answers, and where nothing was compared."""
    other = trace.comparison
    if other is None or other.first_difference is None:
        return None
    at = other.first_difference
    ours, theirs = (ids[at] if at < len(ids) else None for ids in (trace.token_ids, other.token_ids))
    name = trace.table.text
    margin = None if ours is None or theirs is None else trace.margin(at, theirs)
    return Difference(
        at, None if ours is None else name(ours), None if theirs is None else name(theirs), ours, theirs, margin
    )


def badge(trace: Trace | None) -> str:
    """One line of HTML: same, differs, or not compared yet."""
    if trace is not None and trace.comparison is None and trace.method == "ar":
        return _badge("unknown", "This is plain decoding (AR) itself: what the others are compared with.")
    if trace is None or trace.comparison is None:
        return _badge("unknown", "Not compared yet: press Race.")
    other, first = trace.comparison, difference(trace)
    both = min(len(trace.token_ids), len(other.token_ids))
    if not both:
        return _badge("unknown", "Not compared: one of the two answers has no token.")
    if first is None:
        return _badge("same", f"✓ same {tokens(both)} as plain decoding (AR)")
    if first.ours is not None and first.theirs is not None:
        return _badge("differs", f"✗ differs from AR at {differing(first)}")
    far = f"✓ same as plain decoding (AR) as far as both went, {tokens(both)}"
    return _badge("same", f"{far}: {_shorter(trace, other)}")


def differing(first: Difference) -> str:
    """Where two answers part, as plain text: "token 12: “␣a” instead of “␣the” (logit margin 0.003)"."""
    margin = "" if first.margin is None else f" (logit margin {margin_text(first.margin)})"
    return f"token {first.index + 1}: {quote(first.ours or '')} instead of {quote(first.theirs or '')}{margin}"


def margin_text(margin: float) -> str:
    """A logit difference with three decimals; with one digit that counts where it is smaller."""
    return f"{margin:.3f}" if abs(margin) >= 0.0005 or margin == 0 else f"{margin:.0e}"


def tokens(number: int) -> str:
    """"1 token", "57 tokens"."""
    return f"{number} token{'' if number == 1 else 's'}"


def _badge(name: str, sentence: str) -> str:
    return f'<p class="badge {name}">{escape(sentence)}</p>'


def _shorter(trace: Trace, other: Comparison) -> str:
    if len(trace.token_ids) > len(other.token_ids):
        return "plain decoding ended earlier"
    if trace.finish_reason == "cancelled":
        return "this answer was stopped there"
    return "this answer is still being written" if not trace.finish_reason else "this answer ended earlier"

