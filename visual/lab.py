"""How far a measurement is, and its tables, as HTML for the page; all text escaped."""

from __future__ import annotations

from collections.abc import Sequence

from .report import Words, table
from .text import html


def progress(state: str, answered: int, total: int, seconds_left: float | None, ahead: int = 0, error: str = "") -> str:
    """A bar and a sentence. `state`: waiting | reading (preparing) | writing (measuring) | done | stopped | failed."""
    left = f", about {_time(seconds_left)} left" if seconds_left else ""
    sentence = {
        "waiting": f"Waiting for {ahead} other{'' if ahead == 1 else 's'}." if ahead else "Waiting for the model.",
        "reading": "Preparing: every method answers something short first, which does not count.",
        "writing": f"{answered} of {total} answers{left}.",
        "done": f"All {total} answers are measured.",
        "stopped": f"Stopped after {answered} of {total} answers; what is complete counts.",
        "failed": error,
    }[state]
    share = answered / total if total else 0.0
    return (
        f'<div class="bar" role="progressbar" aria-label="Answers measured" aria-valuemin="0" aria-valuemax="{total}" '
        f'aria-valuenow="{answered}"><div style="width: {100 * share:.1f}%"></div></div><p>{html(sentence)}</p>'
    )


def tables(found: Sequence[Words], facts: Sequence[str]) -> str:
    """The tables one below the other, then what was measured on."""
    sections = [f'<section><h3>{html(one.title)}</h3><p class="muted">{html(one.note)}</p>{table(one)}</section>' for one in found]
    about = "".join(f"<li>{html(fact)}</li>" for fact in facts)
    return "".join(sections) + (f'<ul class="facts muted">{about}</ul>' if about else "")


def _time(seconds: float) -> str:
    return f"{max(round(seconds / 5) * 5, 5)} s" if seconds < 90 else f"{round(seconds / 60)} min"
