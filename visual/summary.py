"""Sentences and figures beside the pictures, as HTML. Every text of a model or a person is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from recap.trace import Step, Trace

from . import knowledge, reasons
from .text import shorten, visible
from .theme import NAMES


def numbers(trace: Trace | None) -> str:
    """S, tau, tokens per second, passes and tokens of an answer; dashes before there is one."""
    timed = trace is not None and trace.decode_seconds > 0
    whole = f" With reading the picture and the prompt, as S counts them: {trace.tokens_per_second:.1f}." if timed else ""
    passes = len(trace.steps) if trace else 0
    cells = [
        _speed(trace),
        (
            f"{trace.acceptance_length:.2f}" if passes else "–", "tau, tokens a pass",
            "tau: how many tokens a pass of the model gave, on average: its own one and the accepted candidates. "
            "Plain decoding has 1.00.",
        ),
        (
            f"{(len(trace.token_ids) - 1) / trace.decode_seconds:.1f}" if timed else "–", "tokens per second, writing",
            f"While decoding, after the first token.{whole}",
        ),
        (str(passes) if trace else "–", "passes of the model", "The first token comes from reading the prompt alone."),
        (
            str(len(trace.token_ids)) if trace else "–", "tokens",
            "Length of the answer. A token is a word or a part of one.",
        ),
    ]  # fmt: skip
    return '<dl class="numbers">' + "".join(
        f'<div title="{escape(title)}"><dd>{value}</dd><dt>{name}</dt></div>' for value, name, title in cells
    ) + "</dl>"  # fmt: skip


def _speed(trace: Trace | None) -> tuple[str, str, str]:
    """S with its name and what it is relative to."""
    name = "S, times plain decoding"
    if trace is not None and trace.speedup is not None:
        digits = 1 if trace.speedup >= 0.95 else 2
        title = (
            "S, the speedup: tokens per second, relative to plain decoding (AR) on this machine, in the same run. "
            "2.0x is twice as fast."
        )
        return f"{trace.speedup:.{digits}f}x", name, title
    if trace is not None and trace.method == "ar":
        return "–", name, "This is plain decoding (AR) itself."
    return "–", name, "S, the speedup. Not compared with plain decoding (AR) yet: press Race."


def caption(step: Step | None, passes: int = 0, ended: bool = False) -> str:
    """What one pass did, in a line and a sentence. `ended`: its last token is the end token."""
    if step is None:
        return ""
    accepted = step.accepted_nodes
    candidates = len(step) - 1
    spent = step.draft_ms + step.verify_ms + step.update_ms
    facts = [
        f"Pass {step.index + 1}" + (f" of {passes}" if passes else ""),
        f"{candidates} candidate{'' if candidates == 1 else 's'}",
        f"{len(accepted)} accepted" + (" + 1 of the model's own" if step.bonus is not None else ""),
        f"{spent:.0f} ms" if spent < 2000 else f"{spent / 1000:.1f} s",
    ]
    if step.expected_gain is not None:
        speeds = f"{step.gain:.1f} × plain decoding's speed ({step.expected_gain:.1f} × hoped for)"
        facts.append(f'<span title="{_GAIN}">{speeds}</span>')
    said = "".join(chip(step.text(node), knowledge.proposer(step, node)) for node in accepted)
    idle = "Nothing was proposed" + (": no guess promised to be worth its time." if step.expected_gain is not None else ".")
    none = "The model accepted none of them." if candidates else idle
    story = f"The model accepted {said}." if accepted else none
    if step.bonus is not None:
        where = "instead" if step.children(reasons.end_of_path(step)) else "next"
        verb = "ended the answer with" if ended else "said"
        who = "Then it" if accepted else "It" if candidates else "The model"
        story += f" {who} {verb} {chip(step.table.text(step.bonus), 'bonus')} {where}."
    elif accepted:
        story += " There the answer ended." if ended else " There the limit of tokens was reached."
    return f'<p class="facts">{" · ".join(facts)}</p><p class="story">{story}</p>'


_GAIN = (
    "Tokens per second of this pass, relative to plain decoding (AR). "
    "Hoped for: what the budget hoped for when it chose how many candidates to try."
)


def chip(token: str, source: str) -> str:
    """A token with its blanks shown, underlined in the colour of who proposed it."""
    return f'<code class="chip from-{source}">{escape(shorten(visible(token), 30))}</code>'


_KEYS = {"G": "after the last 3 tokens", "C": "last 2", "U": "last 1", "suffix": "repeats the text"}


def legend() -> str:
    """Letters, shapes and colours of the tree."""
    parts = [
        f'<li title="{NAMES[name]}"><b class="dot from-{name}">{name[0].upper()}</b>{_KEYS[name]}</li>'
        for name in ("G", "C", "U", "suffix")
    ]
    parts.append('<li><b class="dot from-bonus">+</b>the model\'s own</li><li><b>◆</b>the last token so far</li>')
    parts.append('<li><b class="line thick"></b>accepted</li><li><b class="line"></b>refused</li>')
    return '<ul class="legend">' + "".join(parts) + "</ul>"


def connecting() -> str:
    """Before the page has heard of the model at all."""
    return '<p class="status busy" role="status"><i></i><b>Connecting</b> …</p>'


def status(
    description: dict[str, Any] | None, core: str = "", error: str = "", seconds: float = 0.0, doing: str = ""
) -> str:
    """The model, where it runs and what drafts; or that it is loading and what it is at, or why it could not be loaded."""
    if error:
        return f'<p class="status bad" role="status"><b>No model.</b> {escape(error)} The next question retries.</p>'
    if description is None:
        return (
            f'<p class="status busy" role="status"><i></i><b>Loading the model</b>, {seconds:.0f} s so far. {escape(doing)} '
            "You can ask already: the question waits. The first start ever takes longest.</p>"
        )
    name, device, dtype, passes = (escape(str(description[key])) for key in ("name", "device", "dtype", "passes"))
    exact = "same tokens as plain decoding" + ("" if description["exact"] else ", up to rounding")
    if description["exact"] and (description["dtype"] != "float32" or "compiled" in description["passes"]):
        exact += " (passes checked bit for bit on this machine)"
    drafting = {"c": "C core", "python": "Python twin (the C core is not built)"}.get(core, core)
    note = f'<span class="note">{escape(description["note"])}</span>' if description["note"] else ""
    why = f' title="{escape(description["exactness"])}"' if description.get("exactness") else ""
    return (
        f'<p class="status" role="status"><b>{name}</b> · {device} · <span title="Passes of the model: {passes}">{dtype}</span>'
        f" · {escape(drafting)} · <span{why}>{exact}</span></p>{note}"
    )
