"""Fusion weights: how much each memory counted where the draft looked rows up, in one pass and over the answer."""

from __future__ import annotations

import plotly.graph_objects as go

from recap.trace import MEMORY_NAMES, Step, Trace

from . import canvas
from .canvas import Spec
from .text import escape, quote
from .theme import COLOURS, letter_on, mix, palette

PAPER = {2: ((0.764, 0.236), 93_482), 3: ((0.693, 0.199, 0.108), 71_925)}
"""Table 17 of the paper, Qwen2.5-VL pooled: mean weights by rank, most specific row first, and calls averaged over."""
PATTERNS = {"G": "", "C": "/", "U": "."}
LEAST_BARS = 12
"""A pass with fewer calls keeps bars of this width."""
LEAST_LETTER = 0.13
"""Weight from which a part of a bar has room for its letter."""
NOTHING = "No candidate of this pass came from the memories, so there are no weights."
NOTHING_YET = "No candidate came from the memories so far, so there are no weights yet."


def figure(trace: Trace, index: int, theme: str = "light") -> go.Figure:
    """What `spec` describes. Raises ValueError for a theme that is neither light nor dark."""
    return canvas.figure(spec(trace, index, theme))


def spec(trace: Trace, index: int, theme: str = "light") -> Spec:
    """Above, a bar per fusion call of the pass steps[index]; below, averages up to there beside the paper's.

    Drawn for about 280 x 190 pixels. `customdata` of a bar is the node whose context was looked up. Raises IndexError
    for a step the trace does not have.
    """
    step = trace.steps[index]
    asked = calls(step)
    means = averages(trace, index)
    around = _layout(theme, max(len(asked), LEAST_BARS))
    if not asked and not means:
        return {"data": [], "layout": {**around, "annotations": [canvas.note(NOTHING_YET, theme, 12, 36)]}}
    notes = [_heading("This pass: weight of G, C, U, a bar per lookup", 1.0, theme)]
    if not asked:
        notes.append(canvas.note(NOTHING, theme, 11, 36, y=0.78))
    notes.append(_heading("So far: mean weights, most specific row first", 0.45, theme))
    data = [_bars(step, asked, at, theme) for at in range(3)] if asked else []
    rows = _rows(means)
    data += [_shares(rows, rank, theme) for rank in range(3)]
    notes += [
        {
            "text": name, "x": 0.25, "y": at, "xref": "paper", "yref": "y2", "xanchor": "right", "yanchor": "middle",
            "showarrow": False, "font": {"size": 10, "color": palette(theme).muted},
        } for at, (name, _, _) in enumerate(rows)
    ]  # fmt: skip
    return {"data": data, "layout": {**around, "annotations": notes}}


def calls(step: Step) -> dict[int, list[float]]:
    """Weights of G, C, U by the node whose context was looked up, in pack order. A call none of whose candidates
    entered the tree left no weights and is not counted; other methods mix nothing."""
    found: dict[int, list[float]] = {}
    for parent, weights in zip(step.parents, step.weights):
        if parent not in found and any(weights):  # all zero for the root, for suffix nodes and for other methods
            found[parent] = weights
    return found


def averages(trace: Trace, until: int) -> dict[int, tuple[tuple[float, ...], int]]:
    """Mean weights by rank, most specific row first, and how many calls: {2: ((w1, w2), calls), 3: ...}.

    Over all calls of steps[0] to steps[until] that mixed two rows, and those that mixed three; a kind that did not
    occur is left out. A single row always has weight 1 and says nothing.
    """
    sums = {2: [0.0] * 2, 3: [0.0] * 3}
    count = {2: 0, 3: 0}
    for step in trace.steps[: until + 1]:
        for g, c, u in calls(step).values():
            if g and c and u:
                mean, mixed = sums[3], (g, c, u)
            elif (g and c) or (g and u) or (c and u):
                mean, mixed = sums[2], (g or c, u or c)
            else:
                continue
            count[len(mixed)] += 1
            for rank, weight in enumerate(mixed):
                mean[rank] += weight
    return {rows: (tuple(s / count[rows] for s in sums[rows]), count[rows]) for rows in (2, 3) if count[rows]}


