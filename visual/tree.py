"""The draft tree of one pass: who proposed what, the path the target accepted, and what it said instead."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from recap.trace import Step

from . import canvas, hover, knowledge, layout, reasons
from .canvas import Spec
from .layout import Point
from .text import breadth as letters
from .text import label, shorten, visible
from .theme import COLOURS, letter_on, mix, palette

SHAPES = {"root": "diamond", "suffix": "square", "G": "circle", "C": "circle", "U": "circle", "draft": "hexagon"}
LETTERS = {"root": "", "suffix": "S", "G": "G", "C": "C", "U": "U", "draft": "D"}
WIDTHS = ((0.05, 2.8), (0.005, 1.7), (0.0, 1.0))
"""Least score of a refused node and the width of the edge to it, pixels; the accepted path has a width of its own."""


@dataclass(frozen=True)
class Look:
    """Sizes of one way to draw a tree. Pixels unless said."""

    row: int
    """Pitch of rows."""
    column: int
    """Least pitch of columns: narrower pages scroll sideways."""
    widest: int
    """Pitch of columns beyond which a page gains nothing."""
    top: float
    """Room above the root's row, rows."""
    bottom: float
    """Room below the last row, rows."""
    aside: float
    """Room right of the deepest column for the model's own choice, columns."""
    turn: float
    """Where edges turn, columns right of where they start."""
    corner: Point
    """Size of an edge's corners, columns and rows."""
    path: float
    """Width of the accepted path."""


ROOMY = Look(31, 70, 112, top=2.1, bottom=1.6, aside=2.4, turn=0.48, corner=(0.16, 0.16), path=4.5)
"""Tokens stand above their nodes."""
DENSE = Look(15, 70, 88, top=1.8, bottom=0.8, aside=3.1, turn=0.86, corner=(0.055, 0.3), path=3.5)
"""Tokens stand to the right of their nodes and edges begin where the token ends, so that rows can be close."""
ROW, COLUMN = ROOMY.row, ROOMY.column
LEAST_ROW, FRAME = 11, 485
"""Dense: rows give way, down to 11 pixels, so that the tree fits a frame of 500 pixels with a scroll bar."""
LEFT = 0.6
"""Room left of the root, columns."""
GAP, LETTER, BOLD = 10, 5.3, 6.1
"""Dense: from a node's middle to its token, and the mean width of a letter, plain and bold. Pixels."""
LONGEST_TOKEN = 7.5
"""Dense: letters of a token."""


def figure(step: Step, theme: str = "light", selected: int | None = None, dense: bool = False) -> go.Figure:
    """The draft tree of a pass, one picture that fits any page.

    `layout.meta` says which size suits it: `row` and `column` (pixels), `widest` (the largest useful column, pixels),
    `rows`, `columns`, `dense`, and where the accepted path ends (`focus`: column, row). `selected` is the node that
    gets a ring (-1 for the model's own choice); `dense` puts 68 nodes into a frame 500 pixels high. Raises ValueError
    for a theme that is neither light nor dark.
    """
    return canvas.figure(spec(step, theme, selected, dense))


def empty(sentence: str, theme: str = "light") -> go.Figure:
    """The same picture before there is a tree: a sentence in its middle."""
    return canvas.figure(empty_spec(sentence, theme))


