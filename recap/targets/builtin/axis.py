"""Numbers beside an axis, and what a pixel is worth by them; and which text belongs to what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from .numbers import Number, read_number


@dataclass(frozen=True)
class Piece:
    """A piece of text in pixels of the sheet."""

    index: int
    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def x(self) -> float:
        return (self.left + self.right) / 2

    @property
    def y(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def number(self) -> Number | None:
        return read_number(self.text)


def pieces_of(text: Sequence, width: int, height: int) -> list[Piece]:
    """`TextLine`s in pixels of a sheet of this size."""
    return [
        Piece(index, line.text, line.box[0] * width, line.box[1] * height, line.box[2] * width, line.box[3] * height)
        for index, line in enumerate(text)
    ]


@dataclass(frozen=True)
class Scale:
    """value = slope * pixel + offset, from the tick labels `ticks`."""

    slope: float
    offset: float
    step: float
    """Between neighbouring ticks."""
    ticks: tuple[Piece, ...]
    unit: str

    def value(self, pixel: float) -> float:
        """An estimate, rounded to a twentieth of the ticks' step: finer would be made up."""
        grain = self.step / 20
        return round((self.slope * pixel + self.offset) / grain) * grain

    def shown(self, value: float) -> str:
        """Digits in keeping with the grain, with the ticks' unit."""
        decimals = 0 if self.step >= 10 else 1 if self.step >= 1 else 2 if self.step >= 0.1 else 3
        text = f"{value:.{decimals}f}"
        return (text.rstrip("0").rstrip(".") if "." in text else text) + self.unit


def scale_of(pieces: Sequence[Piece], vertical: bool) -> Scale | None:
    """The linear scale that most of the numbers lie on: three or more, in line, evenly spaced; None without one.

    `vertical`: values change from top to bottom (numbers stand in a column), else from left to right.
    """
    numbers = [(piece, piece.number) for piece in pieces if piece.number is not None]
    place = (lambda piece: piece.y) if vertical else (lambda piece: piece.x)
    best: tuple[int, float] | None = None
    chosen: list[Piece] = []
    for (one, a), (two, b) in combinations(numbers, 2):
        if a.value == b.value or abs(place(one) - place(two)) < 4 or not _aligned(one, two, vertical):
            continue
        slope = (b.value - a.value) / (place(two) - place(one))
        if (slope > 0) == vertical:
            continue
        close = [
            piece for piece, number in numbers
            if _aligned(one, piece, vertical) and abs(slope * (place(piece) - place(one)) + a.value - number.value)
            <= 3.0 * abs(slope)
        ]  # fmt: skip
        rank = (len(close), abs(place(one) - place(two)))
        if len(close) >= 3 and (best is None or rank > best):
            best, chosen = rank, close
    if not chosen:
        return None
    values = [piece.number.value for piece in chosen]
    places = [place(piece) for piece in chosen]
    mean_place, mean_value = sum(places) / len(places), sum(values) / len(values)
    slope = sum((p - mean_place) * (v - mean_value) for p, v in zip(places, values))
    slope /= sum((p - mean_place) ** 2 for p in places)
    ordered = sorted(values)
    step = min(after - before for before, after in zip(ordered, ordered[1:]) if after > before)
    unit = chosen[0].number.after if all(piece.number.after == chosen[0].number.after for piece in chosen) else ""
    return Scale(slope, mean_value - slope * mean_place, step, tuple(chosen), unit)


def _aligned(one: Piece, two: Piece, vertical: bool) -> bool:
    """Numbers of one axis share an edge or a centre across it."""
    if vertical:
        offset = min(abs(one.right - two.right), abs(one.left - two.left), abs(one.x - two.x))
    else:
        offset = abs(one.y - two.y)
    return offset <= max(one.height, two.height) * 0.6


def title_of(pieces: Sequence[Piece], above: float, used: set[int]) -> Piece | None:
    """The tallest unused words above pixel row `above`, with what stands beside them in the same line; else None."""
    words = [p for p in pieces if p.index not in used and p.bottom <= above and p.number is None and len(p.text) > 2]
    best = max(words, key=lambda piece: (round(piece.height / 3), -piece.top), default=None)
    if best is None:
        return None
    line = [p for p in pieces if p.index not in used and abs(p.y - best.y) <= 0.4 * best.height]
    line.sort(key=lambda piece: piece.left)
    near = [best]
    for piece in line[line.index(best) + 1 :]:
        if piece.left - near[-1].right <= best.height:
            near.append(piece)
    for piece in reversed(line[: line.index(best)]):
        if near[0].left - piece.right <= best.height:
            near.insert(0, piece)
    return replace(best, text=" ".join(piece.text for piece in near), left=near[0].left, right=near[-1].right)
