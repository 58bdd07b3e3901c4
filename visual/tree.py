"""The draft tree of one pass: who proposed what, the path the target accepted, and what it said instead."""

from __future__ import annotations

import plotly.graph_objects as go

from recap.trace import Step

from . import canvas, fit, hover, knowledge, layout, reasons, tokens
from .canvas import Spec
from .fit import ROOMY, Fit
from .layout import Point
from .text import escape, label, shorten, visible
from .theme import COLOURS, letter_on, mix, palette
from .tokens import Token

SHAPES = {"root": "diamond", "suffix": "square", "G": "circle", "C": "circle", "U": "circle", "draft": "hexagon"}
LETTERS = {"root": "", "suffix": "S", "G": "G", "C": "C", "U": "U", "draft": "D"}
WIDTHS = ((0.05, 2.8), (0.005, 1.7), (0.0, 1.0))
"""Least score of a refused node and the width of the edge to it, pixels; the accepted path has a width of its own."""


LEGIBLE = 10
"""Least pitch of rows, pixels, at which a node holds its proposer's letter; below it the pointer tells."""
ROW = ROOMY.row
"""Pitch of rows where tokens stand above their nodes, pixels."""


def figure(step: Step, theme: str = "light", selected: int | None = None, dense: bool = False) -> go.Figure:
    """The draft tree of a pass, one picture as large as its tokens need.

    `layout.meta` says how large: `wide`, `high` and `row`, the pitch of rows, in pixels. `selected` is the node that
    gets a ring (-1 for the model's own choice); `dense` puts 68 nodes into a frame 500 pixels high. Raises ValueError
    for a theme that is neither light nor dark.
    """
    return canvas.figure(spec(step, theme, selected, dense))


def empty(sentence: str, theme: str = "light") -> go.Figure:
    """The same picture before there is a tree: a sentence in its middle."""
    return canvas.figure(empty_spec(sentence, theme))


def spec(
    step: Step, theme: str = "light", selected: int | None = None, dense: bool = False,
    places: layout.Layout | None = None, room: tuple[float | None, float | None] | None = None,
) -> Spec:  # fmt: skip
    """What `figure` shows as plain lists and dicts, several times as fast. `places`: `layout.tidy(step)`, if known;
    `room`: width and height of the frame, which the tree then fits as well as readable tokens allow. x is in pixels,
    y in rows."""
    colours = palette(theme)
    places = places or layout.tidy(step)
    fitted = fit.fit(step, places, dense, room)
    look, row = fitted.look, fitted.row
    at: list[Point] = [(fitted.xs[depth], place) for depth, place in zip(step.depths, places.rows)]
    refused = [node for node in range(len(step)) if not step.accepted[node]]
    kept = [0, *step.accepted_nodes]
    own = step.bonus
    end = reasons.end_of_path(step)
    own_place = _own_place(step, places, fitted) if own is not None else None
    spot = (fitted.xs[own_place[0]], own_place[1]) if own_place else at[end]
    if dense:
        first = [*kept, *sorted(refused, key=lambda node: -step.scores[node])]
        written = tokens.written(step, places, fitted, own_place, first)
    else:
        written = [Token(shorten(visible(step.text(node)[:40]), fitted.letters)) for node in range(len(step))]
    begins = [_begin(fitted, step.depths[node], written[node]) for node in range(len(step))]

    def edges(nodes: list[int]) -> list[tuple[Point, Point, float, float]]:
        ends = [(step.parents[node], node) for node in nodes]
        return [(at[one], at[node], begins[one], fitted.turns[step.depths[one]]) for one, node in ends]

    def lines(ends: list, colour: str, width: float, name: str, dash: str = "solid") -> Spec:
        xs, ys = layout.polyline(ends, (look.corner, look.corner / row))
        return {
            "type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys, "hoverinfo": "skip",
            "line": {"color": colour, "width": width, "dash": dash},
        }  # fmt: skip

    data = [lines(edges(some), colours.quiet, width, "refused branches") for width, some in _classes(step, refused)]
    if dense:
        band = [(start, stop, 0.0, turn) for start, stop, _, turn in edges(kept[1:])]
        data.append(lines(band, mix(colours.ink, colours.background, 0.13), max(row - 2, 8), "accepted band"))
    data.append(lines(edges(kept[1:]), colours.ink, look.path, "accepted path"))
    link = [(at[end], spot, begins[end], fitted.turns[step.depths[end]])] if own is not None else []
    data.append(lines(link, COLOURS["bonus"], 3, "the model's own choice", "dot"))
    data.append(_selected(step, at, spot, selected, theme, row))
    data.append(_labels(at, refused, written, colours.muted, fitted, "refused tokens"))
    data.append(_nodes(step, at, refused, theme, row, "refused"))
    data.append(_nodes(step, at, kept, theme, row, "accepted"))
    data.append(_labels(at, kept, written, colours.ink, fitted, "accepted tokens"))
    data.append(_own(step, own, spot, theme, row))
    around = _layout(theme, fitted, places.height)
    around["annotations"] = _words(step, own, spot, theme, fitted)
    return {"data": data, "layout": around}


