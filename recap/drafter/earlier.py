"""What the session's earlier answers say of how a text goes on: a suffix path from one request to the next.

The paper's suffix path looks at the request's own text alone. Answers of one conversation resemble each other, and what
follows a phrase in one of them is a good guess for the next; SuffixDecoding (Oliaro et al.) lives on that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ..config import SUFFIX_REACH
from .reference_suffix import Suffix

KEPT = 1 << 13
"""Tokens of earlier answers; beyond, the older half is forgotten."""
_BACK = 64
"""Tokens of a prompt that are compared: longer matches say no more."""
_BREAK = -1


class Earlier:
    """Answers of earlier requests, newest kept. Calls as those of a drafter: begin, then commit again and again."""

    def __init__(self) -> None:
        self._answers: deque[list[int]] = deque()
        self._answer: list[int] = []
        self._banned: frozenset[int] = frozenset()
        self._index()

    def begin(self, prompt: Sequence[int], banned: Sequence[int]) -> None:
        """A new request; what was committed in the one before is an earlier answer now."""
        if self._answer:
            self._answers.append(self._answer)
            self._learn(self._answer)
        if len(self._text) > KEPT:
            while len(self._answers) > 1 and sum(map(len, self._answers)) > KEPT // 2:
                self._answers.popleft()
            self._answers[0] = self._answers[0][-KEPT // 2 :]
            self._index()
        self._answer, self._banned, self._match = [], frozenset(banned), (0, 0)
        self._follow(prompt[-_BACK:])

    def commit(self, tokens: Sequence[int]) -> None:
        """Committed tokens of this request."""
        self._answer += tokens
        self._follow(tokens)

    def path(self) -> tuple[list[int], int]:
        """Up to 10 tokens that followed where an earlier answer first said what this text ends with, and how many of its
        tokens agree; nothing and 0 where none does."""
        state, length = self._match
        if state <= 0:
            return [], 0
        start = self._suffix.first_ends[state] + 1
        found = self._text[start : start + SUFFIX_REACH]
        found = found[: found.index(_BREAK)] if _BREAK in found else found
        return (found, length) if found else ([], 0)

    def bytes(self) -> int:
        """An estimate."""
        return self._suffix.bytes() + 36 * (len(self._text) + sum(map(len, self._answers)) + len(self._answer))

    def _follow(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._match = (0, 0) if token in self._banned else self._suffix.step(*self._match, token)

    def _learn(self, answer: list[int]) -> None:
        """The break keeps a match from running on from one answer into the next."""
        for token in answer:
            self._suffix.append(token)
        self._suffix.append_break()
        self._text += [*answer, _BREAK]

    def _index(self) -> None:
        self._suffix, self._text, self._match = Suffix(), [], (0, 0)
        for answer in self._answers:
            self._learn(answer)
