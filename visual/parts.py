"""Where the time goes: milliseconds per token of each method, in parts."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from . import canvas
from .canvas import Spec
from .text import escape, shorten
from .theme import COLOURS, palette

FILLS = {
    "encode": (COLOURS["U"], ""), "prefill": (COLOURS["bonus"], "/"), "draft": (COLOURS["suffix"], "x"),
    "verify": (COLOURS["G"], ""), "update": (COLOURS["C"], "."), "other": ("#8a94a1", "-"),
}  # fmt: skip
"""Colour and pattern of each part, in the order in which they happen."""
ROW, FRAME = 26, 92


def figure(parts: Mapping[str, Mapping[str, float]], theme: str = "light") -> go.Figure:
    """What `spec` describes. Raises ValueError for a theme that is neither light nor dark."""
    return canvas.figure(spec(parts, theme))


def spec(parts: Mapping[str, Mapping[str, float]], theme: str = "light") -> Spec:
    """A bar per name, from the top, stacked of its parts in the order of FILLS. Made for 340 pixels and wider."""
    colours = palette(theme)
    places = list(range(len(parts)))
    data = [
        {
            "type": "bar", "orientation": "h", "name": part, "y": places,
            "x": [spent.get(part, 0.0) for spent in parts.values()],
            "marker": {
                "color": colour, "line": {"width": 0.5, "color": colours.background},
                "pattern": {
                    "shape": pattern, "size": 6, "solidity": 0.2, "fillmode": "overlay", "fgcolor": colours.background,
                },
            },
            "hoverinfo": "text",
            "hovertext": [
                f"{escape(name)}: {part} {spent.get(part, 0.0):.2f} ms per token" for name, spent in parts.items()
            ],
        }
        for part, (colour, pattern) in FILLS.items()
    ]  # fmt: skip
    axis = {"fixedrange": True, "zeroline": False, "linecolor": colours.quiet}
    layout = {
        **canvas.layout(theme, 12),
        "height": ROW * len(parts) + FRAME, "margin": {"l": 10, "r": 12, "t": 8, "b": 44}, "barmode": "stack",
        "bargap": 0.25, "showlegend": True,
        "legend": {
            "orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11.5}, "traceorder": "normal",
        },
        "xaxis": {
            **axis, "showline": True, "gridcolor": colours.quiet, "griddash": "dot", "gridwidth": 0.5, "nticks": 6, "tickangle": 0,
            "tickfont": {"size": 11, "color": colours.muted}, "rangemode": "tozero",
            "title": {"text": "milliseconds per token", "font": {"size": 11.5}, "standoff": 6},
        },
        "yaxis": {
            **axis, "range": [len(parts) - 0.5, -0.5], "tickvals": places, "automargin": True, "showgrid": False,
            "ticktext": [escape(shorten(name, 22)) for name in parts], "tickfont": {"size": 11.5, "color": colours.ink},
        },
    }  # fmt: skip
    return {"data": data, "layout": layout}
