"""What a visitor's conversation holds, and the jobs it gives to the device: answers and races."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import recap
from recap.config import RecapConfig
from recap.methods.base import Proposer
from recap.race import Race
from recap.trace import Step, Trace

if TYPE_CHECKING:
    from .worker import Worker


class Conversation:
    """One visitor's conversation. The engine's session is made by the worker when the first answer needs it.

    `session` belongs to the device's thread, everything else to the page. What the page asks of the engine (`clear`,
    `again`, `forget`) is noted, and done when the next answer begins.
    """

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(16)
        """By which a page that was loaded anew finds its conversation; nobody can guess it."""
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
        self.contest: Contest | None = None
        """The race that waits or is in the making, if any."""
        self.latest_contest: Contest | None = None
        """The race that was asked for last, ended or not; it is no part of the chat and outlives `clear`."""
        self.growth: list[list[dict[str, int]]] = []
        """For each answer since the memories were empty, rows in U, C and G and bytes after each of its passes; it
        grows along. An answer by a method without memories leaves an empty list."""
        self._session: recap.Session | None = None
        self._lock = threading.Lock()
        self._fresh = False
        self._undo = False
        self._forget = False

    @property
    def busy(self) -> bool:
        """Whether an answer or a race waits or is in the making."""
        return self.answer is not None or self.contest is not None

    def session(self, target: Any, config: RecapConfig | None = None) -> recap.Session:
        """The engine's side of this conversation, on the device's thread; U outlives `clear`. A config, where given,
        holds from now on; None leaves what was."""
        with self._lock:
            fresh, undo, forget = self._fresh, self._undo, self._forget
            self._fresh = self._undo = self._forget = False
            session = self._session = self._session or recap.Session(target, config=config)
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

    def stop(self) -> None:
        for job in (self.answer, self.contest):  # the worker may take them away meanwhile
            if job is not None:
                job.stop()

    def close(self) -> None:
        """The visitor has gone: stop and let go of memories and cache."""
        self.clear()
        with self._lock:
            self._session, self._fresh, self._forget = None, False, False
        self.growth, self.latest_contest = [], None


class Job:
    """Work for the device on its way. The worker fills it in; the page reads it whenever it likes."""

    def __init__(
        self, conversation: Conversation, prompt: str, picture: str | None, max_new_tokens: int,
        config: RecapConfig | None, temperature: float, seed: int | None,
    ) -> None:  # fmt: skip
        self.conversation = conversation
        self.prompt, self.picture, self.max_new_tokens = prompt, picture, max_new_tokens
        self.config, self.temperature, self.seed = config, temperature, seed
        self.state = "waiting"
        """waiting | reading (pictures and prompt) | writing | done | failed."""
        self.error = ""
        """A sentence, when it failed."""
        self._stopped = threading.Event()
        self._changed = threading.Event()
        self._worker: Worker | None = None

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed")

    def stop(self) -> None:
        """End within one pass, at once if it is still waiting; what was said so far is kept."""
        self._stopped.set()
        if self._worker is not None:
            self._worker._withdraw(self)

    def follow(self, seconds: float) -> Iterator[None]:
        """Yields when something has changed, at most once in `seconds`, until the job has ended."""
        while not self.ended:
            self._changed.wait(timeout=1.0)
            self._changed.clear()
            yield
            time.sleep(seconds)

    def _now(self, state: str) -> None:
        self.state = state
        self._changed.set()

    def _passed(self) -> None:
        """After every pass: tell the page, and let others look at the device's things before the next one."""
        self._changed.set()
        if self._worker is not None:
            self._worker._look_aside()

    @property
    def _pictures(self) -> list[str]:
        return [self.picture] if self.picture else []

    def _enter(self) -> None:
        """The conversation now waits for this job."""
        raise NotImplementedError

    def _leave(self) -> None:
        """The conversation waits no more."""
        raise NotImplementedError

    def _run(self, target: Any) -> None:
        """On the worker's thread alone: torch keeps some of its modes per thread."""
        raise NotImplementedError


class Answer(Job):
    """A question on its way, in its conversation."""

    def __init__(
        self, conversation: Conversation, prompt: str, picture: str | None, method: str, max_new_tokens: int, *,
        config: RecapConfig | None = None, temperature: float = 0.0, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(conversation, prompt, picture, max_new_tokens, config, temperature, seed)
        self.method = method
        self.trace: Trace | None = None
        self.picture_before: str | None = None
        """Path of the picture that the conversation held when this was asked."""
        self.prompt_end: list[int] = []
        """The last tokens of the prompt, as many as a memory's key may need."""
        self.listeners = 0
        """How many streams bring its words to a browser (`studio.words`)."""

    @property
    def text(self) -> str:
        return self.trace.text if self.trace else ""

    @property
    def step(self) -> Step | None:
        """The latest pass that had candidates; see `Trace.last_drafted`."""
        at = self.trace.last_drafted if self.trace else None
        return None if at is None else self.trace.steps[at]

    @property
    def said(self) -> bool:
        """Whether it came as far as a first token, and so became a turn that the engine remembers."""
        return self.trace is not None and bool(self.trace.token_ids)

    def _enter(self) -> None:
        self.picture_before = self.conversation.picture
        self.conversation.answer = self.conversation.latest = self

    def _leave(self) -> None:
        if self.conversation.answer is self:
            self.conversation.answer = None

    def _run(self, target: Any) -> None:
        session = self.conversation.session(target, self.config)
        with recap.stream(
            target, self.prompt, self._pictures, method=self.method, max_new_tokens=self.max_new_tokens,
            temperature=self.temperature, seed=self.seed, session=session,
        ) as stream:  # fmt: skip
            self.prompt_end = stream.prompt_ids[-3:].tolist()
            self.trace = stream.trace
            if self.stopped:
                return
            stream.prefill(lambda: not self.stopped)
            if not self.said:
                return
            sizes: list[dict[str, int]] = []
            self.conversation.growth.append(sizes)
            self._now("writing")
            while not self.stopped and (step := next(stream, None)) is not None:
                if step.sizes:
                    sizes.append(step.sizes)
                self._passed()


class Contest(Job):
    """A race of two methods on one question. It starts from nothing: no conversation, no memories, no cache."""

    def __init__(
        self, conversation: Conversation, prompt: str, picture: str | None,
        methods: Sequence[str] = ("ar", "recap"), max_new_tokens: int = 200, *, config: RecapConfig | None = None,
        temperature: float = 0.0, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(conversation, prompt, picture, max_new_tokens, config, temperature, seed)
        self.name = secrets.token_urlsafe(8)
        """Tells one race from another."""
        self.methods = tuple(methods)
        self.race: Race | None = None
        """None until its turn has come."""

    @property
    def traces(self) -> tuple[Trace | None, Trace | None]:
        """The two answers as far as they are; None for a lane that has not begun."""
        return self.race.traces if self.race else (None, None)

    def _enter(self) -> None:
        self.conversation.contest = self.conversation.latest_contest = self

    def _leave(self) -> None:
        if self.conversation.contest is self:
            self.conversation.contest = None

    def _run(self, target: Any) -> None:
        with Race(
            target, self.prompt, self._pictures, self.methods, self.max_new_tokens, self.temperature, self.seed,
            self.config, proceed=lambda: not self.stopped,
        ) as race:  # fmt: skip
            self.race = race
            while not self.stopped and next(race, None) is not None:
                self._now("writing")
                self._passed()
