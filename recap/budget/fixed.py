"""The paper's budget: always the same number of nodes, and every row of the prompt is worth keeping."""

from __future__ import annotations

import numpy as np

from ..drafter import Draft
from ..methods.base import Proposer
from .choice import Choice


class Fixed:
    """Offers `max_nodes` memory nodes and `suffix_tokens` suffix nodes to every pass."""

    def __init__(self, max_nodes: int, suffix_tokens: int) -> None:
        self._limits = (max_nodes, suffix_tokens)

    def seeds(self, rows: int, room: int) -> int:
        """How many of the prompt's rows to evaluate for the memories: all."""
        return rows

    def seeded(self, tokens: np.ndarray, ms: float) -> None:
        """Nothing to learn."""

    def draft(self, proposer: Proposer, prefix: int, remaining: int) -> tuple[Draft, Choice]:
        """The draft for the next pass. With one token to go there is nothing that a draft could save."""
        choice = Choice(*(self._limits if remaining > 1 else (0, 0)))
        return proposer.draft(choice.max_nodes, choice.suffix_tokens), choice

    def learn(self, path: list[int], committed: int, ms: float) -> None:
        """Nothing to learn."""

    def close(self) -> None:
        """Nothing to keep."""
