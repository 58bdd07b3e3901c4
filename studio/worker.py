"""One thread owns the device: it loads the model, then does the work of several jobs in turns, piece by piece."""

from __future__ import annotations

import logging
import re
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from recap import WarmMemory, together
from recap.shortage import give_back, is_shortage
from recap.trace import Step

from .jobs import Job
from .limits import Limits
from .turns import Turns

log = logging.getLogger(__name__)

_MOST_ASIDES = 32
"""Looks aside that may wait at once."""
_MOST_OF_ONE = 8
"""Jobs that may wait for one owner."""
_LATELY = 20
"""Jobs whose mean says what one takes."""
CLOSING = "The studio is closing; try again in a minute."
BROKEN = "Something went wrong in the studio itself; ask again."
SHORTAGE = (
    "There was not enough memory on the device for this answer; others were not disturbed. Ask with a smaller picture, fewer "
    "candidates per pass or a shorter text, or start a new chat."
)


class Refused(RuntimeError):
    """A job cannot be taken now. The message is for people."""


class Worker:
    """Loads the target as its first job. `load` is called again for the next question if loading failed.

    At most `limits.running` jobs have turns, one at a time of each owner; `limits.waiting` more wait in the order in which
    they were asked for. `ended` is told of every job that ended, on whatever thread ended it. Jobs may be asked for and
    stopped by any thread.
    """

    def __init__(
        self, load: Callable[[], Any], limits: Limits = Limits(), ended: Callable[[Job], None] = lambda job: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:  # fmt: skip
        self._load, self.limits, self._ended, self._clock = load, limits, ended, clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")
        self._waiting: list[Job] = []
        self._turns: Turns[Job] = Turns()
        """Those that run. Changed on the device's thread alone, with the lock held."""
        self._asides: deque[tuple[Callable[[Any], Any], Future]] = deque()
        self._at_work = self._closing = False
        self._lock = threading.Lock()
        self._took: deque[float] = deque(maxlen=_LATELY)
        self._started = time.monotonic()
        self.target: Any = None
        self.warm: WarmMemory | None = None
        """Rows of U that the operator loaded for every visitor's answers; set with the target, or never."""
        self.error = ""
        """Why the model could not be loaded: a sentence."""
        self.doing = ""
        """What loading is at: a sentence."""
        self.turned_away: Callable[[], None] = lambda: None
        """Told of every question that found the line full."""

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
    def closing(self) -> bool:
        return self._closing

    @property
    def seconds_loading(self) -> float:
        return time.monotonic() - self._started

    @property
    def counts(self) -> tuple[int, int]:
        """How many run and how many wait."""
        with self._lock:
            return len(self._turns), len(self._waiting)

    def ask(self, job: Job) -> Any:
        """Queue an answer or a race and return it; its state tells how it goes. Raises Refused when too many wait."""
        with self._lock:
            if self._closing:
                raise Refused(CLOSING)
            if len(self._turns) + len(self._waiting) >= self.limits.running + self.limits.waiting:
                wait = self._estimate(len(self._waiting))
                self.turned_away()
                raise Refused(
                    f"Too many people are asking at the moment: {_many(len(self._turns), 'answer')} being written, "
                    f"{_many(len(self._waiting), 'question')} waiting. Try again in {_about(wait) if wait else 'a minute'}."
                )
            if sum(other.conversation.owner == job.conversation.owner for other in self._waiting) >= _MOST_OF_ONE:
                raise Refused(f"You have {_MOST_OF_ONE} questions waiting already; let these be answered first.")
            job._worker = self
            job._enter()
            self._waiting.append(job)
            self._wake()
        return job

    def ahead(self, job: Job) -> int:
        """How many others run or come before a job that waits; 0 for one that has its turns."""
        with self._lock:
            return len(self._turns) + self._waiting.index(job) if job in self._waiting else 0

    def wait(self, job: Job) -> str:
        """About how long it will be until a waiting job has its first turn, in words; empty while nobody can tell."""
        with self._lock:
            seconds = self._estimate(self._waiting.index(job)) if job in self._waiting else None
        return _about(seconds) if seconds else ""

    def _estimate(self, place: int) -> float | None:
        """Jobs share the device, so one ends in about the time that one takes alone, however many run."""
        missing = place + 1 - (self.limits.running - len(self._turns))
        return max(missing, 0) * statistics.fmean(self._took) if self._took else None

    def aside(self, function: Callable[[Any], Any]) -> Future:
        """Have `function(target)` done on the device's thread: at once when it is idle, else between two pieces of work,
        off everybody's clock. For short looks at what only that thread may touch, such as a drafter's memories.

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

    def close(self, patience: float = 0.0) -> bool:
        """Stop everything: what runs ends with its pass, what waits never begins, and nothing new is taken. Whether all of
        it has ended within `patience` seconds."""
        with self._lock:
            self._closing = True
            jobs = [*self._turns, *self._waiting]
        for job in jobs:
            job.stop()
        deadline = time.monotonic() + patience
        while not all(job.ended for job in jobs) and time.monotonic() < deadline:
            time.sleep(0.01)
        return all(job.ended for job in jobs)

    def _wake(self) -> None:
        """The caller holds the lock."""
        if not self._at_work:
            self._at_work = True
            self._thread.submit(self._work)

    def _work(self) -> None:
        """Pieces of work in turns until nobody wants any. A mistake outside of a piece ends all that was asked for, and not
        the device's thread."""
        try:
            self._take_turns()
        except Exception:
            log.exception("the device's work broke off")
            with self._lock:
                jobs = [*self._turns, *self._waiting]
                self._at_work = False
            for job in jobs:
                self._leave(job, BROKEN)

    def _take_turns(self) -> None:
        while True:
            self._look_aside()
            for job in self._turns:
                if job.stopped:
                    self._finish(job)
            with self._lock:
                if not self._turns and not self._waiting:
                    if self._asides:
                        continue
                    self._at_work = False
                    return
                fresh = bool(self._waiting)
            if fresh and not self._loaded():
                continue
            with self._lock:
                self._admit()
                job = self._turns.next()
            if job is not None and job.stream is not None and self.target.packs:
                self._pass([other for other in self._turns.able() if other.stream is not None and not other.stopped])
            elif job is not None:
                self._piece(job)

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

    def _loaded(self) -> bool:
        """Load the model if need be; where that fails, so do all that wait for it."""
        self._ensure_loaded()
        if self.error:
            with self._lock:
                waiting = list(self._waiting)
            for job in waiting:
                self._leave(job, f"The model could not be loaded: {self.error}")
        return not self.error

    def _admit(self) -> None:
        """Give turns to those that wait, where there is room; one at a time of each owner. The caller holds the lock."""
        served = {job.conversation.owner for job in self._turns}
        for job in tuple(self._waiting):
            if len(self._turns) >= self.limits.running:
                return
            if job.conversation.owner not in served:
                served.add(job.conversation.owner)
                self._waiting.remove(job)
                self._turns.add(job)
                job.waited = time.monotonic() - job.asked
                job._now("reading")

    def _piece(self, job: Job) -> None:
        """The next piece of one job's work."""
        begun, more, mistake = self._clock(), False, None
        try:
            more = job._advance(self.target)
        except Exception as error:
            mistake = error
        self._did(job, self._clock() - begun, mistake)
        if not more and mistake is None:
            self._finish(job)

    def _pass(self, jobs: list[Job]) -> None:
        """One pass for all of these answers. Time is shared out by nodes."""
        for job, (outcome, spent) in zip(jobs, together.advance(self.target, [job.stream for job in jobs])):
            if isinstance(outcome, Step):
                job._took(outcome)
            self._did(job, spent, None if isinstance(outcome, Step) else outcome)
            if isinstance(outcome, Step) and job.stream is None:  # that was its last pass
                self._piece(job)

    def _did(self, job: Job, spent: float, mistake: Exception | None) -> None:
        """A piece of a job's work took so long; a mistake ends it."""
        job.used += spent
        self._turns.took(job, spent)
        if mistake is None:
            return
        if isinstance(mistake, (ValueError, TypeError)):  # the engine's sentences about what a person gave it
            error = sentence(mistake)
        elif is_shortage(mistake):
            error = SHORTAGE
            log.error("out of memory: an answer was ended")
            mistake.__traceback__ = None  # nothing of the failed piece is referred to any more
            job.conversation.release()
            give_back()
        else:
            log.error("an answer failed", exc_info=mistake)
            error = f"Something went wrong while answering ({type(mistake).__name__}: {sentence(mistake)})"
        self._finish(job, error)

    def _finish(self, job: Job, error: str = "") -> None:
        """End a job that has its turns."""
        try:
            job._end()
        except Exception as mistake:
            log.exception("an answer could not be left off")
            error = error or f"Something went wrong while ending ({type(mistake).__name__})."
        if not job.stopped and not error:
            self._took.append(job.used)
        job.conversation.tidy(self.limits.memory_megabytes * 1e6)
        self._leave(job, error)

    def _withdraw(self, job: Job) -> None:
        """A stopped job leaves at once while it waits, else before its next piece of work."""
        self._leave(job, only_waiting=True)

    def _leave(self, job: Job, error: str = "", only_waiting: bool = False) -> None:
        """The one way out."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
            elif job in self._turns and not only_waiting:
                self._turns.remove(job)
            else:
                return
            job.error = error
        try:
            self._ended(job)
        finally:  # counted before anyone hears of it
            job._leave()
            job._now("failed" if error else "done")

    def _ensure_loaded(self) -> None:
        if self.target is not None:
            return
        self.error, self._started = "", time.monotonic()
        try:
            self.target = self._load()
        except Exception as error:
            self.error = sentence(error)  # of the operator's choices, nothing of a visitor's
            log.exception("the model could not be loaded", extra={"facts": {"why": self.error}})
        else:
            log.info("the model is loaded", extra={"facts": {"seconds": round(self.seconds_loading, 1)}})


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _about(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(round(seconds / 5) * 5, 5)} s"
    return f"about {round(seconds / 60)} minutes"


_FOLDERS = re.compile(r"""(?<![\w:/.])(?:/[^\s/'":,]+)+/(?=[^\s/'"])|\b[A-Za-z]:\\(?:[^\s\\'":]+\\)+""")


def sentence(error: BaseException) -> str:
    """What an exception says as a sentence, without this machine's folders: visitors may be anyone."""
    text = _FOLDERS.sub("", str(error).strip()) or type(error).__name__
    if text.split()[0].isalpha():  # not the name of an argument
        text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…" else text + "."
