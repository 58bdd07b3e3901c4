"""How long inputs take: for each method the share of inputs that are answered within a time (Figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from . import canvas
from .canvas import Spec
from .contenders import looks
from .text import escape, shorten
from .theme import palette


def figure(seconds: Mapping[str, Sequence[float]], theme: str = "light") -> go.Figure:
    """What `spec` describes. Raises ValueError for a theme that is neither light nor dark."""
    return canvas.figure(spec(seconds, theme))


def steps(seconds: Sequence[float]) -> tuple[list[float], list[float]]:
    """(times, shares): after each time, in order, which share of all has ended. It begins with (0, 0)."""
    ordered = sorted(seconds)
    return [0.0, *ordered], [number / len(ordered) for number in range(len(ordered) + 1)]


def spec(seconds: Mapping[str, Sequence[float]], theme: str = "light") -> Spec:
    """A staircase per name; further left is faster. Made for 340 pixels and wider."""
    colours, look = palette(theme), looks(list(seconds), theme)
    axis = {
        "fixedrange": True, "zeroline": False, "showline": True, "linecolor": colours.quiet, "gridcolor": colours.quiet,
        "griddash": "dot", "gridwidth": 0.5, "tickfont": {"size": 11, "color": colours.muted},
    }  # fmt: skip
    title = {"font": {"size": 11.5}, "standoff": 6}
    most = max((max(times) for times in seconds.values() if times), default=1.0)
    layout = {
        **canvas.layout(theme, 12),
        "height": 360 + 12 * len(seconds), "margin": {"l": 48, "r": 12, "t": 8, "b": 44}, "showlegend": True,
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "font": {"size": 11.5}},
        "xaxis": {**axis, "range": [0, 1.02 * most], "title": {**title, "text": "seconds per input"}},
        "yaxis": {**axis, "range": [0, 1.02], "tickformat": ".0%", "title": {**title, "text": "inputs answered"}},
    }  # fmt: skip
    data = []
    for name, times in seconds.items():
        if not times:
            continue
        x, y = steps(times)
        data.append({
            "type": "scatter", "mode": "lines", "name": escape(shorten(name, 30)), "x": x, "y": y,
            "line": {"shape": "hv", "color": look[name].colour, "dash": look[name].dash, "width": 2},
            "hoverinfo": "text",
            "hovertext": [f"{escape(name)}: {share:.0%} within {time:.2f} s" for time, share in zip(x, y)],
        })  # fmt: skip
    return {"data": data, "layout": layout}
