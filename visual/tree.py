"""The draft tree of one pass: who proposed what, the path the target accepted, and what it said instead."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import plotly.graph_objects as go

from recap.trace import MEMORY_NAMES, Step

from . import layout, reasons
from .text import escape, label, lines, quote, visible
from .theme import COLOURS, FONT, letter_on, mix, palette

ROW = 31
"""Height of a row, pixels."""
COLUMN = 70
"""Least width of a column, pixels: narrower pages scroll sideways."""
TOP, BOTTOM, LEFT = 2.1, 1.6, 0.6
"""Room above the root's row, below the last row (rows) and left of the root (columns)."""
ASIDE = 2.4
"""Room right of the deepest column for the model's own choice, columns."""
SHAPES = {"root": "diamond", "suffix": "square", "G": "circle", "C": "circle", "U": "circle"}
LETTERS = {"root": "", "suffix": "S", "G": "G", "C": "C", "U": "U"}

Spec = dict[str, Any]


def figure(step: Step, theme: str = "light") -> go.Figure:
    """The draft tree of a pass, one picture that fits any page.

    `layout.meta` says which size suits it: `row` and `column` (pixels), `rows`, `columns`, and where the accepted path
    ends (`focus`: column, row). Raises ValueError for a theme that is neither light nor dark.
    """
    return _figure(spec(step, theme))


def empty(sentence: str, theme: str = "light") -> go.Figure:
    """The same picture before there is a tree: a sentence in its middle."""
    return _figure(empty_spec(sentence, theme))


def _figure(plain: Spec) -> go.Figure:
    return go.Figure(plain["data"], {**plain["layout"], "template": "none"})


def spec(step: Step, theme: str = "light") -> Spec:
    """What `figure` shows as plain lists and dicts, several times as fast: {"data": [...], "layout": {...}}."""
    colours = palette(theme)
    places = layout.tidy(step)
    at = list(zip(step.depths, places.rows))
    nodes = range(len(step))
    refused, kept = [n for n in nodes if not step.accepted[n]], [n for n in nodes if step.accepted[n]]

    data = [
        _edges([(at[step.parents[n]], at[n]) for n in refused], colours.quiet, 1.2, "refused branches"),
        _edges([(at[step.parents[n]], at[n]) for n in kept if n], colours.ink, 4.5, "accepted path"),
    ]
    own = step.bonus
    spot = _own_spot(step, places)
    link = [(at[reasons.end_of_path(step)], spot)] if own is not None else []
    data.append(_edges(link, COLOURS["bonus"], 3, "the model's own choice", "dot"))
    data.append(_labels(step, at, refused, colours.muted, 11, 0.2, "refused tokens"))
    data.append(_nodes(step, at, refused, theme, "refused"))
    data.append(_nodes(step, at, kept, theme, "accepted"))
    data.append(_labels(step, at, kept, colours.ink, 12, 0.31, "accepted tokens"))
    data.append(_own(step, own, spot, theme))
    around = _layout(theme, places.columns, places.height)
    around["annotations"] = _words(step, own, spot, theme)
    around["meta"]["focus"] = list(spot if own is not None else at[reasons.end_of_path(step)])
    return {"data": data, "layout": around}


def empty_spec(sentence: str, theme: str = "light") -> Spec:
    """What `empty` shows as plain lists and dicts."""
    note = {
        "text": lines(sentence, 44), "x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False,
        "font": {"size": 14, "color": palette(theme).muted},
    }  # fmt: skip
    return {"data": [], "layout": {**_layout(theme, 0, 4), "annotations": [note]}}


def _layout(theme: str, columns: int, rows: int) -> Spec:
    colours = palette(theme)
    axis = {"visible": False, "fixedrange": True, "autorange": False}
    across = max(columns - 1 + ASIDE, 1)
    return {
        "height": round((rows - 1 + TOP + BOTTOM) * ROW),
        "xaxis": {**axis, "range": [-LEFT, across]},
        "yaxis": {**axis, "range": [rows - 1 + BOTTOM, -TOP]},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "autosize": True,
        "showlegend": False,
        "hovermode": "closest",
        "hoverdistance": 14,
        "dragmode": False,
        "uirevision": "tree",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": colours.ink},
        "hoverlabel": {
            "bgcolor": colours.hover, "bordercolor": colours.quiet, "align": "left", "namelength": 0,
            "font": {"family": FONT, "size": 12, "color": colours.ink},
        },
        "meta": {"row": ROW, "column": COLUMN, "columns": round(across + LEFT, 2), "rows": rows - 1 + TOP + BOTTOM},
    }  # fmt: skip


Point = tuple[float, float]
TURN, CORNER = 0.48, 0.16
_CORNER = tuple((math.sin(part * math.pi / 8), 1 - math.cos(part * math.pi / 8)) for part in range(5))
"""A quarter of a circle: how far across and how far down, each 0 to 1."""


