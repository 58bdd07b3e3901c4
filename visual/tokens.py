"""What is written at the nodes of a dense draft tree: as much of each token as has room, nothing over anything else.

The accepted path comes first: where the room beside one of its nodes is too small, its token may stand above.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from recap.trace import Step

from . import fit
from .fit import Fit
from .layout import Layout
from .text import shorten, visible


class Token(NamedTuple):
    """A token as it is written."""

    text: str
    """Cut; "" where there is no room: the pointer tells."""
    left: float = 0.0
    """Where it begins, pixels."""
    up: float = 0.0
    """How far above its node's middle it stands, pixels."""
    wide: float = 0.0
    """Pixels."""


Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


_TOUCH = 0.1
"""Pixels by which rounding may make two lines overlap that just fit beside each other."""


class _Space:
    """What is taken in a picture."""

    def __init__(self, step: Step, places: Layout, fitted: Fit, own: tuple[int, int] | None) -> None:
        self.fitted, self.columns = fitted, places.columns
        self.standing = set(zip(step.depths, places.rows)) | ({own} if own else set())
        self.crossed = _crossed(step, places, own)
        self.boxes: list[Box] = []
        if own is not None:
            start = fitted.xs[own[0]]
            self.take(start - fit.OWN, start + fitted.own_end, own[1] * fitted.row, 2)

    def box(self, left: float, right: float, middle: float, which: int) -> Box:
        half = 0.45 * self.fitted.size(which)
        return left, middle - half, right, middle + half

    def take(self, left: float, right: float, middle: float, which: int) -> bool:
        """Whether a line of text has room beside the others; if so it is there from now on. Two may touch."""
        new = self.box(left + _TOUCH, right - _TOUCH, middle, which)
        if any(one[0] < new[2] and new[0] < one[2] and one[1] < new[3] and new[1] < one[3] for one in self.boxes):
            return False
        self.boxes.append(new)
        return True

    def end(self, column: int, row: int) -> float:
        """Where the room right of a node ends: at an edge that turns, at the next node, at the picture's edge."""
        for at in range(column, self.columns):
            if row in self.crossed[at]:
                return self.fitted.turns[at] - self.fitted.look.corner - 2
            if (at + 1, row) in self.standing:
                return self.fitted.xs[at + 1] - self.fitted.gap
        return self.fitted.wide - fit.EDGE

    def clear(self, left: float, right: float, row: int, rows: int) -> bool:
        """Whether no node and no edge is in that many rows above a row."""
        reach = self.fitted.gap
        nodes = [at for at, x in enumerate(self.fitted.xs) if left - reach < x < right + reach]
        gaps = [at for at, x in enumerate(self.fitted.turns) if left - reach < x < right + reach]
        above = range(row - rows, row)
        return not any(
            any((at, one) in self.standing for at in nodes) or any(one in self.crossed[at] for at in gaps)
            for one in above
        )


def written(step: Step, places: Layout, fitted: Fit, own: tuple[int, int] | None, order: Sequence[int]) -> list[Token]:
    """What stands at each node. `own` is column and row of the model's own choice; `order` says who comes first."""
    space = _Space(step, places, fitted, own)
    found = [Token("")] * len(step)
    for node in order:
        column, row, which = step.depths[node], places.rows[node], 0 if step.accepted[node] else 1
        token = visible(step.text(node)[:40])
        size, bold = fitted.size(which), step.accepted[node]
        letter = size * (fit.BOLD_EM if bold else fit.EM)
        most = fit.DENSE.letters[0]
        start = fitted.xs[column] + fitted.gap
        beside = shorten(token, min(most, (space.end(column, row) - start) / letter + 0.05))
        if bold and beside != token:
            above = shorten(token, most)
            wide, up = fit.width(above, size, True), fitted.row / 2 + 9
            left = max(fitted.xs[column] - wide / 2, fit.EDGE)
            rows = math.ceil((up + size / 2) / fitted.row)
            if (len(above) > len(beside) and space.clear(left, left + wide, row, rows)
                    and space.take(left, left + wide, row * fitted.row - up, 0)):  # fmt: skip
                found[node] = Token(above, left, up, wide)
                continue
        wide = fit.width(beside, size, bold)
        if (beside != "…" or bold) and space.take(start, start + wide, row * fitted.row, which):
            found[node] = Token(beside, start, 0.0, wide)
    return found


def _crossed(step: Step, places: Layout, own: tuple[int, int] | None) -> list[set[int]]:
    """Rows in which an edge passes from each column to the next, turning there or not."""
    crossed: list[set[int]] = [set() for _ in range(places.columns + 1)]
    ends = [
        (step.depths[parent], places.rows[parent], places.rows[node])
        for node, parent in enumerate(step.parents) if parent >= 0
    ]  # fmt: skip
    if own is not None:
        tip = next(node for node in range(len(step)) if step.accepted[node] and step.depths[node] == own[0] - 1)
        ends.append((own[0] - 1, places.rows[tip], own[1]))
    for gap, one, other in ends:
        crossed[gap].update(range(min(one, other), max(one, other) + 1))
    return crossed
