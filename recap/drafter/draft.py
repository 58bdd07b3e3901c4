"""What the drafting core hands out: `Draft` (a packed tree) and `Explanation` (the rows behind it)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(slots=True, eq=False)
class Draft:
    """A packed draft tree of n nodes: root, memory nodes, suffix nodes; parents before children (section 3.5)."""

    tokens: np.ndarray
    """(n,) int64. The first is the last committed token."""
    parents: np.ndarray
    """(n,) int32, -1 for the root."""
    depths: np.ndarray
    """(n,) int32, 0 for the root."""
    scores: np.ndarray
    """(n,) float64: equation 8 as a product; 1 for the root, 0 for suffix nodes."""
    mask: np.ndarray
    """(n, n) bool: row i is True at i and its ancestors."""
    weights: np.ndarray
    """(n, 3) float64: fusion weights of G, C, U at the node's parent. Zeros for root and suffix nodes."""
    shares: np.ndarray
    """(n, 3) float64: share of G, C, U in the node's fused probability. Zeros for root and suffix nodes."""
    suffix_start: int
    """Index of the first suffix node; n when there are none."""
    suffix_match: int = 0
    """How many of the last tokens occurred before, where the suffix path is taken from; 0 when nothing was matched."""

    def __len__(self) -> int:
        return len(self.tokens)

    @classmethod
    def root_only(cls, token: int) -> Draft:
        """The tree of plain decoding."""
        nothing = np.zeros((1, 3))
        return cls(
            np.array([token], np.int64), np.full(1, -1, np.int32), np.zeros(1, np.int32), np.ones(1),
            np.ones((1, 1), bool), nothing, nothing, 1,
        )

    @classmethod
    def chain(cls, root: int, tokens: Sequence[int], matched: int) -> Draft:
        """A suffix path alone: `tokens` one below the other, taken from where the last `matched` tokens occurred
        before."""
        n = 1 + len(tokens)
        scores, nothing = np.zeros(n), np.zeros((n, 3))
        scores[0] = 1.0
        return cls(
            np.array([root, *tokens], np.int64), np.arange(-1, n - 1, dtype=np.int32), np.arange(n, dtype=np.int32),
            scores, np.tri(n, dtype=bool), nothing, nothing, 1, matched if tokens else 0,
        )


def ancestors(parents: Sequence[int]) -> np.ndarray:
    """(n, n) bool: row i is True at i and its ancestors. `parents`: -1 for the root, each before its children."""
    mask = np.eye(len(parents), dtype=bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            mask[node] |= mask[parent]
    return mask


@dataclass(slots=True, eq=False)
class Explanation:
    """What the memories hold under every node's own context: indices into a table of r rows, -1 for none."""

    rows: np.ndarray
    """(n, 3) int32: the rows of G, C, U."""
    fused: np.ndarray
    """(n,) int32: the fused row."""
    ids: np.ndarray
    """(r, K) int32, by falling probability."""
    probs: np.ndarray
    """(r, K) float32."""
    confidences: np.ndarray
    """(r,) float32: exp(-entropy)."""
