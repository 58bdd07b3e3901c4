"""Rows and columns: pieces of text put back into the lines and cells they were printed in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .numbers import Number, read_number

_LEADERS = re.compile(r"\s*(?:\.{3,}|(?<=\s)\.{2}(?=\s|$)|…+|_{3,}|·{3,}|(?: \.){3,})\s*")
_TRAILING_PRICE = re.compile(r"(.*[^\W\d_].*?)\s+([£$€]?\d+[.,]\d\d ?[€]?)")
BESIDE = " | "
"""What stands between the cells of a row."""


@dataclass(frozen=True)
class Row:
    """A line across the picture."""

    cells: tuple[str, ...]
    spans: tuple[tuple[float, float], ...]
    """Left and right of each cell, fractions of the width."""
    top: float
    bottom: float
    height: float
    """Of its tallest piece, as a fraction of the picture."""

    @property
    def text(self) -> str:
        return BESIDE.join(self.cells)

    @property
    def label(self) -> str | None:
        """Its first cell that is no number."""
        return next((cell for cell in self.cells if read_number(cell) is None and re.search(r"[^\W\d_]", cell)), None)

    @property
    def number(self) -> Number | None:
        """The number in its last cell."""
        return read_number(self.cells[-1]) if len(self.cells) > 1 else None


def rows_of(text: Sequence) -> list[Row]:
    """Rows from `TextLine`s in reading order. "Soup ..... 5.50" and "Soup 5.50" become two cells."""
    grouped: dict[int, list] = {}
    for line in text:
        grouped.setdefault(line.row, []).append(line)
    rows = []
    for lines in grouped.values():
        cells, spans = [], []
        for line in lines:
            left, _, right, _ = line.box
            parts = _split(line.text)
            step = (right - left) / len(parts)
            cells += parts
            spans += [(left + step * n, left + step * (n + 1)) for n in range(len(parts))]
        if len(cells) > 1:
            cells[0] = cells[0].rstrip(" .·") or cells[0]  # what is left of a row of dots
        boxes = [line.box for line in lines]
        rows.append(Row(tuple(cells), tuple(spans), min(b[1] for b in boxes), max(b[3] for b in boxes),
                        max(b[3] - b[1] for b in boxes)))  # fmt: skip
    return rows


def _split(text: str) -> list[str]:
    parts = [part for part in _LEADERS.split(text) if part.strip(" .")] or [text]
    if len(parts) == 1 and (match := _TRAILING_PRICE.fullmatch(text)):
        return [match[1].rstrip(" ."), match[2]]
    return parts


@dataclass(frozen=True)
class Table:
    """A grid: a head and the rows under it, all as wide as the head; a missing cell is "-"."""

    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    first: int
    """Index of the head among the rows."""

    def column(self, index: int) -> list[tuple[str, Number]]:
        """(name in the first column, number) of the rows that have a number there."""
        found = ((row[0], read_number(row[index])) for row in self.body)
        return [(name, number) for name, number in found if number is not None]


def table_of(rows: Sequence[Row]) -> Table | None:
    """The first run of rows that share at least three columns: a head without numbers and two rows or more."""
    for first, head in enumerate(rows):
        if len(head.cells) < 3 or any(read_number(cell) for cell in head.cells[1:] if not re.fullmatch(r"\d{4}", cell)):
            continue
        body = []
        for row in rows[first + 1 :]:
            placed = _placed(row, head)
            if placed is None or sum(cell != "-" for cell in placed) < len(head.cells) - 1:
                break
            body.append(placed)
        if len(body) >= 2:
            return Table(head.cells, tuple(body), first)
    return None


def _placed(row: Row, head: Row) -> tuple[str, ...] | None:
    """The row's cells under the head's columns by nearest centre; None if two fall under the same one."""
    cells = ["-"] * len(head.cells)
    centres = [(left + right) / 2 for left, right in head.spans]
    for cell, (left, right) in zip(row.cells, row.spans):

        def far(column: int) -> float:
            a, b = head.spans[column]
            return min(abs((left + right) / 2 - centres[column]), abs(left - a), abs(right - b))

        column = min(range(len(centres)), key=far)
        if cells[column] != "-":
            return None
        cells[column] = cell
    return tuple(cells)
