"""Tokens over own time: how fast answers grew, each decoder by its own clock."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

import plotly.graph_objects as go

from recap.trace import Comparison, Trace

from . import canvas
from .canvas import Spec
from .text import escape, shorten
from .theme import COLOURS, palette

Lane = tuple[str, Trace]
ROOM = 0.78
"""Share of the axis that the lines may use; labels at their ends have the rest."""
LOW = 0.28
"""Share of the axis below which a label has no room under its line's end."""


def figure(lanes: Sequence[Lane], theme: str = "light") -> go.Figure:
    """What `spec` describes. Raises ValueError for a theme that is neither light nor dark."""
    return canvas.figure(spec(lanes, theme))


def points(trace: Trace) -> list[tuple[float, int]]:
    """Seconds of own time and tokens of the answer: at the start, after the prompt was read, and after each pass.

    Own time is encoding + prefill + decoding. Passes take draft + verify + update; what decoding took beyond that is
    spread over them, so that the last point stands at `trace.seconds`.
    """
    if not trace.token_ids:
        return [(0.0, 0)]
    begin = trace.encode_seconds + trace.prefill_seconds
    spent = list(accumulate(step.draft_ms + step.verify_ms + step.update_ms for step in trace.steps))
    scale = trace.decode_seconds / spent[-1] if spent and spent[-1] > 0 else 0.0
    tokens = accumulate((len(step.committed) for step in trace.steps), initial=1)
    return [(0.0, 0), *zip([begin, *(begin + scale * at for at in spent)], tokens)]


def spec(lanes: Sequence[Lane], theme: str = "light") -> Spec:
    """One line a lane, one or two (name, trace); a lone trace that was compared shows plain decoding beside it.

    Of a comparison only totals are known: its line is straight from the end of its prefill to its end. Made for 280 x
    150 pixels and wider. Axes begin at 0 and end at 1, 1.5, 2, 3, 5 or 7 times a power of ten, so that they seldom
    change while answers grow.
    """
    colours = palette(theme)
    curves = []
    inks = iter((("solid", colours.ink), ("dashdot", colours.muted)))
    for name, trace in lanes:
        dash, colour = ("dash", COLOURS["ar"]) if trace.method == "ar" else next(inks)
        curves.append((name, points(trace), "linear" if trace.method == "ar" else "hv", dash, colour))
    other = lanes[0][1].comparison if len(lanes) == 1 else None
    if other is not None:
        curves.append(("AR", _straight(other), "linear", "dash", COLOURS["ar"]))
    drawn = [_line(*curve) for curve in curves]
    last = [line[-1] for _, line, _, _, _ in curves]
    ends = [max((end[at] for end in last), default=0) for at in range(2)]
    layout = _layout(theme, _round_up(max(ends[0], 0.1) / ROOM), _round_up(max(ends[1], 10)))
    order = sorted(range(len(last)), key=lambda at: _rate(last[at]), reverse=True)
    layout["annotations"] = [
        _label(curves[at][0], last[at], rank == 0, last[at][1] < LOW * layout["yaxis"]["range"][1], theme)
        for rank, at in enumerate(order)
    ]
    return {"data": drawn, "layout": layout}


def _straight(other: Comparison) -> list[tuple[float, int]]:
    begin = other.encode_seconds + other.prefill_seconds
    return [(0.0, 0), (begin, 0), (begin, min(1, len(other.token_ids))), (other.seconds, len(other.token_ids))]


def _rate(end: tuple[float, int]) -> float:
    return end[1] / end[0] if end[0] > 0 else 0.0


def _round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 5, 7, 10, 15 ... and of their tenths, hundredths."""
    power = 10.0 ** math.floor(math.log10(value))
    return round(next(power * step for step in (1, 1.5, 2, 3, 5, 7, 10) if value <= power * step * (1 + 1e-9)), 9)


def _line(name: str, line: list[tuple[float, int]], shape: str, dash: str, colour: str) -> Spec:
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": [round(x, 4) for x, _ in line],
        "y": [y for _, y in line], "line": {"shape": shape, "color": colour, "width": 2.2, "dash": dash},
        "hoverinfo": "text", "hovertext": [
            f"{escape(name)}: {y} token{'' if y == 1 else 's'} after {x:.2f} s of its own time" for x, y in line
        ],
    }  # fmt: skip


def _label(name: str, end: tuple[float, int], fastest: bool, low: bool, theme: str) -> Spec:
    """Name and speed to the right of a line's end: the fastest lane's above its end, the other's below."""
    rate = f"<br>{_rate(end):.1f} tok/s" if end[1] and (fastest or not low) else ""
    return {
        "text": f"<b>{escape(shorten(name, 20))}</b>{rate}", "x": end[0], "y": end[1], "showarrow": False,
        "xanchor": "left", "yanchor": "bottom" if fastest else "middle" if low else "top", "align": "left",
        "xshift": 3, "yshift": 3 if fastest else 0, "font": {"size": 10, "color": palette(theme).ink},
    }  # fmt: skip


def _layout(theme: str, seconds: float, tokens: float) -> Spec:
    colours = palette(theme)
    axis = {
        "fixedrange": True, "autorange": False, "showgrid": False, "zeroline": False, "showline": True,
        "linecolor": colours.quiet, "ticks": "outside", "ticklen": 3, "tickcolor": colours.quiet,
        "tickfont": {"size": 10, "color": colours.muted}, "nticks": 6,
    }  # fmt: skip
    title = {"font": {"size": 10.5, "color": colours.muted}, "standoff": 4}
    return {
        **canvas.layout(theme, 11),
        "height": 150, "uirevision": "throughput", "margin": {"l": 44, "r": 4, "t": 30, "b": 34},
        "xaxis": {**axis, "range": [0, seconds], "title": {**title, "text": "own time, s"}},
        "yaxis": {**axis, "range": [0, tokens], "title": {**title, "text": "tokens"}},
    }  # fmt: skip
