"""Token recycling (Luo et al., 2025): a static tree of ranks, filled from what followed each token in predictions."""

from __future__ import annotations

from collections.abc import Sequence

from ..drafter import Draft
from .text import TextProposer
from .tree import TreeBuilder


def places(counts: Sequence[Sequence[int]]) -> list[tuple[int, int, float]]:
    """A static tree as (parent's place, rank, score), the most promising place first; the root has place 0, the others
    follow in this order. `counts`: children of every node, layer by layer; they are ranks 0, 1, ... of its row.

    The score halves with every rank, and down a path scores are multiplied: the tree has no probabilities to offer,
    only the order of a row. Parents come before their children.
    """
    layer, found = [(0, 1.0)], []
    for row in counts:
        below = []
        for (at, score), count in zip(layer, row, strict=True):
            for rank in range(count):
                found.append((at, rank, score * 2.0 ** -(rank + 1)))
                below.append((len(found), found[-1][2]))
        layer = below
    order = sorted(range(len(found)), key=lambda one: -found[one][2])
    moved = {0: 0} | {old + 1: new + 1 for new, old in enumerate(order)}
    return [(moved[found[old][0]], *found[old][1:]) for old in order]


class Recycling(TextProposer):
    """Rows of token ids by the token they follow. A place of the tree takes its token from the row of its parent's
    token.

    Order of filling: by layers and by promise give the same tree when there is room for all of it; with less room the
    most promising places are filled. A token without a row has no children: the original fills these places with token
    0, from a matrix that starts with zeros, and evaluates them for nothing. Of the nodes of one pass that hold the same
    token, the first one's row is kept; the original leaves it to the device which is.
    """

    tree: list[tuple[int, int, float]]
    """(parent's place, rank, score) of each place but the root."""
    best_first = True

    def _propose(self, most: int, extra: int) -> Draft:
        built = TreeBuilder(self._text[-1])
        nodes: list[int | None] = [0]
        for parent, rank, score in self.tree:
            if len(built) > most:
                break
            at = nodes[parent]
            row = self._matrix.get(built.tokens[at], ()) if at is not None else ()
            token = self._candidate(row, rank)
            nodes.append(built.add(at, token, score) if token is not None else None)
        self._drafted = built.tokens
        return built.pack(most)

    def _candidate(self, row: Sequence[int], rank: int) -> int | None:
        """The token of this rank in a row, None where there is none or it must not be drafted."""
        return row[rank] if rank < len(row) and row[rank] not in self._banned else None

    def _observe(self, rows: list[list[int]]) -> None:
        # backwards: of equal tokens the first node's row stays
        self._matrix.update(zip(reversed(self._drafted), reversed(rows)))

    def _forget(self) -> None:
        self._matrix: dict[int, list[int]] = {}

    def stats(self) -> dict[str, int]:
        return {"rows": len(self._matrix)}
