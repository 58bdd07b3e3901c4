"""The answer as tokens, each with who proposed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from recap.trace import MEMORY_NAMES, Step, Trace

from . import knowledge
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
    return entries + [_pass(step, trace.method) for step in trace.steps[max(first - 1, 0) :]]


def html(trace: Trace) -> str:
    """The whole ribbon."""
    return f'<div class="ribbon">{"".join(fragments(trace))}</div>'


def _prefill(trace: Trace) -> str:
    token = trace.table.text(trace.token_ids[0])
    story = "First token: the model chose it at the end of reading the prompt, before any pass."
    return f'<span class="pass" data-step="-1">{_token(token, "prefill", -1, 0, story)}</span>'


def _pass(step: Step, method: str) -> str:
    return f'<span class="pass" data-step="{step.index}">{"".join(_tokens(step, method))}</span>'


def _tokens(step: Step, method: str) -> Iterator[str]:
    start = f"Pass {step.index + 1}."
    for node in step.accepted_nodes:
        who = knowledge.proposer(step, node)
        yield _token(step.text(node), who, step.index, node, f"{start} {_proposed(step, node, who)}", step.shares[node])
    if step.bonus is not None:
        story = (
            "The model's own token: plain decoding gets one from each pass." if method == "ar" else
            "The model's own choice, which no candidate held: every pass gives one such token."
        )  # fmt: skip
        yield _token(step.table.text(step.bonus), "bonus", step.index, -1, f"{start} {story}")


def _proposed(step: Step, node: int, who: str) -> str:
    if who == "suffix":
        return "Proposed because it followed when the text last ended like this; the model accepted it."
    if who == "draft":
        return "Proposed by the method's draft; the model accepted it."
    parts = [f"{name} {share:.0%}" for name, share in zip(MEMORY_NAMES, step.shares[node]) if share >= 0.005]
    return f"Proposed by {', '.join(parts)}; the model accepted it.".replace("%", " %")


def _token(token: str, who: str, step: int, node: int, story: str, shares: list[float] | None = None) -> str:
    """One token as a button. The shares of G, C, U in percent go to CSS, which draws them as a split underline."""
    split = ""
    if who in MEMORY_NAMES and shares:
        parts = (f"--{name.lower()}:{100 * share:.0f}" for name, share in zip(MEMORY_NAMES, shares))
        split = f' style="{";".join(parts)}"'
    shown = _BLANK.sub(r"<i>\1</i>", escape(shorten(visible(token), _WIDTH)))
    title = escape(f"{quote(token, 300)} {story}")
    return (
        f'<button type="button" class="token from-{who}" tabindex="-1" data-step="{step}" data-node="{node}" '
        f'data-who="{LETTERS[who]}"{split} title="{title}">{shown}</button>'
    )
