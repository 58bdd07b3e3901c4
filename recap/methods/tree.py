"""A draft tree that is put together node by node."""

from __future__ import annotations

import numpy as np

from ..drafter import Draft
from ..drafter.draft import ancestors


class TreeBuilder:
    """Nodes in pack order, the root first. A token that a parent has as a child already is that child."""

    def __init__(self, root: int) -> None:
        self.tokens, self.parents, self.depths, self.scores = [root], [-1], [0], [1.0]
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        """Nodes, the root included."""
        return len(self.tokens)

    def add(self, parent: int, token: int, score: float) -> int:
        """The child that holds a token, added with this score unless there is one."""
        at = self._children.setdefault((parent, token), len(self.tokens))
        if at == len(self.tokens):
            self.tokens.append(token)
            self.parents.append(parent)
            self.depths.append(self.depths[parent] + 1)
            self.scores.append(score)
        return at

    def pack(self, most: int) -> Draft:
        """The root and the first `most` candidates as arrays. None is on a suffix path, and no memory of RECAP's has a
        share in them."""
        n = min(len(self.tokens), 1 + most)
        parents, nothing = self.parents[:n], np.zeros((n, 3))
        return Draft(
            np.array(self.tokens[:n], np.int64), np.array(parents, np.int32), np.array(self.depths[:n], np.int32),
            np.array(self.scores[:n]), ancestors(parents), nothing, nothing, n,
        )  # fmt: skip
