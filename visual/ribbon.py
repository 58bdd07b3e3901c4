"""The answer as tokens, each with who proposed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from recap.trace import MEMORY_NAMES, Step, Trace

from . import knowledge, lens
from .text import quote, shorten, visible

LETTERS = {"G": "G", "C": "C", "U": "U", "suffix": "S", "bonus": "+", "prefill": "·", "draft": "D"}
"""What tells the proposer without colour, under each token."""
_WIDTH = 28
"""Longest token shown whole, average letters."""
_BLANK = re.compile("([␣⏎⇥␍]+)")


def fragments(trace: Trace, first: int = 0) -> list[str]:
    """HTML per pass, from entry `first` on: entry 0 is the token that reading the prompt gave, entry k is pass k."""
    if not trace.token_ids:
        return []
    entries = [] if first > 0 else [_prefill(trace)]
    place = trace.first_of(max(first - 1, 0))
    for step in trace.steps[max(first - 1, 0) :]:
        entries.append(_pass(trace, step, place))
        place += len(step.committed)
    return entries


def html(trace: Trace) -> str:
    """The whole ribbon."""
    return f'<div class="ribbon">{"".join(fragments(trace))}</div>'


def _prefill(trace: Trace) -> str:
    token = trace.table.text(trace.token_ids[0])
    story = "First token: the model chose it at the end of reading the prompt, before any pass."
    return f'<span class="pass" data-step="-1">{_token(token, "prefill", -1, 0, story, seen=lens.verdict(trace, 0))}</span>'


def _pass(trace: Trace, step: Step, place: int) -> str:
    return f'<span class="pass" data-step="{step.index}">{"".join(_tokens(trace, step, place))}</span>'


def _tokens(trace: Trace, step: Step, place: int) -> Iterator[str]:
    """`place`: index in the answer of the first token that the step committed."""
    start = f"Pass {step.index + 1}."
    for at, node in enumerate(step.accepted_nodes, start=place):
        who, seen = knowledge.proposer(step, node), lens.verdict(trace, at)
        story = f"{start} {_proposed(step, node, who)}"
        yield _token(step.text(node), who, step.index, node, story, step.shares[node], seen)
    if step.bonus is not None:
        story = (
            "The model's own token: plain decoding gets one from each pass." if trace.method == "ar" else
            "The model's own choice, which no candidate held: every pass gives one such token."
        )  # fmt: skip
        seen = lens.verdict(trace, place + len(step.accepted_nodes))
        yield _token(step.table.text(step.bonus), "bonus", step.index, -1, f"{start} {story}", seen=seen)


def _proposed(step: Step, node: int, who: str) -> str:
    if who == "suffix":
        return "Proposed because it followed when the text last ended like this; the model accepted it."
    if who == "draft":
        return "Proposed by the method's draft; the model accepted it."
    parts = [f"{name} {share:.0%}" for name, share in zip(MEMORY_NAMES, step.shares[node]) if share >= 0.005]
    return f"Proposed by {', '.join(parts)}; the model accepted it.".replace("%", " %")


def _token(
    token: str, who: str, step: int, node: int, story: str, shares: list[float] | None = None,
    seen: lens.Verdict | None = None,
) -> str:  # fmt: skip
    """One token as a button. The shares of G, C, U in percent go to CSS, which draws them as a split underline; a token
    that needs the picture has a mark before it."""
    split = ""
    if who in MEMORY_NAMES and shares:
        parts = (f"--{name.lower()}:{100 * share:.0f}" for name, share in zip(MEMORY_NAMES, shares))
        split = f' style="{";".join(parts)}"'
    shown = _BLANK.sub(r"<i>\1</i>", escape(shorten(visible(token), _WIDTH)))
    title = escape(" ".join([quote(token, 300), story, *([seen.story] if seen else [])]))
    sees = " sees" if seen and seen.needs else ""
    return (
        f'<button type="button" class="token from-{who}{sees}" tabindex="-1" data-step="{step}" data-node="{node}" '
        f'data-who="{LETTERS[who]}"{split} title="{title}">{shown}</button>'
    )
