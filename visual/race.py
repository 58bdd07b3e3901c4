"""Two decoders on the same question: the numbers of each lane, where its time went, and who was faster."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from recap.trace import Trace

from .same import tokens
from .text import quote, shorten, visible

STATES = {
    "waiting": "waiting for its turn",
    "reading": "reading the question",
    "writing": "writing",
    "ended": "done",
    "stopped": "stopped",
    "failed": "failed",
}
PARTS = (
    ("encode", "picture", "Looking at the picture (encoding)"),
    ("prefill", "prompt", "Reading the prompt, and seeding memory from it (prefill)"),
    ("draft", "draft", "Guessing: growing the tree of candidates"),
    ("verify", "verify", "Checking: the model evaluates the whole tree in one pass"),
    ("update", "update", "Remembering: writing the model's predictions to memory"),
    ("other", "other", "Bookkeeping between the passes"),
)
"""Name in CSS, word on the page, what it is; in the order in which they happen."""


def lane(trace: Trace | None, name: str, state: str) -> str:
    """The numbers of one lane. `state`: waiting | reading | writing | ended | failed; any other is shown as it is.

    An answer that ended because someone stopped it says so.
    """
    if state == "ended" and trace is not None and trace.finish_reason == "cancelled":
        state = "stopped"
    started = trace is not None and bool(trace.token_ids)
    cells = [
        (str(len(trace.token_ids)) if started else "–", "tokens", "Length of the answer so far."),
        (_time(trace.seconds) if started else "–", "own time", "Picture + prompt + decoding of this decoder alone."),
        (f"{trace.tokens_per_second:.1f}" if started else "–", "tokens per second", "Tokens / own time."),
        (
            f"{trace.acceptance_length:.2f}" if started and trace.steps else "–", "tau, tokens a pass",
            "1 + accepted candidates / passes. Plain decoding has 1.00.",
        ),
        (str(len(trace.steps)) if started else "–", "passes", "How often the model ran after reading the prompt."),
    ]  # fmt: skip
    figures = "".join(
        f'<div title="{escape(title)}"><dd>{value}</dd><dt>{word}</dt></div>' for value, word, title in cells
    )
    known = f" {state}" if state in STATES else ""
    return (
        f'<section class="lane{known}"><h4>{escape(name)} <small>{escape(STATES.get(state, state))}</small></h4>'
        f'<dl>{figures}</dl>{split(trace) if trace is not None else ""}</section>'
    )


def seconds(trace: Trace) -> dict[str, float]:
    """Own time by part, seconds, in the order of PARTS; they add up to `trace.seconds`."""
    passes = {
        part: sum(getattr(step, f"{part}_ms") for step in trace.steps) / 1000 for part in ("draft", "verify", "update")
    }
    other = max(trace.decode_seconds - sum(passes.values()), 0.0)
    return {"encode": trace.encode_seconds, "prefill": trace.prefill_seconds, **passes, "other": other}


def split(trace: Trace) -> str:
    """Where an answer's time went: a bar and its legend in words and numbers. A sentence before anything was timed."""
    spent = seconds(trace)
    total = sum(spent.values())
    if total <= 0:
        return '<div class="split empty"><p>No time was measured yet.</p></div>'
    told = {"prefill": _seeded(trace)}
    parts = [(name, word, title + told.get(name, ""), spent[name]) for name, word, title in PARTS if spent[name] >= total / 2000]
    bar = "".join(
        f'<i class="{name}" style="--part:{100 * time / total:.2f}" title="{escape(f"{title}: {_time(time)}")}"></i>'
        for name, _, title, time in parts
    )
    legend = "".join(
        f'<li title="{escape(title)}"><i class="{name}"></i>{word} <b>{_time(time)}</b></li>'
        for name, word, title, time in parts
    )
    return f'<div class="split"><div class="bar" aria-hidden="true">{bar}</div><ul>{legend}</ul></div>'


def _seeded(trace: Trace) -> str:
    if trace.seeded_rows is None:
        return ""
    return f"; predictions at {trace.seeded_rows} of its tokens were worth remembering"


