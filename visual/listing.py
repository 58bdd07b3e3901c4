"""Traces one can open, as a list of buttons, and the line that says what is on show. HTML, all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from recap.trace import Trace

from . import lens
from .text import html, shorten, visible

METHODS = {
    "recap": "RECAP", "ar": "plain decoding", "token_recycling": "Token Recycling", "tree_recycling": "Tree Recycling",
    "pld": "Prompt lookup", "sam": "SAM", "sam_viskip": "SAM + ViSkip", "suffix_decoding": "Suffix decoding",
    "lookahead": "Lookahead", "lookahead_trie": "Lookahead (trie)",
}  # fmt: skip


LOOK = ' <button type="button" class="look">Which words need the picture?</button>'
"""Asks for the image lens."""


def name(trace: Trace) -> str:
    """What a trace's method is called, as plain text."""
    return METHODS.get(trace.method, trace.method)


def question(trace: Trace) -> str:
    """What was asked, as plain text on one line, pictures left out."""
    asked = [message["content"] for message in trace.messages if message.get("role") == "user"]
    words = " ".join((asked[-1] if asked else "").replace("[picture]", " ").split())
    return _shown(words) or "(no words)"


def _shown(words: str) -> str:
    """With marks that nobody sees, such as those that turn the direction, made visible."""
    return "".join(one if one == " " else visible(one) for one in words)


def origin(trace: Trace, kind: str) -> str:
    """Which answer is on show. `kind`: "answer" (of this page), "recording" (shipped), "file" (uploaded), "race"."""
    words = {
        "answer": "Your answer to",
        "recording": "<b>A recording.</b> It answered",
        "file": "<b>From a file.</b> It answered",
        "race": "From your race on",
    }[kind]
    model, device, dtype = (escape(_shown(part)) for part in (trace.model, trace.device, trace.dtype))
    about = f"{model}, {escape(_shown(name(trace)))}, {device} {dtype}"
    hint = " Ask something to see your own." if kind == "recording" else ""
    brought = bool(trace.messages) and "[picture]" in trace.messages[-1]["content"].split("\n")
    look = LOOK if kind == "answer" and brought and trace.finish_reason and trace.token_ids and not trace.lens else ""
    asked = f'<p class="origin">{words} <q>{escape(shorten(question(trace), 70))}</q> · {about}.{hint}{lens.count(trace)}{look}</p>'
    return asked + seen(trace)


def seen(trace: Trace) -> str:
    """What a model that cannot see was shown instead of the pictures: its front end's words, and what was looked up for
    the question, folded; empty for a model that sees."""
    known = [one for picture in trace.pictures if isinstance(one := picture.get("evidence"), dict)]
    words = [one["words"] for one in known if isinstance(one.get("words"), str)]
    found = [one["found"] for one in known if isinstance(one.get("found"), str)]
    if not words and not found:
        return ""
    heads = [f"<h4>Picture {at} of {len(words)}, in the order they came</h4>" if len(words) > 1 else "" for at in range(1, len(words) + 1)]
    shown = "".join(f"{head}<pre>{html(note)}</pre>" for head, note in zip(heads, words))
    shown += "".join(f"<h4>Looked up for the question</h4><pre>{html(note)}</pre>" for note in found)
    return f'<details class="seen"><summary>What the model was shown</summary><div>{shown}</div></details>'


def traces(groups: Sequence[tuple[str, Sequence[tuple[str, Trace]]]], now: str | None = None) -> str:
    """Groups of (id, trace) under a heading each; `now`: the id on show."""
    parts = []
    for heading, entries in groups:
        if not entries:
            continue
        parts.append(f"<h3>{escape(heading)}</h3><ul>")
        for key, trace in entries:
            facts = f"{len(trace.token_ids)} tokens · {len(trace.steps)} passes · tau {trace.acceptance_length:.2f}"
            here = ' aria-current="true"' if key == now else ""
            parts.append(
                f'<li><button type="button" data-trace="{escape(key)}"{here}>'
                f"<b>{escape(shorten(question(trace), 80))}</b>"
                f"<span>{escape(_shown(name(trace)))} · {escape(_shown(trace.model))} · {facts}</span></button></li>"
            )
        parts.append("</ul>")
    return '<div class="traces">' + "".join(parts) + "</div>"