def _edges(ends: Iterable[tuple[Point, Point]], colour: str, width: float, name: str, dash: str = "solid") -> Spec:
    """Every edge leaves and arrives level and turns halfway between two columns, where no label stands."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for (x, y), (to_x, to_y) in ends:
        xs.append(x)
        ys.append(y)
        if y != to_y:
            down = 1 if to_y > y else -1
            for across, climb in _CORNER:
                xs.append(round(x + TURN - CORNER * (1 - across), 3))
                ys.append(round(y + down * CORNER * climb, 3))
            for across, climb in reversed(_CORNER):
                xs.append(round(x + TURN + CORNER * (1 - across), 3))
                ys.append(round(to_y - down * CORNER * climb, 3))
        xs += [to_x, None]
        ys += [to_y, None]
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys, "hoverinfo": "skip",
        "line": {"color": colour, "width": width, "dash": dash},
    }  # fmt: skip


def _labels(
    step: Step, at: list[tuple[int, int]], nodes: list[int], colour: str, size: float, above: float, name: str
) -> Spec:
    return {
        "type": "scatter", "mode": "text", "name": name, "hoverinfo": "skip", "textposition": "top center",
        "x": [at[node][0] for node in nodes], "y": [at[node][1] - above for node in nodes],
        "text": [label(step.text(node)) for node in nodes],
        "textfont": {"color": colour, "size": size, "shadow": "auto"},
    }  # fmt: skip


def _nodes(step: Step, at: list[tuple[int, int]], nodes: list[int], theme: str, name: str) -> Spec:
    """Size follows the score. Accepted: filled, dark outline. Refused: a tint, grey outline."""
    colours = palette(theme)
    accepted = name == "accepted"
    sources = [reasons.source(step, node) for node in nodes]
    full = [COLOURS.get(source, colours.ink) for source in sources]
    fills = full if accepted else [mix(colour, colours.background, colours.tint) for colour in full]
    return {
        "type": "scatter", "mode": "markers+text", "name": name,
        "x": [at[node][0] for node in nodes], "y": [at[node][1] for node in nodes],
        "text": [LETTERS[source] for source in sources], "textposition": "middle center",
        "textfont": {"size": 10 if accepted else 9, "color": [letter_on(fill) for fill in fills]},
        "marker": {
            "symbol": [SHAPES[source] for source in sources], "color": fills, "opacity": 1,
            "size": [_size(step.scores[node], accepted) if node else 15 for node in nodes],
            "line": {"color": colours.ink if accepted else colours.quiet, "width": 2 if accepted else 1},
        },
        "customdata": nodes, "hoverinfo": "text", "hovertext": [_hover(step, node) for node in nodes],
    }  # fmt: skip


def _size(score: float, accepted: bool) -> float:
    return round(max(13 + 7 * min(score, 1.0) ** 0.5, 18 if accepted else 0), 1)


def _own_spot(step: Step, places: layout.Layout) -> tuple[int, int]:
    end = reasons.end_of_path(step)
    return step.depths[end] + 1, layout.free_row(step, places, end, span=2)


def _own(step: Step, own: int | None, spot: tuple[int, int], theme: str) -> Spec:
    """The hollow node for a choice that no node held."""
    there = own is not None
    token = step.table.text(own) if there else ""
    return {
        "type": "scatter", "mode": "markers", "name": "the model's own choice",
        "x": [spot[0]] * there, "y": [spot[1]] * there,
        "marker": {
            "symbol": "circle", "size": 17, "color": palette(theme).background, "opacity": 1,
            "line": {"color": COLOURS["bonus"], "width": 3.5},
        },
        "customdata": [-1] * there, "hoverinfo": "text",
        "hovertext": [f"<b>{escape(visible(token))}</b><br>{lines(reasons.said_instead(step))}"] * there,
    }  # fmt: skip


def _words(step: Step, own: int | None, spot: tuple[int, int], theme: str) -> list[Spec]:
    """The token of that choice to its right, on the page's colour: edges may pass there, nodes do not."""
    if own is None:
        return []
    colours = palette(theme)
    word = "instead" if step.children(reasons.end_of_path(step)) else "next"
    return [
        {
            "name": "the model's words", "showarrow": False, "captureevents": False, "align": "left",
            "x": spot[0], "y": spot[1], "xanchor": "left", "yanchor": "middle", "xshift": 13, "borderpad": 1,
            "text": f"the model said<br><b>{label(step.table.text(own))}</b> {word}",
            "bgcolor": colours.background, "font": {"size": 11.5, "color": colours.ink},
        }
    ]  # fmt: skip


def _hover(step: Step, node: int) -> str:
    """Everything known of a node, one fact a line; all text escaped."""
    parts = [f"<b>{lines(visible(step.text(node)))}</b>"]
    if step.origins[node] == "memory":
        weights, shares = step.weights[node], step.shares[node]
        found = [at for at, weight in enumerate(weights) if weight > 0]
        parts.append(f"score {_score(step.scores[node])}, depth {step.depths[node]}")
        parts.append("weights " + " · ".join(f"{MEMORY_NAMES[at]} {weights[at]:.2f}" for at in found))
        parts.append("shares " + " · ".join(f"{MEMORY_NAMES[at]} {shares[at]:.0%}" for at in found))
    elif step.origins[node] == "suffix":
        parts.append(f"from the suffix path: it followed earlier<br>in this text; no score, depth {step.depths[node]}")
    parts.append(lines(_chosen(step, node)))
    parts.append(lines(reasons.why(step, node)))
    return "<br>".join(part for part in parts if part)


def _chosen(step: Step, node: int) -> str:
    said = step.choices[node]
    if said < 0:
        return ""
    row = step.table.rows[step.target[node]] if step.target[node] >= 0 else None
    sure = f" ({row.probs[row.ids.index(said)]:.0%})" if row and said in row.ids else ""
    return f"After it, the model says {quote(step.table.text(said))}{sure}."


def _score(score: float) -> str:
    return f"{score:.3f}" if score >= 0.001 else f"{score:.1e}"
