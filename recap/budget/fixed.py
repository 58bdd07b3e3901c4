"""The paper's budget: always the same number of nodes, and every row of the prompt is worth keeping."""

from __future__ import annotations

import numpy as np

from ..drafter import Draft
from ..methods.base import Proposer
from .choice import Choice


class Fixed:
    """Offers `max_nodes` memory nodes and `suffix_tokens` suffix nodes to every pass; `within`: at most `max_nodes` of
    both together (appendices A and B)."""

    def __init__(self, max_nodes: int, suffix_tokens: int, within: bool = False) -> None:
        self._limits = (max_nodes, suffix_tokens)
        self._within = within

    def seeds(self, rows: int, room: int) -> int:
        """How many of the prompt's rows to evaluate for the memories: all."""
        return rows

    def seeded(self, tokens: np.ndarray, ms: float) -> None:
        """Nothing to learn."""

    def draft(self, proposer: Proposer, prefix: int, remaining: int, company: int = 0) -> tuple[Draft, Choice]:
        """The draft for the next pass. With one token to go there is nothing that a draft could save."""
        choice = Choice(*(self._limits if remaining > 1 else (0, 0)))
        if self._within:
            return draft_within(proposer, choice.max_nodes, choice.suffix_tokens), choice
        return proposer.draft(choice.max_nodes, choice.suffix_tokens), choice

    def learn(self, path: list[int], committed: int, ms: float) -> None:
        """Nothing to learn."""

    def close(self) -> None:
        """Nothing to keep."""


def draft_within(proposer: Proposer, most: int, suffix_tokens: int) -> Draft:
    """The draft of at most `most` candidates, the suffix path's included: its new nodes take the place of the memory nodes
    that would have come last. A smaller tree is a prefix of a larger one and lacks at most as many nodes of the path as
    it is smaller, so that the first draft that fits holds as many memory nodes as can be had."""
    memory, suffix_tokens = most, min(most, suffix_tokens)
    while True:
        draft = proposer.draft(memory, suffix_tokens)
        held = draft.suffix_start - 1
        if len(draft) - 1 <= most:
            return draft
        memory = min(held, most - (len(draft) - draft.suffix_start))
