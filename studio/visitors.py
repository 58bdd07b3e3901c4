"""Who is here: a conversation for every open page, found again by a page that is loaded anew."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .conversation import Conversation
from .limits import Limits

_KEPT_SECONDS = 15 * 60
_MOST_LEFT = 32
"""Beyond those the longest gone lose their chat; caches are given back sooner, see `Limits.sessions`."""
_SILENT_SECONDS = 15 * 60
"""What was not heard of for so long and has no heartbeat is gone: a program that plays page, or a page whose connection broke
without a word."""
_PATIENCE = 1.5
"""Seconds that a page loaded anew waits for its old self to leave: their events may overtake each other."""
_PAUSE = 0.05
_ASK_AGAIN = 10.0
"""Seconds until a page that still has cache and memories is asked once more."""


@dataclass
class _Page:
    session_hash: str
    conversation: Conversation
    seen: float
    """When it was last heard of."""
    asked: float = -math.inf
    """When it was last asked to give cache and memories back; that is done a little later."""


class Visitors:
    """Conversations by browser session (`session_hash`, one per loaded page). Methods may be called by any thread.

    A conversation whose page has left is kept for 15 minutes, and of all such ones the last 32, those in which something was
    said before others. `release` is asked to give cache and memories back for a conversation that was quiet for a while, or
    longer than others where more than `limits.sessions` have some or caches take more than `limits.caches_megabytes`; `gone` is
    told of each that is let go of. `clock` and `sleep` are those of `time`, and may be replaced in tests.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep,
        limits: Limits = Limits(), release: Callable[[Conversation], object] = lambda conversation: None,
        gone: Callable[[Conversation], object] = lambda conversation: None,
    ) -> None:  # fmt: skip
        self._clock, self._sleep = clock, sleep
        self._limits, self._release, self._gone = limits, release, gone
        self._lock = threading.Lock()
        self._here: dict[str, _Page] = {}
        """By session hash."""
        self._left: list[_Page] = []
        """Longest gone first."""
        self._beats: Counter[str] = Counter()
        """Open heartbeats by session hash: every page of a browser has one."""

    def arrive(self, session_hash: str, key: str | None = None, sure: bool = False) -> Conversation:
        """The conversation of a page that was loaded. `key` is what an earlier page of the same tab was given; `sure`:
        the browser says that no other page of its has it.

        Otherwise a conversation on another live page is not taken from it: a duplicated tab brings a copied key. But that
        page may be this one's old self, so it gets a moment to leave. With no conversation to go on with, a new one.
        """
        if sure:  # whoever seems to have it was cut off without a word
            with self._lock:
                holders = [name for name, page in self._here.items() if page.conversation.key == key]
                for name in holders:
                    if name != session_hash:
                        self._depart(name)
        deadline = self._clock() + _PATIENCE
        while True:
            with self._lock:
                self._tidy()
                elsewhere = any(
                    page.conversation.key == key for name, page in self._here.items() if name != session_hash
                )
                if session_hash in self._here or not elsewhere or self._clock() >= deadline:
                    return self._seat(session_hash, lambda page: page.conversation.key == key)
            self._sleep(_PAUSE)

    def leave(self, session_hash: str) -> None:
        """The page has gone: its answer in the making stops, its conversation stays a while."""
        with self._lock:
            self._depart(session_hash)
            self._tidy()

    def of(self, session_hash: str) -> Conversation:
        """The conversation of a page. One whose connection was lost for a while finds its own again; one that never
        arrived or was away too long gets a new one."""
        with self._lock:
            self._tidy()
            return self._seat(session_hash, lambda page: page.session_hash == session_hash)

    @contextmanager
    def beating(self, session_hash: str) -> Iterator[None]:
        """While a page's heartbeat is open, it is no page to be let go of for others."""
        with self._lock:
            self._beats[session_hash] += 1
        try:
            yield
        finally:
            with self._lock:
                self._beats[session_hash] -= 1
                if not self._beats[session_hash]:
                    del self._beats[session_hash]
                if page := self._here.get(session_hash):
                    page.seen = self._clock()

    def __len__(self) -> int:
        """Open pages."""
        with self._lock:
            return len(self._here)

    def tidy(self) -> None:
        """Let go of what is due. Every other call does so too, but there may be none for a long time."""
        with self._lock:
            self._tidy()

    def known(self, key: str | None) -> Conversation | None:
        """The conversation with that key, if it is on an open page or was left not long ago."""
        with self._lock:
            self._tidy()
            pages = [*self._here.values(), *self._left]
            return next((page.conversation for page in pages if page.conversation.key == key), None)

    def _seat(self, session_hash: str, own: Callable[[_Page], bool]) -> Conversation:
        """What the page has, else what was left and is its own, else something new."""
        page = self._here.get(session_hash) or next((left for left in reversed(self._left) if own(left)), None)
        if page in self._left:
            self._left.remove(page)
        conversation = page.conversation if page is not None else Conversation()
        self._here[session_hash] = _Page(session_hash, conversation, self._clock())
        return conversation

    def _depart(self, session_hash: str) -> None:
        gone = self._here.pop(session_hash, None)
        if gone is not None:
            gone.conversation.leave()
            gone.seen = self._clock()
            self._left.append(gone)

    def _tidy(self) -> None:
        now = self._clock()
        beats = self._beats
        quiet = sorted((page for page in self._here.values() if page.conversation.idle), key=lambda page: page.seen)
        for page in quiet:
            if page.session_hash not in beats and page.seen < now - _SILENT_SECONDS:
                self._depart(page.session_hash)
        surplus = max(len(self._here) - self._limits.visitors, 0)
        for page in sorted(quiet, key=lambda page: page.session_hash in beats)[:surplus]:
            self._depart(page.session_hash)
        while self._left and (len(self._left) > _MOST_LEFT or self._left[0].seen < now - _KEPT_SECONDS):
            due = self._left[0]
            if due.seen >= now - _KEPT_SECONDS:  # too many, none of them due: rather one in which nothing was said
                due = next((page for page in self._left if not page.conversation.messages), due)
            self._left.remove(due)
            gone = due.conversation
            gone.close()
            self._gone(gone)
        holders = [page for page in (*self._left, *quiet) if page.conversation.holds and not page.conversation.busy]
        room = 1e6 * self._limits.caches_megabytes
        for number, page in enumerate(sorted(holders, key=lambda page: page.seen, reverse=True)):
            room -= page.conversation.cached_bytes()
            due = number >= self._limits.sessions or room < 0 or page.seen < now - 60 * self._limits.idle_minutes
            if due and page.asked < now - _ASK_AGAIN:
                page.asked = now
                self._release(page.conversation)