def spec(
    step: Step, theme: str = "light", selected: int | None = None, dense: bool = False,
    places: layout.Layout | None = None,
) -> Spec:  # fmt: skip
    """What `figure` shows as plain lists and dicts, several times as fast. `places`: `layout.tidy(step)`, if known."""
    colours = palette(theme)
    places = places or layout.tidy(step)
    look = DENSE if dense else ROOMY
    row = _pitch(look, places.height)
    at: list[Point] = list(zip(step.depths, places.rows))
    refused = [node for node in range(len(step)) if not step.accepted[node]]
    kept = [0, *step.accepted_nodes]
    begins = [_begin(step, node) for node in range(len(step))] if dense else [0.0] * len(step)
    own = step.bonus
    end = reasons.end_of_path(step)
    spot = step.depths[end] + 1, layout.free_row(step, places, end, span=2)

    def edges(nodes: list[int]) -> list[tuple[Point, Point, float]]:
        return [(at[step.parents[node]], at[node], begins[step.parents[node]]) for node in nodes]

    data = [
        _lines(edges(some), look, colours.quiet, width, "refused branches") for width, some in _classes(step, refused)
    ]
    if dense:
        band = [(start, stop, 0.0) for start, stop, _ in edges(kept[1:])]
        data.append(_lines(band, look, mix(colours.ink, colours.background, 0.13), row - 2, "accepted band"))
    data.append(_lines(edges(kept[1:]), look, colours.ink, look.path, "accepted path"))
    link = [(at[end], spot, begins[end])] if own is not None else []
    data.append(_lines(link, look, COLOURS["bonus"], 3, "the model's own choice", "dot"))
    data.append(_selected(step, at, spot, selected, theme, row))
    data.append(_labels(step, at, refused, colours.muted, dense, "refused tokens"))
    data.append(_nodes(step, at, refused, theme, row, "refused"))
    data.append(_nodes(step, at, kept, theme, row, "accepted"))
    data.append(_labels(step, at, kept, colours.ink, dense, "accepted tokens"))
    data.append(_own(step, own, spot, theme, row))
    around = _layout(theme, look, row, places.columns, places.height)
    around["annotations"] = _words(step, own, spot, theme, dense)
    around["meta"]["focus"] = list(spot if own is not None else at[end])
    return {"data": data, "layout": around}


def empty_spec(sentence: str, theme: str = "light") -> Spec:
    """What `empty` shows as plain lists and dicts."""
    notes = [canvas.note(sentence, theme, 14, 44)]
    return {"data": [], "layout": {**_layout(theme, ROOMY, ROW, 0, 4), "annotations": notes}}


def _pitch(look: Look, rows: int) -> int:
    if look is ROOMY:
        return look.row
    return max(LEAST_ROW, min(look.row, int(FRAME / (rows - 1 + look.top + look.bottom))))


def _classes(step: Step, nodes: list[int]) -> list[tuple[float, list[int]]]:
    """Nodes by the width of the edge to them, thin edges first."""
    some: dict[float, list[int]] = {width: [] for _, width in reversed(WIDTHS)}
    for node in nodes:
        some[next(width for least, width in WIDTHS if step.scores[node] >= least)].append(node)
    return list(some.items())


def _begin(step: Step, node: int) -> float:
    """Dense: where edges leave a node, at the end of its token. Columns."""
    shown = shorten(visible(step.text(node)[:40]), LONGEST_TOKEN)
    wide = GAP + sum(map(letters, shown)) * (BOLD if step.accepted[node] else LETTER) + 2
    return round(min(wide / DENSE.column, DENSE.turn - DENSE.corner[0]), 3)


def _layout(theme: str, look: Look, row: int, columns: int, rows: int) -> Spec:
    axis = {"visible": False, "fixedrange": True, "autorange": False}
    across = max(columns - 1 + look.aside, 1)
    height = rows - 1 + look.top + look.bottom
    return {
        **canvas.layout(theme),
        "height": round(height * row),
        "xaxis": {**axis, "range": [-LEFT, across]},
        "yaxis": {**axis, "range": [rows - 1 + look.bottom, -look.top]},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "hoverdistance": 14,
        "uirevision": "tree",
        "meta": {
            "row": row, "column": look.column, "widest": look.widest, "columns": round(across + LEFT, 2),
            "rows": round(height, 2), "dense": look is DENSE,
        },
    }  # fmt: skip


def _lines(
    ends: list[tuple[Point, Point, float]], look: Look, colour: str, width: float, name: str, dash: str = "solid"
) -> Spec:
    xs, ys = layout.polyline(ends, look.turn, look.corner)
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys, "hoverinfo": "skip",
        "line": {"color": colour, "width": width, "dash": dash},
    }  # fmt: skip


def _labels(step: Step, at: list[Point], nodes: list[int], colour: str, dense: bool, name: str) -> Spec:
    accepted = name.startswith("accepted")
    aside, above = (GAP / DENSE.column - 0.03, 0.0) if dense else (0.0, 0.31 if accepted else 0.2)
    size = (11 if accepted else 10) if dense else (12 if accepted else 11)
    return {
        "type": "scatter", "mode": "text", "name": name, "hoverinfo": "skip",
        "textposition": "middle right" if dense else "top center",
        "x": [at[node][0] + aside for node in nodes], "y": [at[node][1] - above for node in nodes],
        "text": [label(step.text(node)[:40], LONGEST_TOKEN if dense else 9.5) for node in nodes],
        "customdata": nodes,
        "textfont": {
            "color": colour, "size": size, "weight": 700 if dense and accepted else 400,
            "shadow": "none" if dense else "auto",
        },
    }  # fmt: skip


