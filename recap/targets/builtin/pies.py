"""Pie charts and rings: a round area in several colours, each with a name beside it or in a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from .axis import Piece, title_of
from .chart import Chart, Mark, Series
from .legend import legend_of
from .numbers import read_number
from .patches import Sheet

_ANGLES = 720
_RADII = (0.62, 0.7, 0.78, 0.86, 0.92)  # outside the hole of a ring, inside the rim
_LEAST = 0.012  # share of the circle below which a colour is an edge between two others


def find_pie(sheet: Sheet, pieces: Sequence[Piece]) -> Chart | None:
    """A chart of two slices or more of which at least half have a name, else None."""
    disc = _disc(sheet)
    if disc is None:
        return None
    slices = _slices(sheet, *disc)
    if len(slices) < 2:
        return None
    x, y, radius = disc
    legend = legend_of(sheet, pieces)
    title = title_of(pieces, y - radius, {piece.index for piece in legend.values()})
    taken = {piece.index for piece in legend.values()} | ({title.index} if title else set())
    free = [piece for piece in pieces if piece.index not in taken]
    texts = _beside(slices, free, x, y, radius)
    marks, used, named = [], set(taken), 0
    for n, (colour, _, share) in enumerate(slices):
        name, number = _name_and_number([piece.text for piece in texts[n]])
        if colour in legend:
            other, beside = _name_and_number([legend[colour].text])
            name, number = other or name, number or beside
        named += bool(name)
        used |= {piece.index for piece in texts[n]}
        marks.append(_mark(name or f"the {sheet.name(colour)} slice", number, share, sheet.name(colour)))
    if named < max(2, len(slices) / 2):
        return None
    return Chart("pie chart", title.text if title else "", (Series("", tuple(marks)),), "", tuple(sorted(used)))


def _disc(sheet: Sheet) -> tuple[float, float, float] | None:
    """Centre and radius of the largest round area of vivid colours, pixels."""
    mask = (sheet.labels >= 0).astype(np.uint8)
    mask = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((7, 7), np.uint8))
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    best = max(contours, key=cv2.contourArea, default=None)
    if best is None:
        return None
    left, top, width, height = cv2.boundingRect(best)
    round_enough = abs(width - height) <= 0.08 * max(width, height)
    filled = cv2.contourArea(best) / (width * height)
    if not round_enough or not 0.72 <= filled <= 0.84 or width < 0.18 * min(sheet.width, sheet.height):
        return None
    return left + width / 2, top + height / 2, (width + height) / 4


def _slices(sheet: Sheet, x: float, y: float, radius: float) -> list[tuple[int, float, float]]:
    """(colour, middle in degrees clockwise from the top, share) of each slice, clockwise from the top."""
    angles = np.arange(_ANGLES) * 2 * math.pi / _ANGLES
    votes = np.zeros((_ANGLES, len(sheet.colours) + 1), int)
    for part in _RADII:
        columns = np.clip(np.rint(x + part * radius * np.sin(angles) - 0.5), 0, sheet.width - 1).astype(int)
        rows = np.clip(np.rint(y - part * radius * np.cos(angles) - 0.5), 0, sheet.height - 1).astype(int)
        votes[np.arange(_ANGLES), sheet.labels[rows, columns]] += 1  # -1, no colour, is the last column
    known = votes[:, :-1].max(1) > 0
    if known.sum() < 0.8 * _ANGLES:
        return []
    colour = votes[:, :-1].argmax(1)
    for gap in np.flatnonzero(~known):  # a white edge between slices belongs to the nearest one before it
        before = gap
        while not known[before]:
            before -= 1
        colour[gap] = colour[before]
    starts = np.flatnonzero(colour != np.roll(colour, 1))
    if len(starts) < 2:
        return []
    ends = np.roll(starts, -1)
    runs = [(int(colour[s]), int(s), int((e - s) % _ANGLES)) for s, e in zip(starts, ends)]
    runs = [run for run in runs if run[2] >= _LEAST * _ANGLES]
    total = sum(length for _, _, length in runs)
    found = [(c, (s + length / 2) * 360 / _ANGLES % 360, length / total) for c, s, length in runs]
    return sorted(found, key=lambda entry: (entry[1] - entry[2] * 180) % 360)


def _beside(slices: list, pieces: list[Piece], x: float, y: float, radius: float) -> list[list[Piece]]:
    """For each slice the texts in it or next to it, top to bottom."""
    texts: list[list[Piece]] = [[] for _ in slices]
    for piece in pieces:
        near_x = min(max(x, piece.left), piece.right)
        away = math.hypot(near_x - x, piece.y - y) / radius
        if away > 1.45:
            continue
        centre_x = piece.x if away < 0.9 else near_x * 0.5 + piece.x * 0.5
        angle = math.degrees(math.atan2(centre_x - x, y - piece.y)) % 360

        def off(n: int, angle: float = angle) -> float:
            _, middle, share = slices[n]
            return max(0.0, abs((angle - middle + 180) % 360 - 180) - share * 180)

        texts[min(range(len(slices)), key=off)].append(piece)
    return [sorted(found, key=lambda piece: piece.y) for found in texts]


def _name_and_number(texts: list[str]) -> tuple[str, str]:
    """The words and the number among pieces such as "Rent", "40%", or "Rent 40 %", "Rent (40%)"."""
    words, number = [], ""
    for text in texts:
        kept = []
        for token in text.replace(" %", "%").split():
            bare = token.strip("():,-")
            if read_number(bare) and not number:
                number = bare
            elif bare:
                kept.append(token.strip("():,"))
        words += kept
    return " ".join(words), number


def _mark(name: str, number: str, share: float, colour: str) -> Mark:
    printed = read_number(number) if number else None
    if printed is not None and (printed.after != "%" or abs(printed.value / 100 - share) <= 0.06):
        return Mark(name, printed.value, number, True, colour, share)
    return Mark(name, round(share * 100), f"{share * 100:.0f}%", False, colour, share)