def _rows(means: dict[int, tuple[tuple[float, ...], int]]) -> list[tuple[str, tuple[float, ...], int]]:
    """The four lines of the lower part: name, mean weights by rank, calls."""
    rows = []
    for number, name in ((2, "2 rows"), (3, "3 rows")):
        mean, count = means.get(number, ((), 0))
        rows += [(f"{name}, here", mean, count), ("the paper", *PAPER[number])]
    return rows


def _bars(step: Step, asked: dict[int, list[float]], at: int, theme: str) -> Spec:
    name = MEMORY_NAMES[at]
    colours = palette(theme)
    return {
        "type": "bar", "name": name, "x": list(range(len(asked))), "y": [weights[at] for weights in asked.values()],
        "text": [name if weights[at] >= LEAST_LETTER else "" for weights in asked.values()],
        "textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "constraintext": "none",
        "insidetextfont": {"size": 8, "color": letter_on(COLOURS[name])},
        "marker": {
            "color": COLOURS[name], "line": {"width": 0.5, "color": colours.background},
            "pattern": {
                "shape": PATTERNS[name], "size": 5, "solidity": 0.15, "fillmode": "overlay", "fgopacity": 0.35,
                "fgcolor": letter_on(COLOURS[name]),
            },
        },
        "customdata": list(asked), "hoverinfo": "text",
        "hovertext": [_call(step, node, weights) for node, weights in asked.items()],
    }  # fmt: skip


def _call(step: Step, node: int, weights: list[float]) -> str:
    found = " · ".join(f"{name} {weight:.2f}" for name, weight in zip(MEMORY_NAMES, weights) if weight > 0)
    alone = " (the only row found)" if sum(weight > 0 for weight in weights) == 1 else ""
    return f"after {escape(quote(step.text(node)[:60], 24))}<br>{found}{alone}"


def _shares(rows: list[tuple[str, tuple[float, ...], int]], rank: int, theme: str) -> Spec:
    colours = palette(theme)
    fill = mix(colours.ink, colours.background, (0.82, 0.42, 0.16)[rank])
    there = [(at, name, mean, count) for at, (name, mean, count) in enumerate(rows) if rank < len(mean)]
    return {
        "type": "bar", "orientation": "h", "name": f"rank {rank + 1}", "xaxis": "x2", "yaxis": "y2", "width": 0.8,
        "y": [at for at, _, _, _ in there], "x": [mean[rank] for _, _, mean, _ in there],
        "text": [f"{mean[rank]:.2f}" for _, _, mean, _ in there],
        "textposition": "inside", "insidetextanchor": "middle", "textangle": 0, "constraintext": "none",
        "insidetextfont": {"size": 9.5, "color": letter_on(fill)},
        "marker": {"color": fill, "line": {"width": 1, "color": colours.background}},
        "hoverinfo": "text",
        "hovertext": [
            f"{name}: {('most', 'second most', 'third most')[rank]} specific row<br>"
            f"{mean[rank]:.3f} in the mean of {count:,} lookup{'' if count == 1 else 's'}"
            for _, name, mean, count in there
        ],
    }  # fmt: skip


def _heading(sentence: str, y: float, theme: str) -> Spec:
    return {
        "text": sentence, "x": 0, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom",
        "yshift": 1, "showarrow": False, "font": {"size": 10.5, "color": palette(theme).ink},
    }  # fmt: skip


def _layout(theme: str, bars: int) -> Spec:
    axis = {"fixedrange": True, "showgrid": False, "zeroline": False, "showticklabels": False, "ticks": ""}
    return {
        **canvas.layout(theme, 11),
        "barmode": "stack", "bargap": 0.12, "height": 190, "margin": {"l": 4, "r": 4, "t": 18, "b": 2},
        "uirevision": "weights",
        "xaxis": {**axis, "range": [-0.5, bars - 0.5], "domain": [0, 1], "anchor": "y"},
        "yaxis": {**axis, "range": [0, 1], "domain": [0.56, 1], "anchor": "x"},
        "xaxis2": {**axis, "range": [0, 1], "domain": [0.265, 1], "anchor": "y2"},
        "yaxis2": {**axis, "range": [3.5, -0.5], "domain": [0, 0.45], "anchor": "x2"},
    }  # fmt: skip
