"""Rows side by side in one table: a token a line, a row a column, probabilities as bars with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import NamedTuple

from .text import shorten, visible

SHOWN = 10
"""Tokens shown at once; the others unfold."""
NO_NOTES: Mapping[str, str] = {}
_LONGEST = 500
"""Characters of a token that are looked at."""


class Column(NamedTuple):
    """One row to be shown."""

    name: str
    """Heads the column: "G", "C", "U", "mix", "model"."""
    title: str
    """What the row is, for the pointer. Plain text."""
    probs: dict[int, float] | None
    """Probability of each token id, falling; None where nothing was found."""
    notes: tuple[str, ...] = ()
    """One cell per extra line below the names, such as weight and confidence. Plain text."""
    label: str = ""
    """Heads the column in place of its name. Plain text."""


def column(name: str, title: str, row: tuple | None, notes: Sequence[str] = ()) -> Column:
    """From a row: ids, then probabilities, then anything. None stays an empty column."""
    probs = None if row is None else {int(token): float(prob) for token, prob in zip(row[0], row[1])}
    return Column(name, title, probs, tuple(notes))


def html(
    columns: Sequence[Column], text_of: Callable[[int], str], notes: Mapping[str, str] = NO_NOTES,
    chosen: int | None = None,
) -> str:  # fmt: skip
    """`notes` names the extra lines and explains them to the pointer; `chosen` is the token that comes first, with a
    mark."""
    order = _order(columns, chosen)
    lines = [_line(token, columns, text_of, token == chosen) for token in order]
    head = "".join(
        f'<th scope="col" class="of-{column.name}" title="{escape(column.title)}">{escape(column.label or column.name)}</th>'
        for column in columns
    )
    extra = "".join(
        f'<tr class="note"><th scope="row" title="{escape(told)}">{escape(name)}</th>'
        + "".join(f"<td>{escape(one.notes[at]) if at < len(one.notes) else ''}</td>" for one in columns)
        + "</tr>"
        for at, (name, told) in enumerate(notes.items())
    )
    more = len(lines) - SHOWN
    folded = f'<tbody class="more">{"".join(lines[SHOWN:])}</tbody>' if more > 0 else ""
    table = (
        f'<table class="rows"><thead><tr><th scope="col">token</th>{head}</tr>{extra}</thead>'
        f"<tbody>{''.join(lines[:SHOWN])}</tbody>{folded}</table>"
    )
    if more <= 0:
        return table
    label = f"{more} more token{'' if more == 1 else 's'}"
    return f'<div class="unfold">{table}<label><input type="checkbox"> {label}</label></div>'


def _order(columns: Sequence[Column], chosen: int | None) -> list[int]:
    """The chosen token first, then by the largest probability in any row, so that no row's favourite is folded away."""
    best: dict[int, float] = {}
    for one in columns:
        for token, prob in (one.probs or {}).items():
            best[token] = max(best.get(token, 0.0), prob)
    if chosen is not None:
        best[chosen] = 2.0
    return sorted(best, key=lambda token: -best[token])


def _line(token: int, columns: Sequence[Column], text_of: Callable[[int], str], chosen: bool) -> str:
    text = visible(text_of(token)[:_LONGEST])
    mark = '<b class="mark" title="the model\'s choice">✓</b>' if chosen else ""
    cells = "".join(_cell(column, token) for column in columns)
    name = f'<th scope="row" title="{escape(shorten(text, 300))}">{mark}{escape(shorten(text, 11))}</th>'
    return f'<tr class="chosen">{name}{cells}</tr>' if chosen else f"<tr>{name}{cells}</tr>"


def _cell(column: Column, token: int) -> str:
    if column.probs is None or token not in column.probs:
        return f'<td class="of-{column.name} none"></td>'
    prob = column.probs[token]
    return f'<td class="of-{column.name}" style="--p:{100 * prob:.1f}"><b></b>{percent(prob)}</td>'


def percent(prob: float) -> str:
    """In whole percent; "<1" for less than half of one."""
    return f"{100 * prob:.0f}" if prob >= 0.005 else "<1"