def fits(step: Step, places: layout.Layout, room: tuple[float | None, float]) -> bool:
    """Whether a frame, width (None: any) and height, holds all of a tree with the tokens above their nodes."""
    fitted = fit.fit(step, places, room=room)
    return fitted.high <= room[1] and (room[0] is None or fitted.wide <= room[0])


def empty_spec(sentence: str, theme: str = "light") -> Spec:
    """What `empty` shows as plain lists and dicts."""
    notes = [canvas.note(sentence, theme, 14, 44)]
    nothing = Fit(ROOMY, ROW, (), (), 0, 5 * ROW, 0, 0)
    return {"data": [], "layout": {**_layout(theme, nothing, 5), "annotations": notes}}


def _own_place(step: Step, places: layout.Layout, fitted: Fit) -> tuple[int, int]:
    """Column and row of the model's own choice: a stretch that its words have to themselves."""
    end = reasons.end_of_path(step)
    column = step.depths[end] + 1
    reach = fitted.xs[column] + fitted.own_end + fit.OWN
    span = sum(fitted.xs[column] <= x < reach for x in fitted.xs)
    return column, layout.free_row(step, places, end, span, fitted.near)


def _classes(step: Step, nodes: list[int]) -> list[tuple[float, list[int]]]:
    """Nodes by the width of the edge to them, thin edges first."""
    some: dict[float, list[int]] = {width: [] for _, width in reversed(WIDTHS)}
    for node in nodes:
        some[next(width for least, width in WIDTHS if step.scores[node] >= least)].append(node)
    return list(some.items())


def _begin(fitted: Fit, depth: int, token: Token) -> float:
    """Where edges leave a node, right of its middle: where its token ends, if that stands beside it."""
    if not token.wide or token.up:
        return 0.0
    return round(min(token.left + token.wide + 2, fitted.turns[depth] - fitted.look.corner) - fitted.xs[depth], 1)


def _layout(theme: str, fitted: Fit, rows: int) -> Spec:
    axis = {"visible": False, "fixedrange": True, "autorange": False}
    margin = fitted.look.margin / fitted.row
    return {
        **canvas.layout(theme),
        "height": fitted.high,
        "xaxis": {**axis, "range": [0, max(fitted.wide, 1)]},
        "yaxis": {**axis, "range": [rows - 1 + margin, -margin]},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "hoverdistance": 14,
        "uirevision": "tree",
        "meta": {"row": fitted.row, "wide": fitted.wide, "high": fitted.high, "dense": fitted.look.beside},
    }


