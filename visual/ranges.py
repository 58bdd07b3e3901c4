"""A value with a range for each of several methods, in groups: speedups with intervals, or their spread over inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from . import canvas
from .canvas import Spec
from .contenders import looks
from .text import escape, lines, shorten
from .theme import palette

ROW, HEAD, FRAME = 19, 24, 62
"""Heights in pixels: of a row, of a group's name, of what is around."""


class Range(NamedTuple):
    """A row: who, the value, where its range begins and ends (None: no range), and words behind it."""

    name: str
    value: float
    low: float | None
    high: float | None
    words: str = ""


def figure(groups: Mapping[str, Sequence[Range]], about: str, theme: str = "light") -> go.Figure:
    """What `spec` describes. Raises ValueError for a theme that is neither light nor dark."""
    return canvas.figure(spec(groups, about, theme))


def spec(groups: Mapping[str, Sequence[Range]], about: str, theme: str = "light") -> Spec:
    """A row per value below its group's name, from the top; a dashed line marks 1, parity with plain decoding.

    `about` names the axis. Made for 340 pixels and wider.
    """
    colours = palette(theme)
    names = list(dict.fromkeys(one.name for rows in groups.values() for one in rows))
    look = looks(names, theme)
    places: list[float] = []
    labels: list[str] = []
    heads: list[Spec] = []
    points: dict[str, list[tuple[float, str, Range]]] = {name: [] for name in names}
    at = 0.0
    for group, rows in groups.items():
        if group:
            heads.append(_head(group, at, theme))
            at += HEAD / ROW
        for one in rows:
            points[one.name].append((at, group, one))
            places.append(at)
            labels.append(escape(shorten(one.name, 22)))
            at += 1
    shown = [edge for kept in points.values() for _, _, one in kept for edge in (one.low, one.value, one.high)]
    ends = [edge for edge in shown if edge is not None]
    least, most = min([1.0, *ends]), max([1.0, *ends])
    room = 0.06 * (most - least) or 0.1
    axis = {
        "fixedrange": True, "zeroline": False, "tickfont": {"size": 11, "color": colours.muted}, "linecolor": colours.quiet,
    }  # fmt: skip
    layout = {
        **canvas.layout(theme, 12),
        "height": round(at * ROW + FRAME), "margin": {"l": 10, "r": 12, "t": 8, "b": 44},
        "xaxis": {
            **axis, "range": [least - room, most + room], "gridcolor": colours.quiet, "griddash": "dot", "gridwidth": 0.5,
            "showline": True, "nticks": 8, "title": {"text": escape(about), "font": {"size": 11.5}, "standoff": 6},
        },
        "yaxis": {
            **axis, "range": [at - 0.4, -0.8], "tickvals": places, "ticktext": labels, "automargin": True,
            "showgrid": False, "tickfont": {"size": 11.5, "color": colours.ink},
        },
        "annotations": heads,
        "shapes": [
            {
                "type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
                "line": {"color": colours.muted, "width": 1.2, "dash": "dash"},
            }
        ],
    }  # fmt: skip
    return {"data": [_trace(name, kept, look[name]) for name, kept in points.items()], "layout": layout}


def _trace(name: str, kept: list[tuple[float, str, Range]], look: tuple[str, str, str]) -> Spec:
    colour, _, symbol = look
    return {
        "type": "scatter", "mode": "markers", "name": escape(name),
        "x": [one.value for _, _, one in kept], "y": [at for at, _, _ in kept],
        "marker": {"color": colour, "symbol": symbol, "size": 9, "line": {"width": 1.5, "color": colour}},
        "error_x": {
            "type": "data", "symmetric": False, "color": colour, "thickness": 1.8, "width": 3,
            "array": [0.0 if one.high is None else one.high - one.value for _, _, one in kept],
            "arrayminus": [0.0 if one.low is None else one.value - one.low for _, _, one in kept],
        },
        "hoverinfo": "text", "hovertext": [_words(group, one) for _, group, one in kept],
    }  # fmt: skip


def _words(group: str, one: Range) -> str:
    where = f", {group}" if group else ""
    span = "" if one.low is None or one.high is None else f", {one.low:.2f} to {one.high:.2f}"
    return lines(f"{one.name}{where}: {one.value:.2f}{span}. {one.words}".strip())


def _head(group: str, at: float, theme: str) -> Spec:
    return {
        "text": f"<b>{escape(shorten(group, 34))}</b>", "x": 0, "xref": "paper", "xanchor": "left", "y": at,
        "yref": "y", "yanchor": "middle", "showarrow": False, "font": {"size": 12, "color": palette(theme).ink},
    }  # fmt: skip
