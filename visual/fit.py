"""How a draft tree fits its frame: the place of every column and row, in pixels.

Places follow from the tree and the frame, never from what the target said, so they hold whatever is told of the tree.
Widths of letters are guessed on the wide side: what is free here is free in any usual font.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from recap.trace import Step

from .layout import Layout
from .text import breadth, visible

EM, BOLD_EM = 0.62, 0.71
"""Width of an average letter, plain and bold, per size of the font."""
SAID = "the model said "
OWN = 16
"""From the middle of the model's own choice to its words. Pixels, as everything below."""
EDGE = 4
"""Room at the right edge."""
BAR = 16
"""A scroll bar's height."""
FRAME = 485
"""A frame's height if none is told."""


@dataclass(frozen=True)
class Look:
    """Sizes of one way to draw a tree. Pixels unless said."""

    row: float
    """Pitch of rows; `beside`: the most."""
    beside: bool
    """Tokens stand to the right of their nodes and edges begin where the token ends, so that rows can be close. If
    not, tokens stand above their nodes."""
    gap: float
    """Beside: from a node's middle to its token, at most. Above: from the middle up to the token's foot."""
    apart: float
    """Least distance between two tokens above their nodes."""
    widest: float
    """Pitch of columns beyond which a page gains nothing."""
    margin: float
    """Above the root's row and below the last one: the model's own choice may need a row there."""
    corner: float
    """Size of an edge's corners."""
    path: float
    """Width of the accepted path."""
    sizes: tuple[float, float, float]
    """Of letters: accepted token, refused token, the model's words."""
    letters: tuple[float, ...]
    """Longest token, average letters: the first with which the tree is as narrow as its frame."""


ROOMY = Look(38, False, 16, 8, 112, 52, 7, 4.5, (12, 11, 11.5), (9.5, 8, 6.5, 5))
DENSE = Look(15, True, 10, 10, 88, 25, 4, 3.5, (10, 9.5, 10.5), (7.5, 6, 5, 4, 3, 2.4, 1.5))
LEAF = 3.5
"""Beside: letters of a token without candidates after it that widen its column; it may have more where there is room."""
SMALL = 8.0
"""Least size of letters."""


@dataclass(frozen=True)
class Fit:
    """A tree in its frame."""

    look: Look
    row: float
    """Pitch of rows."""
    xs: tuple[float, ...]
    """Each column's middle, one more than the tree has: the model's own choice may stand there."""
    turns: tuple[float, ...]
    """Where edges turn between a column and the next."""
    wide: float
    high: float
    gap: float
    """As in `Look.gap`: close to nodes that are small."""
    letters: float
    """Longest token, average letters."""

    def size(self, which: int) -> float:
        """Of letters, as in `Look.sizes`: smaller where rows are close."""
        return max(SMALL, min(self.look.sizes[which], self.row - 1))

    @property
    def own_end(self) -> float:
        """How far right of the model's own choice its words may end."""
        return OWN + own_width(self.size(2), self.look.letters[0])

    @property
    def near(self) -> int:
        """How many rows above and below its own a line of text reaches into."""
        return max(0, math.ceil(self.size(2) / self.row) - 1)


def width(text: str, size: float, bold: bool = False) -> float:
    """Of a line of text, pixels."""
    return sum(map(breadth, text)) * size * (BOLD_EM if bold else EM)


def own_width(size: float, letters: float) -> float:
    """Of the words at the model's own choice, whose token has that many average letters."""
    return width(SAID, size) + letters * size * BOLD_EM


def fit(step: Step, places: Layout, dense: bool = False, room: tuple[float | None, float | None] | None = None) -> Fit:
    """The tree as narrow as its frame `room` (width, height) if its tokens stay readable, else as wide as they are.

    Dense: rows are as close as the frame's height asks. A wide frame is filled, up to the look's widest column.
    """
    look = DENSE if dense else ROOMY
    wide, high = room or (None, None)
    tail = OWN + own_width(look.sizes[2], look.letters[0]) + EDGE
    lengths = [sum(map(breadth, visible(step.text(node)[:40]))) for node in range(len(step))]
    row = _row(look, places.height, high or FRAME)
    for letters in (*look.letters, look.letters[0]):
        left, steps = _columns(step, lengths, places.columns, look, row, letters)
        least = left + sum(steps) + tail
        if wide is None or least <= wide:
            break
    if wide is not None and least < wide:
        more = (wide - left - tail) / sum(steps)
        steps = [min(max(look.widest, pitch), pitch * more) for pitch in steps]
    elif wide is not None and least > wide:
        row = _row(look, places.height, (high or FRAME) - BAR)
    gap = _gap(look, row)
    xs = [round(left + sum(steps[:at]), 1) for at in range(len(steps) + 1)]
    turns = [round(right - gap if look.beside else right - pitch / 2, 1) for right, pitch in zip(xs[1:], steps)]
    return Fit(
        look, row, tuple(xs), tuple(turns), round(max(xs[-1] + tail, wide or 0)),
        round((places.height - 1) * row + 2 * look.margin), gap, letters,
    )  # fmt: skip


def _row(look: Look, rows: int, high: float) -> float:
    """Pitch of rows."""
    if not look.beside:
        return look.row
    return min(look.row, max(math.floor(10 * (high - 2 * look.margin) / max(rows - 1, 1)) / 10, 4.0))


def _gap(look: Look, row: float) -> float:
    return min(look.gap, row / 2 + 5) if look.beside else look.gap


def _columns(
    step: Step, lengths: list[float], columns: int, look: Look, row: float, letters: float
) -> tuple[float, list[float]]:
    """Where the root stands, and how far each column is from the next, for tokens of at most that many letters."""
    inner = set(step.parents)
    need = [0.0] * columns
    for node, depth in enumerate(step.depths):
        most = letters if node in inner or not look.beside else min(letters, LEAF)
        need[depth] = max(need[depth], min(lengths[node], most))
    bold = look.sizes[0] * (BOLD_EM if look.beside else EM)
    need = [bold * one for one in need]
    if look.beside:
        return 14.0, [2 * _gap(look, row) + one + look.corner + 2 for one in need]
    after = [*need[1:], 2 * OWN]
    return max(18.0, need[0] / 2 + EDGE), [max(38.0, (one + two) / 2 + look.apart) for one, two in zip(need, after)]
