"""What is known of one model on one machine: costs of its passes and chances of its candidates, kept from run to run."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable
from threading import Lock
from time import perf_counter
from typing import Any

import torch

from . import store
from .acceptance import Acceptance
from .cost import ROWS, PassCosts, measure

_RATE, _CLIP = 0.2, 2.0
"""How far one prompt moves the cost of seeding, and how much a surprise may count."""
_EVERY = 20.0
"""Seconds between two writes."""

Progress = Callable[[str, "float | None"], None]


class Learned:
    """`costs` of passes, `seed_ms` per prompt row whose logits are taken, and the `acceptance` of candidates so far.

    `key`: what they belong to; without one nothing is read or written.
    """

    def __init__(
        self, costs: PassCosts, seed_ms: float, acceptance: Acceptance | None = None, key: dict[str, Any] | None = None
    ) -> None:
        self.costs = costs
        self.seed_ms = seed_ms
        self.acceptance = acceptance or Acceptance()
        self._key = key
        self._written = -math.inf

    def learn_seeding(self, rows: int, ms: float) -> None:
        """The logits of so many prompt rows took so long."""
        if rows > 0 and ms > 0:
            surprise = math.log(ms / rows / self.seed_ms)
            self.seed_ms *= math.exp(_RATE * min(max(surprise, -math.log(_CLIP)), math.log(_CLIP)))

    def save(self) -> None:
        """Keep it for the next run, at most every 20 seconds."""
        if self._key is None or perf_counter() - self._written < _EVERY:
            return
        self._written = perf_counter()
        store.write("costs", self._key, {**self.costs.to_dict(), "seed_ms": self.seed_ms})
        store.write("acceptance", {"model": self._key["model"]}, self.acceptance.to_dict())


_measuring = Lock()


def known(target: Any, progress: Progress | None = None) -> Learned:
    """What is known of a target; measured now, in a second or two, if nothing is. Held by the target itself."""
    with _measuring:
        if target.learned is None:
            key = describe(target.name, target.runtime)
            sample = target.prompt("How many of these are there, and what colour do they have?")
            target.learned = find(target, sample, key, progress)
        return target.learned


def find(subject: Any, sample: Any, key: dict[str, Any], progress: Progress | None = None) -> Learned:
    """From the user's cache folder, else measured with a sample prompt. `subject`: new_cache, prefill, predict, verify."""
    acceptance = _load(Acceptance.from_dict, store.read("acceptance", {"model": key["model"]}))
    kept = store.read("costs", key)
    costs = _load(PassCosts.from_dict, kept)
    if costs is not None and isinstance(kept.get("seed_ms"), float) and 0 < kept["seed_ms"] < math.inf:
        return Learned(costs, kept["seed_ms"], acceptance, key)
    costs = measure(subject, sample.ids, progress=progress)
    return Learned(costs, measure_seeding(subject, sample), acceptance, key)


def measure_seeding(subject: Any, sample: Any, clock: Callable[[], float] = perf_counter) -> float:
    """Milliseconds per row of a prompt whose top predictions are taken, beyond the one that is needed anyway."""
    hidden = torch.cat(list(subject.prefill(sample, 0, subject.new_cache())))
    took = []
    for rows in (1, len(hidden), len(hidden)):
        start = clock()
        subject.predict(hidden[:rows]).top(ROWS)
        took.append(1000.0 * (clock() - start))
    return max(min(took[1:]) / len(hidden), 1e-6)


def describe(name: str, runtime: Any) -> dict[str, Any]:
    """What the costs of a model's passes depend on."""
    device = torch.device(runtime.device)
    chip = torch.cuda.get_device_name(device) if device.type == "cuda" else torch.backends.cpu.get_cpu_capability()
    return {
        "model": f"{name} {runtime.vocabulary} {type(runtime).__module__}.{type(runtime).__qualname__}",
        "device": f"{device.type} {chip} {platform.machine()} {os.cpu_count()}", "dtype": str(runtime.dtype),
        "exact": bool(runtime.exact), "threads": torch.get_num_threads(), "torch": torch.__version__,
    }  # fmt: skip


def _load(make: Callable[[dict[str, Any]], Any], values: dict[str, Any] | None) -> Any:
    if values is None:
        return None
    try:
        return make(values)
    except ValueError:
        return None