def result(left: Trace, right: Trace, names: Sequence[str]) -> str:
    """The card once both lanes have ended. Plain decoding, where it takes part, is what the other is measured by."""
    left, right, (one, other) = _yardstick_last(left, right, names)
    if not left.token_ids or not right.token_ids or min(left.seconds, right.seconds) <= 0:
        return _card("open", "No result: one of the two was stopped before its first token.", "")
    stopped = [name for name, trace in ((one, left), (other, right)) if trace.finish_reason == "cancelled"]
    outcome = _tokens(left, right, bool(stopped))
    times = f"{one} took {_time(left.seconds)}, {_inside(other)} {_time(right.seconds)}"
    if stopped:
        who = " and ".join(map(_inside, stopped))
        was = "was" if len(stopped) == 1 else "were"
        rates = f"{left.tokens_per_second:.1f} tokens per second, {_inside(other)} {right.tokens_per_second:.1f}"
        return _card("open", f"No result: {who} {was} stopped.", f"Until then {_inside(one)} made {rates}; {outcome}")
    speed = left.tokens_per_second / right.tokens_per_second
    rate = "" if len(left.token_ids) == len(right.token_ids) else ", in tokens per second"
    if speed >= 1.05:
        name, verdict = "faster", f"{speed:.1f} times as fast{rate} on this machine"
    elif speed < 0.95:
        name, verdict = "slower", f"{speed:.{1 if speed >= 0.1 else 2}f} times as fast{rate}: slower here"
    else:
        name, verdict = "even", f"about as fast as each other on this machine ({speed:.2f} times{rate})"
    return _card(name, f"{times}: {verdict}, {outcome}.", _passes(left, right, _inside(other)))


def _passes(left: Trace, right: Trace, other: str) -> str:
    """What the times are made of: how many passes, and what one takes. Plain text, empty where one has none."""
    if not left.steps or not right.steps or min(left.decode_seconds, right.decode_seconds) <= 0:
        return ""
    ours, theirs = (1000 * trace.decode_seconds / len(trace.steps) for trace in (left, right))
    writing = (len(left.token_ids) - 1) / left.decode_seconds * right.decode_seconds / max(len(right.token_ids) - 1, 1)
    return (
        f"It took {len(left.steps)} passes instead of {len(right.steps)}; a pass over its candidates takes {ours:.0f} ms, "
        f"one of {other} {theirs:.0f} ms. Writing alone, after picture and prompt were read, was {writing:.1f} times as fast"
    )


def standing(left: Trace, right: Trace, names: Sequence[str]) -> str:
    """The card while the race is run: S so far. Empty until both have tokens."""
    left, right, (one, other) = _yardstick_last(left, right, names)
    if not left.tokens_per_second or not right.tokens_per_second:
        return ""
    speed = left.tokens_per_second / right.tokens_per_second
    sentence = f"So far {_inside(one)} is {speed:.2f} times as fast as {_inside(other)} (S, tokens per own second)"
    return _card("open", f"{sentence}; {_tokens(left, right, True)}.", "")


def _yardstick_last(left: Trace, right: Trace, names: Sequence[str]) -> tuple[Trace, Trace, Sequence[str]]:
    """Plain decoding, where it takes part, is what the other is measured by."""
    if left.method == "ar" and right.method != "ar":
        return right, left, (names[1], names[0])
    return left, right, names


def explain(question: str = "", picture: bool = False) -> str:
    """Why the race is fair, and what is asked."""
    asked = ""
    if question:
        beside = " with its picture" if picture else ""
        said = " ".join(visible(word) for word in shorten(question, 120).split())
        asked = f"<p>Asked{beside}, without the conversation before it: <q>{escape(said)}</q></p>"
    return (
        '<div class="explain"><p>Both decoders answer the same question and take turns on one device, a pass each; every '
        "clock counts only its own decoder's time. Looking at a picture is the same work for both and counts the same. "
        f"Both start with empty memories.</p>{asked}</div>"
    )


def _card(name: str, sentence: str, more: str) -> str:
    extra = f"<p>{escape(more)}.</p>" if more else ""
    return f'<section class="result {name}"><p><b>{escape(sentence)}</b></p>{extra}</section>'


def _inside(name: str) -> str:
    """A name inside a sentence: "plain decoding (AR)", but "RECAP"."""
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


def _tokens(left: Trace, right: Trace, stopped: bool) -> str:
    """Whether both said the same. Plain text."""
    ours, theirs = left.token_ids, right.token_ids
    if ours == theirs:
        return f"same {tokens(len(ours))}"
    both = min(len(ours), len(theirs))
    at = next((at for at in range(both) if ours[at] != theirs[at]), None)
    if at is not None:
        one, other = quote(left.table.text(ours[at])), quote(right.table.text(theirs[at]))
        return f"but they differ from token {at + 1} on: {one} instead of {other}"
    return f"same {tokens(both)} as far as both went{'' if stopped else ', then only one went on'}"


def _time(spent: float) -> str:
    """Seconds, or milliseconds below a tenth of one."""
    return f"{spent:.1f} s" if spent >= 1 else f"{spent:.2f} s" if spent >= 0.1 else f"{1000 * spent:.0f} ms"
