"""Bar charts, upright and lying: bars stand on one line, are equally broad, and have a label at their foot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .axis import Piece, Scale, scale_of, title_of
from .chart import Chart, Mark, Series
from .legend import legend_of
from .patches import Sheet

_ON_LINE = 3  # pixels that feet may differ by
_BREADTH = 0.25  # share that breadths may differ by
_DOUBT = 0.12  # of the axis: a printed number farther from its bar's height was misread


@dataclass(frozen=True)
class _Bar:
    """`base` and `end` along the bar; `low` and `high` across it."""

    colour: int
    base: float
    end: float
    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    @property
    def length(self) -> float:
        return abs(self.end - self.base)


def find_bars(sheet: Sheet, pieces: Sequence[Piece]) -> Chart | None:
    """A chart of two bars or more of which most have a label, else None. Stacked bars are not read."""
    charts = [_find(sheet, pieces, upright) for upright in (True, False)]
    found = [chart for chart in charts if chart is not None]
    return max(found, key=lambda chart: sum(len(series.marks) for series in chart.series), default=None)


def _find(sheet: Sheet, pieces: Sequence[Piece], upright: bool) -> Chart | None:
    bars = _aligned(sheet, upright)
    if len(bars) < 2 or _stacked(sheet, bars, upright):
        return None
    labels = _labels(bars, pieces, upright)
    if len(labels) < max(2, 0.6 * len(bars)):
        return None
    used = {piece.index for piece, _ in labels.values()}
    legend = legend_of(sheet, [piece for piece in pieces if piece.index not in used])
    legend = {colour: piece for colour, piece in legend.items() if any(bar.colour == colour for bar in bars)}
    several = len(legend) >= 2 and len(legend) < len(bars)
    used |= {piece.index for piece in legend.values()}
    numbers = [piece for piece in pieces if piece.index not in used and piece.number is not None]
    scale = scale_of([piece for piece in numbers if not _over(piece, bars, upright)], vertical=upright)
    ticks = {piece.index for piece in scale.ticks} if scale else set()
    values = _values(bars, [piece for piece in numbers if piece.index not in ticks], upright)
    used |= ticks | {piece.index for piece in values.values()}
    marks = [_mark(sheet, bars, n, labels, values, scale) for n in range(len(bars))]
    series = [Series("", tuple(marks))]
    if several:
        series = [
            Series(piece.text, tuple(mark for bar, mark in zip(bars, marks) if bar.colour == colour))
            for colour, piece in legend.items()
        ]
    top = min(min(bar.end for bar in bars) if upright else min(bar.low for bar in bars), sheet.height)
    title = title_of(pieces, top, used)
    used |= {title.index} if title else set()
    others = [p.text for p in pieces if p.index not in used and p.number is None and p.bottom > top and len(p.text) > 2]
    kind = "bar chart" if upright else "horizontal bar chart"
    return Chart(kind, title.text if title else "", tuple(series), ", ".join(others[:3]), tuple(sorted(used)))


def _aligned(sheet: Sheet, upright: bool) -> list[_Bar]:
    """The largest set of bars with a common foot line and breadth, in order across."""
    bars = []
    for patch in sheet.patches:
        breadth, length = (patch.width, patch.height) if upright else (patch.height, patch.width)
        if patch.fill < 0.6 or breadth < 5 or length < 3 or breadth > 0.45 * max(sheet.width, sheet.height):
            continue
        if upright:
            bars.append(_Bar(patch.colour, patch.bottom, patch.top, patch.left, patch.right))
        else:
            bars.append(_Bar(patch.colour, patch.left, patch.right, patch.top, patch.bottom))
    best: list[_Bar] = []
    for first in bars:
        breadth = first.high - first.low
        alike = [
            bar for bar in bars
            if abs(bar.base - first.base) <= _ON_LINE and abs(bar.high - bar.low - breadth) <= _BREADTH * breadth
        ]  # fmt: skip
        if (len(alike), sum(bar.length for bar in alike)) > (len(best), sum(bar.length for bar in best)):
            best = alike
    best.sort(key=lambda bar: bar.low)
    apart = all(before.high <= after.low + 2 for before, after in zip(best, best[1:]))
    tall = best and max(bar.length for bar in best) >= 0.15 * (sheet.height if upright else sheet.width)
    return best if apart and tall else []


def _stacked(sheet: Sheet, bars: list[_Bar], upright: bool) -> bool:
    """Whether another colour goes on where a bar ends."""
    for patch in sheet.patches:
        base, low, high = (patch.bottom, patch.left, patch.right) if upright else (patch.left, patch.top, patch.bottom)
        length = patch.height if upright else patch.width
        for bar in bars:
            same = abs(low - bar.low) <= 3 and abs(high - bar.high) <= 3
            if same and length >= 6 and abs(base - bar.end) <= 3 and bar.length >= 3 and abs(base - bar.base) > 3:
                return True
    return False


def _labels(bars: list[_Bar], pieces: Sequence[Piece], upright: bool) -> dict[int, tuple[Piece, str]]:
    """For each bar that has one: the piece at its foot and the word of it that is the bar's."""
    base = bars[0].base
    middles = [bar.middle for bar in bars]
    spacing = min((b - a for a, b in zip(middles, middles[1:])), default=bars[0].high - bars[0].low)
    if upright:
        low, high = middles[0] - 0.6 * spacing, middles[-1] + 0.6 * spacing
        below = [p for p in pieces if p.y > base and p.top < base + 5 * p.height and low <= p.x <= high]
        rows = [[other for other in below if abs(other.y - piece.y) <= 0.8 * piece.height] for piece in below]
        feet = max(rows, key=lambda row: (len(row), -row[0].y), default=[])  # an axis' "0" may stand a little higher
    else:
        feet = [piece for piece in pieces if piece.right <= base + 4]
    found: dict[int, tuple[Piece, str]] = {}
    single = []
    for piece in feet:
        words = piece.text.split()
        covered = [n for n, middle in enumerate(middles) if piece.left <= middle <= piece.right] if upright else []
        if len(covered) > 1 and len(words) == len(covered):  # the text reader took neighbouring labels for one
            found.update((n, (piece, word)) for n, word in zip(covered, words))
        else:
            single.append(piece)
    places = sorted(piece.x if upright else piece.y for piece in single)
    gaps = [after - before for before, after in zip(places, places[1:]) if after - before > 2]
    reach = 0.5 * min(gaps, default=spacing) if upright else 0.5 * spacing
    for n, middle in enumerate(middles):
        near = [p for p in single if abs((p.x if upright else p.y) - middle) <= reach + 1]
        if near and n not in found:
            best = min(near, key=lambda p: abs(p.x - middle) if upright else -p.right)
            found[n] = (best, best.text)
    return found


