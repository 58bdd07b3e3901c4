"""Whose work comes next on a device that several share: deficit round robin (Shreedhar and Varghese, 1996).

Everyone in line may use about a quantum of time per round, whatever a piece of their work takes: short passes come
several to a turn, and who took longer than a quantum sits out until the others have caught up. So a long answer, or one
with large trees, slows nobody down beyond an equal share, and a new one begins within a round.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

One = TypeVar("One")

QUANTUM = 0.02
"""Seconds: a few passes of a small model, one of a large one."""
MOST_OWED = 2 * QUANTUM
"""Reading a picture or a prompt takes many quanta in one piece. It would be unkind to whoever waits for a first word to
pay all of it back, and so no more than this is."""


class Turns(Generic[One]):
    """Those in line, each with the seconds it may still use in this round, below 0 when it has used more."""

    def __init__(self, quantum: float = QUANTUM, most_owed: float = MOST_OWED) -> None:
        self._quantum, self._most_owed = quantum, most_owed
        self._line: deque[One] = deque()
        self._credit: dict[One, float] = {}

    def __len__(self) -> int:
        return len(self._line)

    def __iter__(self) -> Iterator[One]:
        return iter(tuple(self._line))

    def __contains__(self, one: object) -> bool:
        return one in self._credit

    def add(self, one: One) -> None:
        """To the end of the line."""
        self._line.append(one)
        self._credit[one] = self._quantum

    def remove(self, one: One) -> None:
        """Out of the line, wherever it is."""
        self._line.remove(one)
        del self._credit[one]

    def next(self) -> One | None:
        """Whose piece of work comes now; None where nobody is in line."""
        while self._line:
            one = self._line[0]
            if self._credit[one] > 0:
                return one
            self._credit[one] += self._quantum
            self._line.rotate(-1)
        return None

    def able(self) -> list[One]:
        """Everyone who has something left in this round, from the one who comes next on."""
        return [one for one in self._line if self._credit[one] > 0]

    def took(self, one: One, seconds: float) -> None:
        """What its piece of work took."""
        self._credit[one] = max(self._credit[one] - seconds, -self._most_owed)
