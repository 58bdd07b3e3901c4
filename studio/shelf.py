"""Traces that pages may look at, by ids that nobody can guess."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass

from recap.trace import Trace

_MEGABYTES = 256
_NODE_BYTES, _ROW_BYTES, _STEP_BYTES = 1000, 600, 3000
"""What a packed node, a row of the table and the rest of a step take in memory."""


@dataclass
class _Place:
    trace: Trace
    note: str
    growing: bool
    pinned: bool
    owner: str

    @property
    def loose(self) -> bool:
        """Whether it may be put away."""
        return not self.pinned and not (self.growing and not self.trace.finish_reason)


class Shelf:
    """At most `limit` traces of at most `megabytes` in all: of the owner with the most, those not looked at for longest
    are put away, so that nobody's many traces push out another's few.

    Pinned ones and those still growing stay, whatever the limits, and so does the latest. Methods may be called by any
    thread.
    """

    def __init__(self, limit: int = 1024, megabytes: float = _MEGABYTES) -> None:
        self._limit, self._bytes = limit, megabytes * 1e6
        self._places: dict[str, _Place] = {}
        """Longest not looked at first."""
        self._lock = threading.Lock()

    def put(self, trace: Trace, *, growing: bool = False, note: str = "", owner: str = "") -> str:
        """The id under which a trace can be found from now on; the one it has when it is here already. `growing`: it is
        being decoded and stays until it has ended. `note`: a word to show with it, such as where it came from."""
        with self._lock:
            name = next((name for name, place in self._places.items() if place.trace is trace), None)
            if name is None:
                name = secrets.token_urlsafe(16)
                self._places[name] = _Place(trace, note, growing, False, owner)
                self._put_away(latest=name)
            return name

    def pin(self, trace: Trace, name: str, note: str = "") -> None:
        """Keep a trace for good under a name of one's own. Raises ValueError for a name that is taken."""
        with self._lock:
            if name in self._places:
                raise ValueError(f"there is a trace named {name!r} already")
            self._places[name] = _Place(trace, note, False, True, "")

    def pinned(self) -> list[tuple[str, Trace]]:
        """Name and trace of all that are kept for good, in the order in which they were pinned."""
        with self._lock:
            return [(name, place.trace) for name, place in self._places.items() if place.pinned]

    def get(self, name: str | None) -> Trace | None:
        """The trace with that id; None when there is none, or no longer."""
        with self._lock:
            place = self._places.get(name) if isinstance(name, str) else None
            if place is not None and not place.pinned:
                self._places[name] = self._places.pop(name)
            return place.trace if place else None

    def note(self, name: str | None) -> str:
        """The word that came with a trace; empty when there is none."""
        with self._lock:
            place = self._places.get(name) if isinstance(name, str) else None
            return place.note if place else ""

    def drop(self, owner: str) -> None:
        """Let go of all that belongs to somebody who has left."""
        with self._lock:
            for name in [name for name, place in self._places.items() if place.owner == owner and not place.pinned]:
                del self._places[name]

    def _put_away(self, latest: str) -> None:
        loose = {name: weight(place.trace) for name, place in self._places.items() if place.loose}
        number, total = len(loose), sum(loose.values())
        while number > self._limit or total > self._bytes:
            shares: dict[str, int] = {}
            for name, size in loose.items():
                shares[self._places[name].owner] = shares.get(self._places[name].owner, 0) + size
            removable = {self._places[name].owner: name for name in reversed(loose) if name != latest}
            if not removable:
                return
            name = removable[max(removable, key=lambda owner: (shares[owner], owner == self._places[latest].owner))]
            number, total = number - 1, total - loose.pop(name)
            del self._places[name]


def weight(trace: Trace) -> int:
    """Bytes that a trace takes in memory, roughly."""
    nodes = sum(len(step) for step in trace.steps)
    words = len(trace.text) + sum(map(len, trace.table.texts.values())) + 40 * len(trace.token_ids)
    return words + _NODE_BYTES * nodes + _ROW_BYTES * len(trace.table.rows) + _STEP_BYTES * len(trace.steps)
