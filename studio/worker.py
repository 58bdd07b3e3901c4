"""One thread owns the device: it loads the model, then gives one answer after another, in the order they were asked."""

from __future__ import annotations

import logging
import re
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
        self.latest: Answer | None = None
        """The answer that was asked for last in this chat, ended or not."""
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
        self.messages, self.picture, self.answer, self.latest, self._fresh = [], None, None, None, True

    def stop(self) -> None:
        answer = self.answer  # the worker may take it away meanwhile
        if answer is not None:
            answer.stop()

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
        self._worker: Worker | None = None

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
        """End within one pass, at once if it is still waiting; what was said so far is kept."""
        self._stopped.set()
        if self._worker is not None:
            self._worker._withdraw(self)

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
        pictures = [self.picture] if self.picture else []
        session = self.conversation.session(target)
        with recap.stream(
            target, self.prompt, pictures, method=self.method, max_new_tokens=self.max_new_tokens, session=session
        ) as stream:
            self.trace = stream.trace
            if not self.stopped:
                stream.prefill(lambda: not self.stopped)
                self._now("writing")
            while not self.stopped and next(stream, None) is not None:
                self._changed.set()


class Worker:
    """Loads the target as its first job. `load` is called again for the next question if loading failed."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")
        self._queue: list[Answer] = []
        """The answer in the making first, then those that wait."""
        self._at_work = False
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
            answer._worker = self
            answer.conversation.answer = answer.conversation.latest = answer
            self._queue.append(answer)
            if not self._at_work:
                self._at_work = True
                self._thread.submit(self._work)
        return answer

    def ahead(self, answer: Answer) -> int:
        """How many other answers come first; those stopped while they waited are not among them."""
        with self._lock:
            return self._queue.index(answer) if answer in self._queue else 0

    def _work(self) -> None:
        """Give one answer after another until none waits."""
        while True:
            with self._lock:
                if not self._queue:
                    self._at_work = False
                    return
                answer = self._queue[0]
            self._run(answer)

    def _run(self, answer: Answer) -> None:
        error = ""
        try:
            self._ensure_loaded()
            if not self._begin(answer):
                return
            if self.error:
                error = f"The model could not be loaded: {self.error}"
            else:
                answer._run(self.target)
        except (ValueError, TypeError) as mistake:  # the engine's sentences about what a person gave it
            error = _sentence(mistake)
        except Exception as mistake:
            log.exception("an answer failed")
            error = f"Something went wrong while answering ({type(mistake).__name__}: {_sentence(mistake)})"
        finally:
            with self._lock:
                self._leave(answer, error)

    def _begin(self, answer: Answer) -> bool:
        """From now on a stop has to wait for the end of a pass. False if the answer was stopped before."""
        with self._lock:
            if not answer.ended:
                answer._now("reading")
            return not answer.ended

    def _withdraw(self, answer: Answer) -> None:
        with self._lock:
            if answer.state == "waiting":
                self._leave(answer)

    def _leave(self, answer: Answer, error: str = "") -> None:
        """The one way out of the queue. The caller holds the lock."""
        if answer not in self._queue:
            return
        self._queue.remove(answer)
        if answer.conversation.answer is answer:
            answer.conversation.answer = None
        answer.error = error
        answer._now("failed" if error else "done")

    def _ensure_loaded(self) -> None:
        if self.target is not None:
            return
        self.error, self._started = "", time.monotonic()
        try:
            self.target = self._load()
        except Exception as error:
            log.exception("the model could not be loaded")
            self.error = _sentence(error)


_FOLDERS = re.compile(r"""(?<![\w:/.])(?:/[^\s/'":,]+)+/(?=[^\s/'"])|\b[A-Za-z]:\\(?:[^\s\\'":]+\\)+""")


def _sentence(error: BaseException) -> str:
    """What an exception says as a sentence, without this machine's folders: visitors may be anyone."""
    text = _FOLDERS.sub("", str(error).strip()) or type(error).__name__
    if text.split()[0].isalpha():  # not the name of an argument
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else text + "."