def _nodes(step: Step, at: list[Point], nodes: list[int], theme: str, row: int, name: str) -> Spec:
    """Size follows the score. Accepted: filled, dark outline. Refused: a tint, grey outline."""
    colours = palette(theme)
    accepted = name == "accepted"
    sources = [knowledge.proposer(step, node) for node in nodes]
    plain = {"root": colours.ink, "draft": colours.muted}
    full = [plain.get(source) or COLOURS[source] for source in sources]
    fills = full if accepted else [mix(colour, colours.background, colours.tint) for colour in full]
    letter = min(10 if accepted else 9, row - 4)
    return {
        "type": "scatter", "mode": "markers+text", "name": name,
        "x": [at[node][0] for node in nodes], "y": [at[node][1] for node in nodes],
        "text": [LETTERS[source] for source in sources], "textposition": "middle center",
        "textfont": {"size": letter, "color": [letter_on(fill) for fill in fills]},
        "marker": {
            "symbol": [SHAPES[source] for source in sources], "color": fills, "opacity": 1,
            "size": [_size(step, node, row) for node in nodes],
            "line": {"color": colours.ink if accepted else colours.quiet, "width": 2 if accepted else 1},
        },
        "customdata": nodes, "hoverinfo": "text", "hovertext": [hover.node(step, node) for node in nodes],
    }  # fmt: skip


def _size(step: Step, node: int, row: int) -> float:
    """Diameter of a node, pixels: an accepted one is never small, and none reaches the next row."""
    wide = 15 if node == 0 else max(13 + 7 * min(step.scores[node], 1.0) ** 0.5, 18 if step.accepted[node] else 0)
    return round(min(wide, row - 2), 1)


def _selected(step: Step, at: list[Point], spot: Point, selected: int | None, theme: str, row: int) -> Spec:
    """A ring around one node; empty for None, for a node that is not there, and for no choice of the model's own."""
    there = selected is not None and (0 <= selected < len(step) or (selected == -1 and step.bonus is not None))
    x, y = (spot if selected == -1 else at[selected]) if there else (0, 0)
    return {
        "type": "scatter", "mode": "markers", "name": "selected", "x": [x] * there, "y": [y] * there,
        "hoverinfo": "skip",
        "marker": {
            "symbol": "circle", "size": min(25, row + 7), "color": palette(theme).background, "opacity": 1,
            "line": {"color": palette(theme).ink, "width": 2.5},
        },
    }  # fmt: skip


def _own(step: Step, own: int | None, spot: Point, theme: str, row: int) -> Spec:
    """The hollow node for a choice that no node held."""
    there = own is not None
    return {
        "type": "scatter", "mode": "markers", "name": "the model's own choice",
        "x": [spot[0]] * there, "y": [spot[1]] * there,
        "marker": {
            "symbol": "circle", "size": min(17, row - 2), "color": palette(theme).background, "opacity": 1,
            "line": {"color": COLOURS["bonus"], "width": 3.5 if row > 20 else 2.5},
        },
        "customdata": [-1] * there, "hoverinfo": "text", "hovertext": [hover.own(step)] * there,
    }  # fmt: skip


def _words(step: Step, own: int | None, spot: Point, theme: str, dense: bool) -> list[Spec]:
    """The token of that choice to its right, on the page's colour: edges may pass there, nodes do not."""
    if own is None:
        return []
    colours = palette(theme)
    token = f"<b>{label(step.table.text(own)[:40])}</b>"
    word = "instead" if step.children(reasons.end_of_path(step)) else "next"
    return [
        {
            "name": "the model's words", "showarrow": False, "captureevents": False, "align": "left",
            "x": spot[0], "y": spot[1], "xanchor": "left", "yanchor": "middle", "xshift": 9 if dense else 13,
            "borderpad": 0 if dense else 1,
            "text": f"the model said {token}" if dense else f"the model said<br>{token} {word}",
            "bgcolor": colours.background, "font": {"size": 10.5 if dense else 11.5, "color": colours.ink},
        }
    ]  # fmt: skip
