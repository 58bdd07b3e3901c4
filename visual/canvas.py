"""What every Plotly picture has in common: no frame, no legend, our fonts, hovers in the colours of the page."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from .text import lines
from .theme import FONT, palette

Spec = dict[str, Any]
"""A figure as plain JSON types: {"data": [...], "layout": {...}}."""


def layout(theme: str, size: float = 12) -> Spec:
    """The common part of a layout; `size` is that of its letters, pixels. Raises ValueError for an unknown theme."""
    colours = palette(theme)
    return {
        "autosize": True,
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": size, "color": colours.ink},
        "hoverlabel": {
            "bgcolor": colours.hover, "bordercolor": colours.quiet, "align": "left", "namelength": 0,
            "font": {"family": FONT, "size": 12, "color": colours.ink},
        },
    }  # fmt: skip


def note(sentence: str, theme: str, size: float, width: int, y: float = 0.5) -> Spec:
    """A sentence in the middle of a picture, where there is nothing to draw; `width` in letters."""
    return {
        "text": lines(sentence, width), "x": 0.5, "y": y, "xref": "paper", "yref": "paper", "showarrow": False,
        "font": {"size": size, "color": palette(theme).muted},
    }  # fmt: skip


def figure(plain: Spec) -> go.Figure:
    """The same as a Plotly figure that looks as it does on the page."""
    return go.Figure(plain["data"], {**plain["layout"], "template": "none"})
