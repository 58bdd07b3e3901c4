"""Tree Recycling: the lighter variant that the RECAP paper compares with (appendix A)."""

from __future__ import annotations

from collections.abc import Sequence

from .recycling import Recycling, places

_WIDTH, _DEPTH = 2, 4


class TreeRecycling(Recycling):
    """The four likeliest tokens after each token, of this request only, drafted as a full tree of width 2 and depth 4:
    30 candidates.

    Uncertain and settled: the paper says only that it runs on the same prefill path as RECAP, and its authors' public
    code writes the prompt's rows, so these are seeded, the first occurrence of a token winning. A node's children are
    the first two of its four tokens that may be drafted.
    """

    top_k = 4
    seeds = True
    tree = places([[_WIDTH] * _WIDTH**layer for layer in range(_DEPTH)])
    sizes = (len(tree), 0)

    def _begin(self) -> None:
        self._matrix = {}

    def _seed(self, tokens: list[int], rows: list[list[int]]) -> None:
        for token, row in zip(tokens, rows):
            self._matrix.setdefault(token, row)

    def _candidate(self, row: Sequence[int], rank: int) -> int | None:
        allowed = [token for token in row if token not in self._banned]
        return allowed[rank] if rank < len(allowed) else None
