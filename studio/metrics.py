"""What the operator sees of the traffic: counters for Prometheus and a log line per answer. Nothing of what anybody wrote."""

from __future__ import annotations

import logging
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, Summary, generate_latest

from recap.trace import Trace

from .jobs import Contest, Job
from .visitors import Visitors
from .worker import Worker

log = logging.getLogger(__name__)

_SECONDS = (0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300)


class Metrics:
    """Counts what ended, and asks worker and visitors for the rest when somebody looks."""

    def __init__(self) -> None:
        self.registry = mine = CollectorRegistry()
        ProcessCollector(registry=mine)
        self._ended = Counter("recap_answers", "Answers, races and measurements that ended", ["kind", "method", "outcome"], registry=mine)
        self._refused = Counter("recap_refused_requests", "Requests that went no further", ["status"], registry=mine)
        self._full = Counter("recap_turned_away", "Questions that found the line full", registry=mine)
        self._tokens = Counter("recap_tokens", "Tokens committed", ["method"], registry=mine)
        self._passes = Counter("recap_passes", "Passes of the model", ["method"], registry=mine)
        self._seconds = Counter("recap_device_seconds", "Answers' own time: tokens over it are tokens per second",
                                ["method", "phase"], registry=mine)  # fmt: skip
        self._tau = Summary("recap_acceptance_length", "tau of an answer", ["method"], registry=mine)
        self._speedup = Summary("recap_race_speedup", "S of a race against plain decoding", ["method"], registry=mine)
        self._waited = Histogram("recap_waited_seconds", "From asking to the first turn", buckets=_SECONDS, registry=mine)
        self._first = Histogram("recap_first_token_seconds", "From asking to the first token, waiting included",
                                ["kind"], buckets=_SECONDS, registry=mine)  # fmt: skip

    def watch(self, worker: Worker, visitors: Visitors) -> None:
        """Where to look for what is counted at the moment of asking."""
        worker.turned_away = self.turned_away
        for name, meaning, value in (
            ("recap_model_ready", "1 when the model is loaded", lambda: float(worker.target is not None)),
            ("recap_visitors", "Open pages", lambda: len(visitors)),
            ("recap_running", "Answers and races that share the device", lambda: worker.counts[0]),
            ("recap_waiting", "Those that wait for their first turn", lambda: worker.counts[1]),
            ("recap_warm_memory_bytes", "Memory of the warm U that all visitors share, 0 without one",
             lambda: 0.0 if worker.warm is None else float(worker.warm.base.bytes)),
        ):  # fmt: skip
            Gauge(name, meaning, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        """All of it as Prometheus reads it."""
        return generate_latest(self.registry)

    def refused(self, status: int) -> None:
        """A request was turned away."""
        self._refused.labels(str(status)).inc()

    def turned_away(self) -> None:
        """A question found the line full."""
        self._full.inc()
        log.info("the line is full")

    def ended(self, job: Job) -> None:
        """An answer, a race or a measurement ended, in whatever way."""
        traces = [trace for trace in job.answers if trace is not None]
        outcome = "failed" if job.error else "stopped" if job.stopped else "complete"
        methods = job.way
        self._ended.labels(job.kind, methods, outcome).inc()
        for trace in traces:
            self._count(trace)
        if isinstance(job, Contest) and job.race is not None and job.race.finished and job.methods[0] == "ar":
            self._speedup.labels(job.methods[1]).observe(job.race.speedup)
        if job.waited is not None:
            self._waited.observe(job.waited)
        if job.first_word is not None:
            self._first.labels(job.kind).observe(job.first_word)
        log.info(f"{job.kind} ended", extra={"facts": {
            "method": methods, "outcome": outcome, "picture": job.picture is not None,
            "tokens": sum(len(trace.token_ids) for trace in traces), "passes": sum(len(trace.steps) for trace in traces),
            "tau": [round(trace.acceptance_length, 3) for trace in traces if trace.steps],
            "seconds": round(sum(trace.seconds for trace in traces), 3), "device_seconds": round(job.used, 3),
            "waited": _rounded(job.waited), "first_token": _rounded(job.first_word),
        }})  # fmt: skip

    def _count(self, trace: Trace) -> None:
        method = trace.method
        self._tokens.labels(method).inc(len(trace.token_ids))
        self._passes.labels(method).inc(len(trace.steps))
        for phase in ("encode", "prefill", "decode"):
            self._seconds.labels(method, phase).inc(getattr(trace, f"{phase}_seconds"))
        if trace.steps:
            self._tau.labels(method).observe(trace.acceptance_length)


def _rounded(seconds: float | None) -> Any:
    return None if seconds is None else round(seconds, 3)
