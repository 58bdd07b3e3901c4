"""Where the nodes of a draft tree stand: columns by depth, rows by a tidy packing that depends on the tree alone."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recap.trace import Step

if TYPE_CHECKING:
    import networkx as nx

Point = tuple[float, float]
"""Across, down: column and row, or pixels and row."""
_QUARTER = tuple((math.sin(part * math.pi / 8), 1 - math.cos(part * math.pi / 8)) for part in range(5))
"""A quarter of a circle: how far across and how far down, each 0 to 1."""


@dataclass(frozen=True)
class Layout:
    """Grid places. A node's column is its depth; no two nodes share a place and no two edges cross."""

    rows: tuple[int, ...]
    """Row of each packed node, the root in row 0."""
    height: int
    """Rows in use."""
    columns: int
    """Depth of the deepest node + 1."""


def graph(step: Step) -> nx.DiGraph:
    """The draft tree with one vertex per packed node; children are in pack order."""
    import networkx as nx  # a quarter of a second, which the start of the app need not take

    tree = nx.DiGraph()
    tree.add_nodes_from(range(len(step)))
    tree.add_edges_from((parent, node) for node, parent in enumerate(step.parents) if parent >= 0)
    return tree


def tidy(step: Step) -> Layout:
    """First children stand in line with their parents, later ones below, each as high as what is above it allows.

    The candidate that the draft rated best is thus a straight line from the root, and the same tree always looks the
    same, whatever the target said of it.
    """
    import networkx as nx

    tree = graph(step)
    below: dict[int, int] = {}
    contours: dict[int, list[tuple[int, int]]] = {}  # per level under a node: first and last row, relative to the node
    for node in nx.dfs_postorder_nodes(tree, 0):
        levels: list[tuple[int, int]] = []
        for child in tree.successors(node):
            under = contours.pop(child)
            shift = max((last - first + 1 for (_, last), (first, _) in zip(levels, under)), default=0)
            below[child] = shift
            moved = [(first + shift, last + shift) for first, last in under]
            levels = [
                *((first, last) for (first, _), (_, last) in zip(levels, moved)),
                *(levels[len(moved) :] or moved[len(levels) :]),
            ]
        contours[node] = [(0, 0), *levels]
    rows = [0] * len(step)
    for parent, node in nx.dfs_edges(tree, 0):
        rows[node] = rows[parent] + below[node]
    return Layout(tuple(rows), max(rows) + 1, max(step.depths) + 1)


def free_row(step: Step, layout: Layout, node: int, span: int, near: int = 0) -> int:
    """The row nearest to `node` where the `span` places to the right of it are free, as are those `near` rows above
    and below; above the root there always is one."""
    taken = {(depth, row) for depth, row in zip(step.depths, layout.rows)}
    columns = range(step.depths[node] + 1, step.depths[node] + 1 + span)
    free = (
        row for row in range(-1 - near, layout.height + 1)
        if not any((column, row + by) in taken for column in columns for by in range(-near, near + 1))
    )  # fmt: skip
    return min(free, key=lambda row: (abs(row - layout.rows[node]), row))


def polyline(
    ends: Iterable[tuple[Point, Point, float, float]], corner: Point
) -> tuple[list[float | None], list[float | None]]:
    """Every edge leaves and arrives level and turns once, with round corners, between two columns.

    An edge is where it comes from, where it goes to, how far right of its start the line begins, and where it turns;
    `corner` is the size of a corner, across and down. The result is all x and all y, None between two edges.
    """
    across, down = corner
    xs: list[float | None] = []
    ys: list[float | None] = []
    for (x, y), (to_x, to_y), begin, turn in ends:
        xs.append(round(x + begin, 3))
        ys.append(y)
        if y != to_y:
            way = min(down, abs(to_y - y) / 2) * (1 if to_y > y else -1)
            xs += [round(turn - across * (1 - right), 3) for right, _ in _QUARTER]
            ys += [round(y + way * under, 3) for _, under in _QUARTER]
            xs += [round(turn + across * (1 - right), 3) for right, _ in reversed(_QUARTER)]
            ys += [round(to_y - way * under, 3) for _, under in reversed(_QUARTER)]
        xs += [to_x, None]
        ys += [to_y, None]
    return xs, ys
