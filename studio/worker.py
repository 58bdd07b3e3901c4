"""One thread owns the device: it loads the model, then gives one answer after another, in the order they were asked."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import recap
from recap.trace import Step, Trace

log = logging.getLogger(__name__)


class Conversation:
    """One visitor's conversation. The engine's session is made by the worker when the first answer needs it."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        """The chat as shown, in the form of gr.Chatbot."""
        self.picture: str | None = None
        """Path of the picture that the conversation already holds."""
        self.answer: Answer | None = None
        """The answer in the making, if any."""
        self._session: recap.Session | None = None
        self._fresh = False

    def session(self, target: Any) -> recap.Session:
        """The engine's side of this conversation; U outlives `clear`."""
        if self._session is None:
            self._session = recap.Session(target)
        elif self._fresh:
            self._session.reset()
        self._fresh = False
        return self._session

    def clear(self) -> None:
        """Start a new chat, stopping the answer in the making."""
        self.stop()
        self.messages, self.picture, self.answer, self._fresh = [], None, None, True

    def stop(self) -> None:
        if self.answer is not None:
            self.answer.stop()

    def close(self) -> None:
        """The visitor has gone: stop and let go of memories and cache."""
        self.clear()
        self._session = None


class Answer:
    """A question on its way. The worker fills it in; the page reads it whenever it likes."""

    def __init__(
        self, conversation: Conversation, prompt: str, picture: str | None, method: str, max_new_tokens: int
    ) -> None:
        self.conversation = conversation
        self.prompt, self.picture, self.method, self.max_new_tokens = prompt, picture, method, max_new_tokens
        self.state = "waiting"
        """waiting | reading (pictures and prompt) | writing | done | failed."""
        self.trace: Trace | None = None
        self.error = ""
        """A sentence, when it failed."""
        self._stopped = threading.Event()
        self._changed = threading.Event()

    @property
    def text(self) -> str:
        return self.trace.text if self.trace else ""

    @property
    def step(self) -> Step | None:
        """The latest pass that had candidates; the latest of all where none had (the last token needs no draft)."""
        steps = self.trace.steps if self.trace else []
        return next((step for step in reversed(steps) if len(step) > 1), steps[-1] if steps else None)

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    @property
    def ended(self) -> bool:
        return self.state in ("done", "failed")

    def stop(self) -> None:
        """End within one pass; what was said so far is kept."""
        self._stopped.set()
        if self.state == "waiting":
            self._now("done")

    def follow(self, seconds: float) -> Iterator[None]:
        """Yields when something has changed, at most once in `seconds`, until the answer has ended."""
        while not self.ended:
            self._changed.wait(timeout=1.0)
            self._changed.clear()
            yield
            time.sleep(seconds)

    def _now(self, state: str) -> None:
        self.state = state
        self._changed.set()

    def _run(self, target: Any) -> None:
        """On the worker's thread alone: torch keeps some of its modes per thread."""
        if self.stopped:
            return self._now("done")
        self._now("reading")
        pictures = [self.picture] if self.picture else []
        session = self.conversation.session(target)
        with recap.stream(
            target, self.prompt, pictures, method=self.method, max_new_tokens=self.max_new_tokens, session=session
        ) as stream:
            self.trace = stream.trace
            if not self.stopped:
                stream.prefill()
                self._now("writing")
            while not self.stopped and next(stream, None) is not None:
                self._changed.set()
        self._now("done")

    def _fail(self, sentence: str) -> None:
        self.error = sentence
        self._now("failed")


class Worker:
    """Loads the target as its first job. `load` is called again for the next question if loading failed."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")
        self._queue: list[Answer] = []
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.target: Any = None
        self.error = ""
        """Why the model could not be loaded: a sentence."""

    def start(self) -> None:
        """Begin loading."""
        self._thread.submit(self._ensure_loaded)

    @property
    def loading(self) -> bool:
        return self.target is None and not self.error

    @property
    def seconds_loading(self) -> float:
        return time.monotonic() - self._started

    def ask(self, answer: Answer) -> Answer:
        """Queue an answer; its state tells how it goes."""
        with self._lock:
            self._queue.append(answer)
        answer.conversation.answer = answer
        self._thread.submit(self._run, answer)
        return answer

    def ahead(self, answer: Answer) -> int:
        """How many other answers come first."""
        with self._lock:
            return self._queue.index(answer) if answer in self._queue else 0

    def _run(self, answer: Answer) -> None:
        try:
            self._ensure_loaded()
            if self.error:
                answer._fail(f"The model could not be loaded: {self.error}")
            else:
                answer._run(self.target)
        except (ValueError, TypeError) as error:  # the engine's sentences about what a person gave it
            answer._fail(_sentence(error))
        except Exception as error:
            log.exception("an answer failed")
            answer._fail(f"Something went wrong while answering ({type(error).__name__}: {_sentence(error)})")
        finally:
            if answer.conversation.answer is answer:
                answer.conversation.answer = None
            with self._lock:
                self._queue.remove(answer)

    def _ensure_loaded(self) -> None:
        if self.target is not None:
            return
        self.error, self._started = "", time.monotonic()
        try:
            self.target = self._load()
        except Exception as error:
            log.exception("the model could not be loaded")
            self.error = _sentence(error)


def _sentence(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    if text.split()[0].isalpha():  # not the name of an argument
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else text + "."
