"""Python twin: best-first and fixed search, suffix path (tree.h)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

import numpy as np

from .draft import Draft, ancestors
from .reference_rows import Fused

STATIC_TREE = (
    (8,),
    (8, 4, 3, 2, 1, 1, 1, 1),
    (8, 3, 2, 1, 1, 1, 1, 1, 2, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0),
    (5, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0),
    (3, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0),
    (2, 0, 0, 1, 0, 0, 0, 0),
)
"""Children of every node of Token Recycling's static tree (Luo et al., 2025; 80 nodes, depth 6), layer by layer: the
children of a node are ranks 0, 1, ... of its row."""


class Tree:
    """Nodes in pack order. `fuse(context)` gives the fused row of a context; `spare` is that of a root without one."""

    def __init__(
        self, context: tuple[int, ...], fuse: Callable[[tuple[int, ...]], Fused], settings: Sequence,
        spare: Fused | None = None,
    ) -> None:  # fmt: skip
        self.width, self.max_depth, self.depth_priors, self.banned = settings
        self.fuse, self.spare = fuse, spare
        self.tokens, self.parents, self.depths, self.scores = [context[-1]], [-1], [0], [1.0]
        self.contexts = [context]
        self.weights, self.shares = [[0.0] * 3], [[0.0] * 3]
        self.suffix_start = 0

    def best_first(self, max_nodes: int) -> None:
        heap: list[tuple[float, int, int, int]] = []
        fused: list[Fused | None] = []
        pushed = at = 0
        while len(self.tokens) <= max_nodes:
            fused.append(self._expand(at))
            for rank, score in enumerate(self._child_scores(at, fused[at])):
                if score is not None:
                    heapq.heappush(heap, (-score, pushed, at, rank))
                    pushed += 1
            if not heap:
                break
            score, _, parent, rank = heapq.heappop(heap)
            at = self._add_memory_node(parent, fused[parent], rank, -score)

    def fixed(self, max_nodes: int) -> None:
        """Layer by layer; a rank that is missing, banned, too wide or too deep is left out with its subtree."""
        layer: list[int | None] = [0]
        for counts in STATIC_TREE:
            below: list[int | None] = []
            for at, count in zip(layer, counts):
                ready = at is not None and count and len(self.tokens) <= max_nodes
                fused = self._expand(at) if ready else None
                scores = self._child_scores(at, fused) if fused else []
                for rank in range(count):
                    use = rank < len(scores) and scores[rank] is not None and len(self.tokens) <= max_nodes
                    below.append(self._add_memory_node(at, fused, rank, scores[rank]) if use else None)
            layer = below

    def add_suffix(self, continuation: Sequence[int], suffix_tokens: int) -> None:
        """Walk the continuation from the root along existing children, then add what is missing."""
        self.suffix_start = len(self.tokens)
        at = 0
        for token in continuation:
            if token in self.banned:
                break
            children = range(at + 1, len(self.tokens))
            child = next((i for i in children if self.parents[i] == at and self.tokens[i] == token), None)
            if child is None:
                if len(self.tokens) - self.suffix_start >= suffix_tokens:
                    break
                child = self._add(at, token, 0.0, [0.0] * 3, [0.0] * 3)
            at = child

    def pack(self, suffix_match: int) -> Draft:
        """The tree as arrays; `suffix_match` is handed through."""
        return Draft(
            np.array(self.tokens, np.int64),
            np.array(self.parents, np.int32),
            np.array(self.depths, np.int32),
            np.array(self.scores, np.float64),
            ancestors(self.parents),
            np.array(self.weights, np.float64),
            np.array(self.shares, np.float64),
            self.suffix_start,
            suffix_match,
        )

    def _expand(self, at: int) -> Fused | None:
        if self.depths[at] >= self.max_depth:
            return None
        fused = self.fuse(self.contexts[at])
        return self.spare if at == 0 and self.spare and not fused.candidates else fused

    def _child_scores(self, at: int, fused: Fused | None) -> list[float | None]:
        """By rank, None for banned ids; the banned keep their place and their probability."""
        if fused is None:
            return []
        prior = self.depth_priors[min(self.depths[at], len(self.depth_priors) - 1)]
        base = self.scores[at] * prior
        ids = [token for _, token, _ in fused.candidates[: self.width]]
        return [None if token in self.banned else base * fused.probability(i) for i, token in enumerate(ids)]

    def _add_memory_node(self, parent: int, fused: Fused, rank: int, score: float) -> int:
        mass, token, parts = fused.candidates[rank]
        weights = [0.0 if weight is None else weight for weight in fused.weights]
        return self._add(parent, token, score, weights, [part / mass for part in parts] if mass > 0.0 else weights)

    def _add(self, parent: int, token: int, score: float, weights: list[float], shares: list[float]) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1)
        self.scores.append(score)
        self.contexts.append((*self.contexts[parent][-2:], token))
        self.weights.append(weights)
        self.shares.append(shares)
        return len(self.tokens) - 1
