"""A measurement of several methods on the same inputs: work for the device like an answer, piece by piece, one at a time."""

from __future__ import annotations

import json
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import recap
from recap.bench import counting, folder, machine, manifest, report, run, runner, tables
from recap.bench.contenders import PLAIN, Contender, contenders
from recap.bench.manifest import Input, Manifest
from recap.config import RecapConfig

from . import inputs, manifests, uploads
from .conversation import Conversation
from .jobs import Job
from .limits import Limits
from .worker import Refused, Worker

BUDGETS = {"auto": ("auto",), "paper": ("paper",), "both": ("auto", "paper")}
SHIPPED, OWN, FILE = "shipped", "own", "file"
SOURCES = (SHIPPED, OWN, FILE)
MOST_PROMPTS, MOST_REPEATS = 50, 5
MOST_ANSWERS = 1000
"""Of one measurement: about an hour on a small machine."""
KINDS = {"html": "report.html", "csv": "report.csv", "jsonl": "records.jsonl"}
"""What can be saved, and under which name."""


class Measurement(Job):
    """All contenders on all inputs. `visitor` is whose page it is; the job itself has a conversation of its own, so that
    its visitor can go on asking. `lens`: the contender whose passes are looked at through the image lens; `unpacked`: where an
    uploaded manifest's pictures lie, removed with the job's end."""

    kind = "measurement"

    def __init__(
        self, visitor: Conversation, asked: Manifest, taking_part: Sequence[Contender], max_new_tokens: int, repeats: int = 1,
        lens: str | None = None, unpacked: TemporaryDirectory[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(Conversation(), "", None, max_new_tokens, None, 0.0, None)
        self.visitor = visitor
        self.name = secrets.token_urlsafe(8)
        self.manifest, self.contenders, self.repeats = asked, tuple(taking_part), repeats
        self._lens, self._unpacked = lens, unpacked
        self.records: list[dict[str, Any]] = []
        """Of the inputs that all contenders have answered; it grows."""
        self.done = self.answered = 0
        """Inputs, in each repetition, and answers so far."""
        self.total = runner.total(asked.inputs, taking_part, (), repeats)
        self._counted: tuple[int, list[counting.Cell]] = 0, []
        self.about: dict[str, Any] = {}
        """Machine, versions, model and configuration, as `bench run` keeps them. Empty before its turn has come."""

    @property
    def way(self) -> str:
        return "several"

    @property
    def answers(self) -> tuple[recap.Trace | None, ...]:
        return ()

    @property
    def seconds_left(self) -> float | None:
        """As long as it has the device for itself; None while nobody can tell."""
        return self.used / self.answered * (self.total - self.answered) if self.answered else None

    def _enter(self) -> None:
        self.visitor.measurement = self.visitor.latest_measurement = self

    def _leave(self) -> None:
        if self.visitor.measurement is self:
            self.visitor.measurement = None
        if self._unpacked is not None:
            self._unpacked.cleanup()

    def _pieces(self, target: Any) -> Iterator[None]:
        chosen = run.configuration(
            target, self.manifest.inputs, self.contenders, (), self.max_new_tokens, self.repeats
        )
        self.about = folder.begun(chosen, run.describe(target, self.manifest))
        yield
        yield from runner.warming(target, self.contenders)
        self._now("writing")
        for found in runner.pieces(
            target, self.manifest.inputs, self.contenders, self.max_new_tokens, self.repeats, answered=self._count, lens=self._lens
        ):
            if found is not None:
                self.records += found
                self.done += 1
                self.answered = self.done * len(self.contenders)  # of one that could not be asked as well
                self._passed()
            yield
        self.about |= folder.ended({"load_after": machine.load()})

    def _count(self, name: str) -> None:
        self.answered += 1

    # what has come out of it so far

    def tables(self) -> list[tables.Table]:
        """All tables; none before the first input is done."""
        return tables.tables(self._cells(), self.records, self.manifest.problems) if self._usable() else []

    def pictures(self) -> list[Any]:
        """The figures of the report, each with a spec by theme."""
        return report.pictures(self.records, self._cells()) if self._usable() else []

    def saved(self, kind: str) -> str:
        """The contents of a file of one of KINDS. Raises ValueError before the first input is done."""
        if not self._usable():
            raise ValueError("nothing is measured yet")
        if kind == "jsonl":
            return "".join(json.dumps(record) + "\n" for record in self.records)
        return report.csv_of(self._cells()) if kind == "csv" else report.page(self.about, self.records, self._cells())

    def _usable(self) -> bool:
        return any("error" not in record for record in self.records)

    def _cells(self) -> list[counting.Cell]:
        """Counted once for all that is made of the same records: the intervals take thousands of draws."""
        records = list(self.records)
        if len(records) != self._counted[0]:
            self._counted = len(records), counting.everything(records)
        return self._counted[1]


class Laboratory:
    """Lets one measurement run at a time: two would spoil each other's figures and hold everybody up."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._current: Measurement | None = None

    def begin(self, job: Measurement) -> None:
        """Give it to the worker. Raises Refused with a sentence while another one runs or waits."""
        with self._lock:
            if self._current is not None and not self._current.ended:
                whose = "Your last" if self._current.visitor is job.visitor else "Another visitor's"
                left = self._current.seconds_left
                when = f"in about {max(round(left / 60), 1)} min" if left else "in a few minutes"
                raise Refused(
                    f"{whose} measurement is running: {self._current.answered} of {self._current.total} answers. Two at a "
                    f"time would spoil each other's figures; try again {when}."
                )
            self._worker.ask(job)
            self._current = job


def read(
    visitor: Conversation, methods: Any, budget: Any, source: Any, own: Any, file: str | None, limit: Any, most: Any,
    repeats: Any, lens: Any, picture: str | None, limits: Limits,
) -> Measurement:  # fmt: skip
    """A measurement as the page asks for it: `own` prompts, one a line, about the `picture` on the page, or an uploaded `file`.

    Raises ValueError with a sentence for what cannot be measured.
    """
    if not isinstance(methods, list) or not methods:
        raise ValueError("Choose a method to compare with plain decoding, which always takes part.")
    names = [inputs.method(name, recap.METHODS) for name in methods]
    if not isinstance(budget, str) or budget not in BUDGETS:
        raise ValueError(f"budget must be one of {', '.join(BUDGETS)}.")
    repeats = _whole("Repetitions", repeats, MOST_REPEATS)
    most = inputs.tokens(most, limits.tokens)
    limit = _whole("Inputs", limit, MOST_PROMPTS)
    taking_part = contenders([name for name in names if name != PLAIN], BUDGETS[budget], RecapConfig())
    seer = run.seer(taking_part) if lens is True else None
    unpacked = TemporaryDirectory(prefix="manifest-", dir=os.environ.get(uploads.VARIABLE)) if source == FILE else None
    if unpacked is not None:
        asked = manifests.read(file, Path(unpacked.name), limits)
        asked = asked._replace(inputs=manifest.select(asked.inputs, limit))
    else:
        asked = _asked(source, own, picture, limits.characters, limit)
    job = Measurement(visitor, asked, taking_part, most, repeats, seer, unpacked)
    if job.total > MOST_ANSWERS:
        raise ValueError(
            f"These are {job.total:,} answers; one measurement may have {MOST_ANSWERS:,}. Take fewer inputs, methods or repetitions."
        )
    return job


def _asked(source: Any, own: Any, picture: str | None, characters: int, limit: int) -> Manifest:
    """The inputs that ship, or prompts of the visitor's own."""
    if source == SHIPPED:
        shipped = manifest.read(manifest.DEFAULT)
        return shipped._replace(inputs=manifest.select(shipped.inputs, limit))
    if source != OWN:
        raise ValueError(f"source must be one of {', '.join(SOURCES)}.")
    lines = [line.strip() for line in str(own or "").splitlines() if line.strip()]
    if not lines:
        raise ValueError("Write a prompt or more, each on a line of its own.")
    if len(lines) > MOST_PROMPTS:
        raise ValueError(f"These are {len(lines)} prompts; one measurement may have {MOST_PROMPTS}.")
    images = (picture,) if picture else ()
    kept = [Input(str(at), "own prompts", (inputs.question(line, characters),), images) for at, line in enumerate(lines, start=1)]
    return Manifest(Path("own prompts"), kept, [])


def _whole(name: str, value: Any, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or not 1 <= value <= most or value != int(value):
        raise ValueError(f"{name} must be a whole number from 1 to {most}.")
    return int(value)
