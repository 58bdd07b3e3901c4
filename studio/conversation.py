"""What a visitor's conversation holds: the chat as shown, and the engine's session behind it."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING, Any

import recap
from recap.config import RecapConfig
from recap.methods.base import Proposer

from .jobs import Answer, Contest, Job

if TYPE_CHECKING:
    from .looking import Looking
    from .measurement import Measurement


class Conversation:
    """One visitor's conversation. The engine's session is made by the worker when the first answer needs it.

    `session` belongs to the device's thread, everything else to the page. What the page asks of the engine (`clear`,
    `again`, `forget`) is noted, and done when the next answer begins.
    """

    def __init__(self, owner: str | None = None) -> None:
        self.key = secrets.token_urlsafe(16)
        """By which a page that was loaded anew finds its conversation; nobody can guess it."""
        self.owner = owner or self.key
        """Whoever it belongs to, where one has several: of each owner one job runs at a time."""
        self.messages: list[dict[str, Any]] = []
        """The chat as shown, in the form of gr.Chatbot: a turn is what the user sent, then one message of the
        assistant's."""
        self.picture: str | None = None
        """Path of the picture that the conversation already holds."""
        self.answer: Answer | None = None
        """The answer that waits or is in the making, if any."""
        self.latest: Answer | None = None
        """The answer that was asked for last in this chat, ended or not."""
        self.shown: list[str] = []
        """Ids of the traces that this conversation made or opened, the newest last."""
        self.on_show: str | None = None
        """Id of the trace on show, None for none."""
        self.settings: list[Any] = []
        """What was asked with last: method, most tokens and the rest of the settings panel, as the controls gave them."""
        self.contest: Contest | None = None
        """The race that waits or is in the making, if any."""
        self.latest_contest: Contest | None = None
        """The race that was asked for last, ended or not; it is no part of the chat and outlives `clear`."""
        self.measurement: Measurement | None = None
        """The measurement that waits or runs, if any. It keeps nobody from asking."""
        self.latest_measurement: Measurement | None = None
        """The one that was asked for last, ended or not; it outlives `clear`."""
        self.looking: Looking | None = None
        """The latest look at which words need the picture."""
        self.growth: list[list[dict[str, int]]] = []
        """For each answer since the memories were empty, rows in U, C and G and bytes after each of its passes; it
        grows along. An answer by a method without memories leaves an empty list."""
        self._session: recap.Session | None = None
        self._lock = threading.Lock()
        self._fresh = False
        self._undo = False
        self._forget = self._released = False

    @property
    def busy(self) -> bool:
        """Whether an answer or a race waits or is in the making."""
        return self.answer is not None or self.contest is not None

    @property
    def idle(self) -> bool:
        """Whether nothing at all of it waits or runs."""
        return not self.busy and self.measurement is None

    def session(
        self, target: Any, config: RecapConfig | None = None, warm: recap.WarmMemory | None = None
    ) -> recap.Session:
        """The engine's side of this conversation, on the device's thread; U outlives `clear`. A config, where given,
        holds from now on; None leaves what was. `warm` goes behind U when the session is made."""
        with self._lock:
            fresh, undo, forget = self._fresh, self._undo, self._forget
            self._fresh = self._undo = self._forget = False
            session = self._session = self._session or recap.Session(target, config=config, warm=warm)
            self._released = False
        if fresh:
            session.reset()
        elif undo:
            session.undo()
        if forget:
            session.forget()
        if config is not None and config != session.config:
            if not session.keeps_memories(config):
                self.growth = []
            session.configure(config)
        return session

    def drafter(self, method: str = "recap") -> Proposer | None:
        """What holds the memories of a method now; what is in it is read on the device's thread alone (`Worker.aside`).
        None before the first answer and when they are about to be forgotten."""
        with self._lock:
            return None if self._session is None or self._forget else self._session.drafter(method)

    def clear(self) -> None:
        """Start a new chat, stopping what is in the making. U and what is known of its growth stay."""
        self.stop()
        with self._lock:
            self._fresh, self._undo = True, False
        self.messages, self.picture = [], None
        self.answer = self.latest = self.contest = None

    def again(self) -> Answer:
        """Take the last question back, to be asked anew: its messages leave the chat, and the next answer begins where
        that question did. Returns its answer, whose `prompt` and `picture` are what to ask.

        Raises RuntimeError with a sentence when nothing was asked yet, or while an answer or a race is in the making.
        """
        last = self.latest
        if self.busy:
            raise RuntimeError("The last answer is still being written: stop it, or wait for its end.")
        if last is None:
            raise RuntimeError("There is no question to ask again.")
        with self._lock:
            # what failed or was stopped before its first token never became a turn of the engine's
            self._undo = self._undo or last.said
        self.picture, self.latest = last.picture_before, None
        start = len(self.messages)
        while start and self.messages[start - 1]["role"] == "assistant":
            start -= 1
        while start and self.messages[start - 1]["role"] == "user":
            start -= 1
        del self.messages[start:]
        return last

    def forget(self) -> None:
        """Empty the memories, U too, when the next answer begins; the chat stays."""
        with self._lock:
            self._forget = True
        self.growth = []

    @property
    def holds(self) -> bool:
        """Whether it has a session of the engine's, with what that takes."""
        return self._session is not None and not self._released

    def cached_bytes(self) -> int:
        """What its key-value cache takes, about: another thread may be growing it."""
        session = self._session
        return 0 if session is None or self._released else session.cache.bytes

    def release(self) -> None:
        """Give cache and memories back; the chat goes on, and its next answer evaluates it anew. On the device's thread,
        between two answers of this conversation."""
        with self._lock:
            session = self._session
        if session is not None:
            session.release()
            self._released = True
        self.growth = []

    def tidy(self, most_bytes: float) -> None:
        """Let memories begin anew that take more than so many bytes. On the device's thread, after an answer."""
        with self._lock:
            session = self._session
        if session is not None and session.remembered_bytes() > most_bytes:
            session.forget()
            self.growth = []

    def stop(self) -> None:
        """As somebody asks for it, not because the page has gone."""
        for job in (self.answer, self.contest):
            if job is not None:
                job.by_hand = True
        self._stop(self.answer, self.contest)

    def leave(self) -> None:
        """The page has gone: nothing of it runs any more."""
        self._stop(self.answer, self.contest, self.measurement, self.looking)

    def _stop(self, *jobs: Job | None) -> None:
        for job in jobs:  # the worker may take them away meanwhile
            if job is not None:
                job.stop()

    def close(self) -> None:
        """The visitor has gone: stop and let go of memories and cache."""
        self.clear()
        self.leave()
        with self._lock:
            self._session, self._fresh, self._forget = None, False, False
        self.growth, self.latest_contest, self.latest_measurement, self.looking = [], None, None, None
