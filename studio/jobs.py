"""What conversations give to the device: answers and races, done piece by piece so that others have their turns."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import recap
from recap.config import RecapConfig
from recap.generation import Stream
from recap.race import Race
from recap.trace import Step, Trace

from . import familiar

if TYPE_CHECKING:
    from .conversation import Conversation
    from .worker import Worker

_OVER = object()


class Job:
    """Work for the device on its way. The worker fills it in; the page reads it whenever it likes."""

    kind = ""
    by_hand = False
    """Whether somebody pressed Stop or Clear, and the page did not just go."""

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
        self.asked = time.monotonic()
        self.waited: float | None = None
        """Seconds from asking to its first turn."""
        self.first_word: float | None = None
        """Seconds from asking to the first token, all waiting included."""
        self.used = 0.0
        """Seconds of the device's thread so far."""
        self._stopped = threading.Event()
        self._changed, self._over = threading.Event(), threading.Event()
        self._worker: Worker | None = None
        self._work: Iterator[None] | None = None

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed")

    @property
    def way(self) -> str:
        """Its methods, for counts: one of few words."""
        raise NotImplementedError

    @property
    def answers(self) -> tuple[Trace | None, ...]:
        """What it is making."""
        raise NotImplementedError

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
            self.over(seconds)

    def over(self, seconds: float) -> bool:
        """Wait for the end, at most so long; whether it has come."""
        return self._over.wait(seconds)

    def _now(self, state: str) -> None:
        if state == "writing" and self.first_word is None:
            self.first_word = time.monotonic() - self.asked
        self.state = state
        self._changed.set()
        if self.ended:
            self._over.set()

    def _passed(self) -> None:
        """After every pass: tell the page."""
        self._changed.set()

    @property
    def _pictures(self) -> list[str]:
        return [self.picture] if self.picture else []

    def _enter(self) -> None:
        """The conversation now waits for this job."""
        raise NotImplementedError

    def _leave(self) -> None:
        """The conversation waits no more."""
        raise NotImplementedError

    def _advance(self, target: Any) -> bool:
        """Do the next piece of work; whether there is more. On the worker's thread alone: torch keeps some of its modes
        per thread."""
        if self._work is None:
            self._work = self._pieces(target)
        return next(self._work, _OVER) is not _OVER

    @property
    def stream(self) -> Stream | None:
        """Its answer, while the next piece of its work is a pass that it can share with others."""
        return None

    def _took(self, step: Step) -> None:
        """A pass of `stream` has ended."""

    def _end(self) -> None:
        """Leave off between two pieces. On the worker's thread alone."""
        if self._work is not None:
            self._work.close()

    def _pieces(self, target: Any) -> Iterator[None]:
        """Yields where another job may have a turn: after the pictures, every part of the prompt and every pass."""
        raise NotImplementedError


class Answer(Job):
    """A question on its way, in its conversation."""

    kind = "answer"

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
        self._stream: Stream | None = None
        """Once the prompt was read."""
        self._sizes: list[dict[str, int]] = []
        """What the memories held after every pass."""

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

    @property
    def way(self) -> str:
        return self.method

    @property
    def answers(self) -> tuple[Trace | None, ...]:
        return (self.trace,)

    def _enter(self) -> None:
        self.picture_before = self.conversation.picture
        self.conversation.answer = self.conversation.latest = self

    def _leave(self) -> None:
        if self.conversation.answer is self:
            self.conversation.answer = None

    def _pieces(self, target: Any) -> Iterator[None]:
        warm = self._worker.warm if self._worker is not None else None
        session = self.conversation.session(target, self.config, warm)
        familiar.show(session, self._pictures)
        yield
        with recap.stream(
            target, self.prompt, self._pictures, method=self.method, max_new_tokens=self.max_new_tokens,
            temperature=self.temperature, seed=self.seed, session=session,
        ) as stream:  # fmt: skip
            self.prompt_end = stream.prompt_ids[-3:].tolist()
            self.trace = stream.trace
            yield
            for _ in stream.reading():
                yield
            self.conversation.growth.append(self._sizes)
            self._stream = stream
            self._now("writing")
            for step in stream:
                self._took(step)
                yield

    @property
    def stream(self) -> Stream | None:
        return self._stream if self._stream is not None and self._stream.writing else None

    def _took(self, step: Step) -> None:
        if step.sizes:
            self._sizes.append(step.sizes)
        self._passed()


class Contest(Job):
    """A race of two methods on one question. It starts from nothing: no conversation, no memories, no cache."""

    kind = "race"

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

    @property
    def way(self) -> str:
        return "+".join(self.methods)

    @property
    def answers(self) -> tuple[Trace | None, ...]:
        return self.traces

    def _enter(self) -> None:
        self.conversation.contest = self.conversation.latest_contest = self

    def _leave(self) -> None:
        if self.conversation.contest is self:
            self.conversation.contest = None

    def _pieces(self, target: Any) -> Iterator[None]:
        with Race(
            target, self.prompt, self._pictures, self.methods, self.max_new_tokens, self.temperature, self.seed,
            self.config, proceed=lambda: not self.stopped,
        ) as race:  # fmt: skip
            self.race = race
            for _ in race:
                self._now("writing")
                self._passed()
                yield