def _labels(at: list[Point], nodes: list[int], written: list[Token], colour: str, fitted: Fit, name: str) -> Spec:
    accepted, look = name.startswith("accepted"), fitted.look
    # what stands above in the roomy look is lifted by 4 pixels where it is drawn
    xs = [written[node].left if look.beside else at[node][0] for node in nodes]
    up = [written[node].up if look.beside else look.gap - 4 for node in nodes]
    return {
        "type": "scatter", "mode": "text", "name": name, "hoverinfo": "skip",
        "textposition": "middle right" if look.beside else "top center",
        "x": [round(x, 1) for x in xs],
        "y": [round(at[node][1] - lift / fitted.row, 3) for node, lift in zip(nodes, up)],
        "text": [escape(written[node].text) for node in nodes],
        "customdata": nodes,
        "textfont": {
            "color": colour, "size": fitted.size(0 if accepted else 1),
            "weight": 700 if look.beside and accepted else 400, "shadow": "auto",
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
    letter = max(min(10 if accepted else 9, row - 4), 1)
    return {
        "type": "scatter", "mode": "markers+text", "name": name,
        "x": [at[node][0] for node in nodes], "y": [at[node][1] for node in nodes],
        "text": [LETTERS[source] if row >= LEGIBLE else "" for source in sources], "textposition": "middle center",
        "textfont": {"size": letter, "color": [letter_on(fill) for fill in fills]},
        "marker": {
            "symbol": [SHAPES[source] for source in sources], "color": fills, "opacity": 1,
            "size": [_size(step, node, row) for node in nodes],
            "line": {"color": colours.ink if accepted else colours.quiet, "width": 2 if accepted else 1},
        },
        "customdata": nodes, "hoverinfo": "text", "hovertext": [hover.node(step, node) for node in nodes],
    }  # fmt: skip


def _size(step: Step, node: int, row: int) -> float:
    """Diameter of a node, pixels: an accepted one is never small, and a refused one never reaches the next row."""
    wide = 15 if node == 0 else max(12 + 6 * min(step.scores[node], 1.0) ** 0.5, 17 if step.accepted[node] else 0)
    return round(min(wide, max(row - 2, 7) if step.accepted[node] else row - 1.5), 1)


def _selected(step: Step, at: list[Point], spot: Point, selected: int | None, theme: str, row: int) -> Spec:
    """A ring around one node; empty for None, for a node that is not there, and for no choice of the model's own."""
    there = selected is not None and (0 <= selected < len(step) or (selected == -1 and step.bonus is not None))
    x, y = (spot if selected == -1 else at[selected]) if there else (0, 0)
    return {
        "type": "scatter", "mode": "markers", "name": "selected", "x": [x] * there, "y": [y] * there,
        "hoverinfo": "skip",
        "marker": {
            "symbol": "circle", "size": min(23, row + 3), "color": "rgba(0,0,0,0)", "opacity": 1,
            "line": {"color": palette(theme).ink, "width": 2},
        },
    }  # fmt: skip


def _own(step: Step, own: int | None, spot: Point, theme: str, row: int) -> Spec:
    """The hollow node for a choice that no node held."""
    there = own is not None
    return {
        "type": "scatter", "mode": "markers", "name": "the model's own choice",
        "x": [spot[0]] * there, "y": [spot[1]] * there,
        "marker": {
            "symbol": "circle", "size": min(16, max(row - 2, 8)), "color": palette(theme).background, "opacity": 1,
            "line": {"color": COLOURS["bonus"], "width": 3.5 if row > 20 else 2.5},
        },
        "customdata": [-1] * there, "hoverinfo": "text", "hovertext": [hover.own(step)] * there,
    }  # fmt: skip


def _words(step: Step, own: int | None, spot: Point, theme: str, fitted: Fit) -> list[Spec]:
    """The token of that choice to its right, on the page's colour: edges may pass there, nodes and tokens do not."""
    if own is None:
        return []
    colours = palette(theme)
    token = label(step.table.text(own)[:40], fitted.look.letters[0])
    return [
        {
            "name": "the model's words", "showarrow": False, "captureevents": False, "align": "left",
            "x": spot[0], "y": spot[1], "xanchor": "left", "yanchor": "middle", "xshift": fit.OWN, "borderpad": 0,
            "text": f"{fit.SAID}<b>{token}</b>",
            "bgcolor": colours.background, "font": {"size": fitted.size(2), "color": colours.ink},
        }
    ]  # fmt: skip
