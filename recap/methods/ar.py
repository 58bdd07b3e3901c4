"""Plain autoregressive decoding: a tree that is only its root."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..drafter import Draft


class AutoRegressive:
    """Proposes nothing, remembers nothing; the baseline on the same runtime as every other method."""

    top_k = 0
    seeds = False

    def __init__(self) -> None:
        self._root: int | None = None

    def begin(self, prompt_ids: Sequence[int] | np.ndarray, banned: Sequence[int] = ()) -> None:
        self._root = None

    def seed(self, token_ids: np.ndarray, ids: np.ndarray, logits: np.ndarray) -> None:
        """Nothing to remember."""

    def commit(self, token_ids: Sequence[int]) -> None:
        if len(token_ids) == 0:
            raise ValueError("token_ids is empty: commit at least one token")
        self._root = int(token_ids[-1])

    def draft(self, max_nodes: int | None = None, suffix_tokens: int | None = None) -> Draft:
        """The root alone, whatever the budget. Raises RuntimeError before the first commit."""
        if self._root is None:
            raise RuntimeError("draft before commit: commit the token from prefill first")
        return Draft.root_only(self._root)

    def observe(self, ids: np.ndarray, logits: np.ndarray) -> None:
        """Nothing to remember."""

    def stats(self) -> dict[str, int]:
        return {}

    def reset(self) -> None:
        self._root = None
