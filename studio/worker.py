"""One thread owns the device: it loads the model, then does one job after another, in the order they were asked for."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .conversation import Job

log = logging.getLogger(__name__)

_MOST_ASIDES = 32
"""Looks aside that may wait at once."""


class Worker:
    """Loads the target as its first job. `load` is called again for the next question if loading failed."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")
        self._queue: list[Job] = []
        """The job at work first, then those that wait."""
        self._asides: deque[tuple[Callable[[Any], Any], Future]] = deque()
        self._at_work = False
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self.target: Any = None
        self.error = ""
        """Why the model could not be loaded: a sentence."""
        self.doing = ""
        """What loading is at: a sentence."""

    def start(self) -> None:
        """Begin loading."""
        self._thread.submit(self._ensure_loaded)

    def tell(self, text: str, fraction: float | None) -> None:
        """What `load` may report its progress to."""
        self.doing = text + ("." if fraction is None else f" ({fraction:.0%}).")

    @property
    def loading(self) -> bool:
        return self.target is None and not self.error

    @property
    def seconds_loading(self) -> float:
        return time.monotonic() - self._started

    def ask(self, job: Job) -> Any:
        """Queue an answer or a race and return it; its state tells how it goes."""
        with self._lock:
            job._worker = self
            job._enter()
            self._queue.append(job)
            self._wake()
        return job

    def ahead(self, job: Job) -> int:
        """How many other jobs come first; those stopped while they waited are not among them."""
        with self._lock:
            return self._queue.index(job) if job in self._queue else 0

    def aside(self, function: Callable[[Any], Any]) -> Future:
        """Have `function(target)` done on the device's thread: at once when it is idle, else between two passes of the
        job at work, off its clock. For short looks at what only that thread may touch, such as a drafter's memories.

        What the function raises is the future's. So is a RuntimeError with a sentence when no model is loaded or when
        too many wait already.
        """
        future: Future = Future()
        with self._lock:
            if self.target is None:
                refusal = "No model is loaded." if self.error else "The model is still loading; try again in a moment."
            elif len(self._asides) >= _MOST_ASIDES:
                refusal = f"{_MOST_ASIDES} other look-ups are waiting; try again in a moment."
            else:
                self._asides.append((function, future))
                self._wake()
                return future
        future.set_exception(RuntimeError(refusal))
        return future

    def close(self) -> None:
        """Stop everything: the job at work ends with its pass, and those that wait never begin."""
        with self._lock:
            jobs = list(self._queue)
        for job in jobs:
            job.stop()

    def _wake(self) -> None:
        """The caller holds the lock."""
        if not self._at_work:
            self._at_work = True
            self._thread.submit(self._work)

    def _work(self) -> None:
        """Do one job after another until none waits."""
        while True:
            self._look_aside()
            with self._lock:
                if not self._queue:
                    if self._asides:
                        continue
                    self._at_work = False
                    return
                job = self._queue[0]
            self._run(job)

    def _look_aside(self) -> None:
        """On the device's thread, between two pieces of work: what was asked for aside until now."""
        for _ in range(len(self._asides)):
            with self._lock:
                function, future = self._asides.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(self.target))
            except Exception as error:
                future.set_exception(error)

    def _run(self, job: Job) -> None:
        error = ""
        try:
            self._ensure_loaded()
            if not self._begin(job):
                return
            if self.error:
                error = f"The model could not be loaded: {self.error}"
            else:
                job._run(self.target)
        except (ValueError, TypeError) as mistake:  # the engine's sentences about what a person gave it
            error = sentence(mistake)
        except Exception as mistake:
            log.exception("an answer failed")
            error = f"Something went wrong while answering ({type(mistake).__name__}: {sentence(mistake)})"
        finally:
            with self._lock:
                self._leave(job, error)

    def _begin(self, job: Job) -> bool:
        """From now on a stop has to wait for the end of a pass. False if the job was stopped before."""
        with self._lock:
            if not job.ended:
                job._now("reading")
            return not job.ended

    def _withdraw(self, job: Job) -> None:
        with self._lock:
            if job.state == "waiting":
                self._leave(job)

    def _leave(self, job: Job, error: str = "") -> None:
        """The one way out of the queue. The caller holds the lock."""
        if job not in self._queue:
            return
        self._queue.remove(job)
        job._leave()
        job.error = error
        job._now("failed" if error else "done")

    def _ensure_loaded(self) -> None:
        if self.target is not None:
            return
        self.error, self._started = "", time.monotonic()
        try:
            self.target = self._load()
        except Exception as error:
            log.exception("the model could not be loaded")
            self.error = sentence(error)


_FOLDERS = re.compile(r"""(?<![\w:/.])(?:/[^\s/'":,]+)+/(?=[^\s/'"])|\b[A-Za-z]:\\(?:[^\s\\'":]+\\)+""")


def sentence(error: BaseException) -> str:
    """What an exception says as a sentence, without this machine's folders: visitors may be anyone."""
    text = _FOLDERS.sub("", str(error).strip()) or type(error).__name__
    if text.split()[0].isalpha():  # not the name of an argument
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else text + "."