def _over(piece: Piece, bars: list[_Bar], upright: bool) -> bool:
    place = piece.x if upright else piece.y
    return any(bar.low - 2 <= place <= bar.high + 2 for bar in bars)


def _values(bars: list[_Bar], numbers: Sequence[Piece], upright: bool) -> dict[int, Piece]:
    """The number at the end of each bar, or inside it."""
    found: dict[int, Piece] = {}
    for n, bar in enumerate(bars):

        def away(piece: Piece, bar: _Bar = bar) -> float:
            if upright:
                return bar.end - piece.bottom if piece.y < bar.end else piece.top - bar.end
            return piece.left - bar.end if piece.x > bar.end else bar.end - piece.right

        beside = [
            piece for piece in numbers
            if abs((piece.x if upright else piece.y) - bar.middle) <= 0.6 * (bar.high - bar.low) + 2
            and (piece.y < bar.base if upright else piece.x > bar.base)
            and away(piece) <= max(1.5 * piece.height, 0.6 * bar.length if away(piece) < bar.length else 0)
        ]  # fmt: skip
        if beside:
            found[n] = min(beside, key=away)
    return found


def _mark(sheet: Sheet, bars: list[_Bar], n: int, labels: dict, values: dict[int, Piece], scale: Scale | None) -> Mark:
    bar = bars[n]
    colour = sheet.name(bar.colour)
    name = labels[n][1] if n in labels else f"{colour} bar"
    estimate = scale.value(bar.end) if scale else _by_the_others(bars, values, bar)
    reach = abs(scale.slope) * max(other.length for other in bars) if scale else 0.0
    if n in values:
        number = values[n].number
        if scale is None or abs(number.value - estimate) <= _DOUBT * reach:
            return Mark(name, number.value, values[n].text, True, colour, bar.length)
    if estimate is None:
        return Mark(name, None, "", False, colour, bar.length)
    shown = scale.shown(estimate) if scale else f"{estimate:.3g}"
    return Mark(name, estimate, shown, False, colour, bar.length)


def _by_the_others(bars: list[_Bar], values: dict[int, Piece], bar: _Bar) -> float | None:
    """A length in the units of the bars whose numbers are printed, if at least three are."""
    rates = sorted(piece.number.value / bars[n].length for n, piece in values.items())
    return rates[len(rates) // 2] * bar.length if len(rates) >= 3 else None
