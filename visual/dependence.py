"""Who needs the picture: roots of passes by accepted drafts, how many change without it, how much they depend on it
(Figure 1, middle left)."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from recap.roots import Roots

from . import canvas
from .canvas import Spec
from .theme import COLOURS, palette

NOTHING = "No pass with candidates was looked at through the image lens."


def figure(groups: Sequence[Roots], theme: str = "light") -> go.Figure:
    """What `spec` describes. Raises ValueError for a theme that is neither light nor dark."""
    return canvas.figure(spec(groups, theme))


def spec(groups: Sequence[Roots], theme: str = "light") -> Spec:
    """A bar per group for the share of roots whose choice changes (left axis), a line for the mean dependence (right axis,
    nats). Made for 340 pixels and wider."""
    colours = palette(theme)
    base = {**canvas.layout(theme, 12), "height": 300, "margin": {"l": 52, "r": 52, "t": 30, "b": 44}}
    if not groups:
        return {"data": [], "layout": {**base, "annotations": [canvas.note(NOTHING, theme, 12, 36)]}}
    names = [f"{one.accepted} accepted<br>({one.roots:,} pass{'' if one.roots == 1 else 'es'})" for one in groups]
    told = [
        f"{one.accepted} drafts accepted: {one.changed:.0%} of {one.roots:,} choices change, dependence {one.dependence:.2f} nats"
        for one in groups
    ]
    axis = {"fixedrange": True, "zeroline": False, "tickfont": {"size": 11, "color": colours.muted}}
    title = {"font": {"size": 11.5}, "standoff": 6}
    least, most = min(0.0, *(one.dependence for one in groups)), max(0.1, *(one.dependence for one in groups))
    layout = {
        **base, "bargap": 0.45, "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11.5}},
        "xaxis": {**axis, "type": "category", "tickangle": 0, "linecolor": colours.quiet},
        "yaxis": {
            **axis, "range": [0, 1.15 * max(0.05, *(one.changed for one in groups))], "tickformat": ".0%", "gridcolor": colours.quiet,
            "griddash": "dot", "gridwidth": 0.5, "title": {**title, "text": "choices that change"},
        },
        "yaxis2": {
            **axis, "range": [1.15 * least, 1.15 * most], "overlaying": "y", "side": "right", "showgrid": False, "tickmode": "auto",
            "nticks": 5,
            "title": {**title, "text": "dependence, nats"},
        },
    }  # fmt: skip
    data = [
        {
            "type": "bar", "name": "choices that change", "x": names, "y": [one.changed for one in groups],
            "marker": {"color": COLOURS["G"], "line": {"width": 0.5, "color": colours.background}},
            "hoverinfo": "text", "hovertext": told,
        },
        {
            "type": "scatter", "mode": "lines+markers", "name": "dependence", "x": names, "yaxis": "y2",
            "y": [one.dependence for one in groups], "line": {"color": COLOURS["ar"], "width": 2, "dash": "dot"},
            "marker": {"size": 9, "symbol": "diamond", "color": COLOURS["ar"]}, "hoverinfo": "text", "hovertext": told,
        },
    ]  # fmt: skip
    return {"data": data, "layout": layout}
