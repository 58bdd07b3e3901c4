"""Rows for a root of which no memory has one: the latest ones, or those from similar states (appendix H).

The paper leaves open what a row's state is. Here the state before a token is the target's last hidden state at the token
before it, the one that it was predicted from: it is known of a root that no pass has evaluated yet. A row is filed under
the state before its own token and asked for with the state before the root; rows of tokens that stood where the root
stands come first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

ROOM = 2048
"""Rows in the index; the oldest goes first."""
ROWS = 3
"""Rows that stand in for those of G, C and U."""

Context = tuple[int, ...]


class Fallback:
    """A first-in, first-out index over the rows of one request.

    A prediction is one row here, however many memories hold it, and leaves when newer ones have replaced it in all of
    them ("surviving" rows). Of one pass, earlier nodes count as later.
    """

    def __init__(self, kind: str, top_k: int, kept: int) -> None:
        self._semantic = kind == "semantic"
        self._kept = kept  # tokens in the longest key
        self._ids = np.empty((ROOM, top_k), np.int64)
        self._logits = np.empty((ROOM, top_k), np.float32)
        self._states: np.ndarray | None = None
        self.begin()

    def begin(self) -> None:
        """A new request: nothing is known."""
        self._held: dict[int, list[Context]] = {}  # place of a row -> the keys that hold it; oldest first
        self._owner: dict[Context, int] = {}
        self._free = list(range(ROOM))
        self._seeded: set[int] = set()
        self._state: np.ndarray | None = None

    def arrive(self, state: np.ndarray) -> None:
        """The state before the root, (d,) float32."""
        self._state = _unit(state)

    def seed(self, tokens: Sequence[int], ids: np.ndarray, logits: np.ndarray, states: np.ndarray | None) -> None:
        """Prompt rows, in prompt order: ids and logits (m, K), the states before their tokens (m, d). The first row of a
        token within the request wins, as in U."""
        for at, token in enumerate(tokens):
            if token not in self._seeded:
                self._seeded.add(token)
                self._file([(token,)], ids[at], logits[at], None if states is None else states[at])

    def observe(
        self, contexts: Sequence[Context], parents: Sequence[int], ids: np.ndarray, logits: np.ndarray,
        states: np.ndarray | None,
    ) -> None:  # fmt: skip
        """The rows of a pass under their nodes' contexts (up to three tokens), as the memories take them: of equal keys
        the first node's. `states` (n, d): at the nodes, so that the state before a node is its parent's."""
        before = None
        if states is not None:
            own = np.zeros(states.shape[1], np.float32) if self._state is None else self._state
            before = [own if parent < 0 else states[parent] for parent in parents]
        for at in range(len(contexts) - 1, -1, -1):
            context = contexts[at]
            keys = [context[-order:] for order in range(1, min(self._kept, len(context)) + 1)]
            self._file(keys, ids[at], logits[at], None if before is None else before[at])

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Up to three rows, best first: ids (r, K) int64 and logits (r, K) float32."""
        places = self._similar() if self._semantic else list(self._held)[: -ROWS - 1 : -1]
        return self._ids[places], self._logits[places]

    def _similar(self) -> list[int]:
        """By falling cosine similarity; among equals the latest."""
        if self._state is None or self._states is None or not self._held:
            return []
        places = np.array(list(self._held)[::-1])
        likeness = self._states[places] @ self._state
        return places[np.argsort(-likeness, kind="stable")[:ROWS]].tolist()

    def _file(self, keys: list[Context], ids: np.ndarray, logits: np.ndarray, state: np.ndarray | None) -> None:
        for key in keys:
            old = self._owner.pop(key, None)
            if old is not None:
                self._held[old].remove(key)
                if not self._held[old]:
                    del self._held[old]
                    self._free.append(old)
        if not self._free:
            oldest = next(iter(self._held))
            for key in self._held.pop(oldest):
                del self._owner[key]
            self._free.append(oldest)
        place = self._free.pop()
        self._held[place] = keys
        self._owner.update(dict.fromkeys(keys, place))
        self._ids[place], self._logits[place] = ids, logits
        if self._semantic:
            if self._states is None and state is not None:
                self._states = np.zeros((ROOM, len(state)), np.float32)
            if self._states is not None:
                self._states[place] = 0.0 if state is None else _unit(state)


def _unit(state: np.ndarray) -> np.ndarray:
    state = np.asarray(state, np.float32)
    norm = float(np.linalg.norm(state))
    return state / norm if norm > 0 else state
