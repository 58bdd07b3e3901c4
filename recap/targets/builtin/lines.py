"""Line charts: a thin, wide stroke of one colour over a row of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .axis import Piece, Scale, scale_of, title_of
from .chart import Chart, Mark, Series
from .legend import legend_of
from .patches import Sheet

_WIDE = 0.3  # least width of a stroke, of the sheet
_THIN = 0.05  # greatest mean thickness, of the sheet's height


def find_lines(sheet: Sheet, pieces: Sequence[Piece]) -> Chart | None:
    """A chart of up to four lines with three labelled points or more, else None."""
    strokes = _strokes(sheet)
    if not strokes or len(strokes) > 4:
        return None
    numbers = [piece for piece in pieces if piece.number is not None]
    left, right = min(xs[0] for xs, _ in strokes.values()), max(xs[-1] for xs, _ in strokes.values())
    scale = scale_of([piece for piece in numbers if piece.right <= left + 8 or piece.left >= right - 8], vertical=True)
    ticks = {piece.index for piece in scale.ticks} if scale else set()
    bottom = max(float(ys.max()) for _, ys in strokes.values())
    feet = _feet([piece for piece in pieces if piece.index not in ticks], left, right, bottom)
    if len(feet) < 3:
        return None
    used = ticks | {piece.index for piece in feet}
    legend = legend_of(sheet, [piece for piece in pieces if piece.index not in used]) if len(strokes) > 1 else {}
    free = [piece for piece in numbers if piece.index not in used]
    series = []
    for colour, (xs, ys) in strokes.items():
        marks, numbered = _points(sheet, colour, xs, ys, feet, free, scale)
        if marks is None:
            return None
        name = legend[colour].text if colour in legend else f"the {sheet.name(colour)} line"
        series.append(Series(name if len(strokes) > 1 else "", marks))
        used |= numbered
    used |= {piece.index for piece in legend.values()}
    top = min(float(ys.min()) for _, ys in strokes.values())
    title = title_of(pieces, top, used)
    used |= {title.index} if title else set()
    others = [p.text for p in pieces if p.index not in used and p.number is None and p.bottom > top and len(p.text) > 2]
    return Chart("line chart", title.text if title else "", tuple(series), ", ".join(others[:3]), tuple(sorted(used)))


def _strokes(sheet: Sheet) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Colour index to the stroke's columns and its mean row in each."""
    found = {}
    for colour in range(len(sheet.colours)):
        parts = [p for p in sheet.patches if p.colour == colour and p.width >= 0.06 * sheet.width and p.fill < 0.7]
        if not parts:
            continue
        mask = np.zeros(sheet.labels.shape, bool)
        for part in parts:
            box = np.s_[part.top : part.bottom, part.left : part.right]
            mask[box] |= sheet.labels[box] == colour
        counts = mask.sum(0)
        columns = np.flatnonzero(counts)
        wide = columns[-1] - columns[0] + 1
        if wide < _WIDE * sheet.width or len(columns) < 0.9 * wide or counts[columns].mean() > _THIN * sheet.height:
            continue
        rows = (mask * np.arange(sheet.height)[:, None]).sum(0)[columns] / counts[columns]
        found[colour] = (columns, rows)
    return found


def _feet(pieces: Sequence[Piece], left: float, right: float, bottom: float) -> list[Piece]:
    """The uppermost row of three labels or more below the strokes, in order."""
    margin = 0.08 * (right - left)
    below = sorted((p for p in pieces if p.y > bottom and left - margin <= p.x <= right + margin), key=lambda p: p.y)
    for first in below:
        row = [piece for piece in below if abs(piece.y - first.y) <= 0.7 * first.height]
        if len(row) >= 3:
            return sorted(row, key=lambda piece: piece.x)
    return []


def _points(
    sheet: Sheet, colour: int, xs: np.ndarray, ys: np.ndarray, feet: list[Piece], numbers: list[Piece],
    scale: Scale | None,
) -> tuple[tuple[Mark, ...] | None, set[int]]:  # fmt: skip
    """The line's value over every label, and which numbers were taken for it; (None, ...) if nothing tells values."""
    spacing = min(after.x - before.x for before, after in zip(feet, feet[1:]))
    heights = [float(ys[np.abs(xs - foot.x).argsort(kind="stable")[:3]].mean()) for foot in feet]
    printed = []
    for foot, height in zip(feet, heights):
        near = [p for p in numbers if abs(p.x - foot.x) <= 0.45 * spacing and abs(p.y - height) <= 2.2 * p.height]
        printed.append(min(near, key=lambda piece: abs(piece.y - height), default=None))
    if scale is None and not all(printed):
        scale = _scale_of_points([(y, piece.number.value) for y, piece in zip(heights, printed) if piece is not None])
        if scale is None:
            return None, set()
    marks = []
    for foot, height, piece in zip(feet, heights, printed):
        name, plotted = sheet.name(colour), sheet.height - height
        estimate = scale.value(height) if scale else None
        if piece is not None and (scale is None or abs(piece.number.value - estimate) <= scale.step):
            marks.append(Mark(foot.text, piece.number.value, piece.text, True, name, plotted))
        else:
            marks.append(Mark(foot.text, estimate, scale.shown(estimate), False, name, plotted))
    return tuple(marks), {piece.index for piece in printed if piece is not None}


def _scale_of_points(points: list[tuple[float, float]]) -> Scale | None:
    """What a pixel is worth by the numbers printed at three points or more; None with fewer, or if they disagree."""
    if len(points) < 3 or len({round(y) for y, _ in points}) < 2:
        return None
    ys, values = np.array(points).T
    slope, offset = np.polyfit(ys, values, 1)
    spread = values.max() - values.min()
    if slope >= 0 or np.abs(slope * ys + offset - values).max() > 0.1 * spread:
        return None
    return Scale(float(slope), float(offset), float(spread) / 4, (), "")
