"""Which prompt rows are worth their logits. A row helps if its token comes again before a pass has evaluated it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ..drafter import Draft

_LEVEL = 50.0
"""Rows after which further ones bring little: most tokens of a long prompt never come again."""
_FIRST_CREDIT, _FIRST_WEIGHT = 1.5, 4.0
"""Tokens that all rows of a prompt save in an answer, before anything was seen, and what that guess is worth in answers.
Thirteen prompts of the development set gave 1.4."""
_EARLY = 12.0
"""Tokens of an answer in which most of that happens."""


class Seeding:
    """Learns from the answers of a conversation how many tokens seeded rows save.

    The first r rows of a prompt are taken to save c (1 - exp(-r / 50)) tokens; as long as the next row saves more time
    than its logits take, it is seeded.
    """

    def __init__(self) -> None:
        self._credits, self._answers = _FIRST_CREDIT * _FIRST_WEIGHT, _FIRST_WEIGHT
        self._lengths, self._ended = 0.0, 0
        self._length = 0
        self._fresh: set[int] = set()

    def rows(self, most: int, room: int, ms: float, rate: float) -> int:
        """How many of `most` rows to seed, the last ones of the prompt, at `ms` each, when `rate` tokens are decoded per
        millisecond and the answer has at most `room` tokens."""
        if room < 2:
            return 0
        likely = min(room, self._lengths / self._ended) if self._ended else room
        saved = self._credits / self._answers * -math.expm1(-likely / _EARLY)
        worth = saved / _LEVEL / rate  # milliseconds that the first row saves
        return min(most, math.ceil(_LEVEL * math.log(worth / ms))) if worth > ms else 0

    def begin(self, tokens: Iterable[int]) -> None:
        """An answer begins; rows of these tokens were seeded."""
        self._fresh = set(tokens)
        self._answers += bool(self._fresh)
        self._length = 0

    def passed(self, draft: Draft, path: list[int], committed: int) -> None:
        """A pass has ended: whatever was accepted below a seeded row and no newer one was saved by seeding."""
        self._length += committed
        if not self._fresh:
            return
        for node in path[1:]:
            only_u = not np.any(draft.weights[node, :2]) and node < draft.suffix_start
            self._credits += only_u and int(draft.tokens[draft.parents[node]]) in self._fresh
        self._fresh.difference_update(draft.tokens.tolist())

    def end(self) -> None:
        """The answer has ended."""
        if self._length:
            self._lengths += self._length
            self._ended += 1
            self._length = 0
