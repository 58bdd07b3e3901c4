"""What a pass costs in milliseconds, as a function of how many nodes it evaluates and how long the prefix is.

Measured once per model and machine, then corrected a little by every pass that runs.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Sequence
from threading import Lock
from time import perf_counter
from typing import Any, Protocol

import numpy as np

NODES = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
"""Sizes of the passes that are measured, root included."""
_ORDER = (1, 16, 64, 6, 12, 4, 8, 32, 2, 24, 48, 96)
"""Where a slow machine stops early, the sizes so far still outline the curve."""
_ROUNDS = 5
ROWS = 8
"""Top predictions fetched of every node, as decoding does."""
_PACE_RATE, _SHAPE_RATE = 0.1, 0.02
"""How far one pass moves the pace of the whole curve, and the curve where the pass was."""
_REDRAWN = 8
"""Passes after which the curve is drawn anew; the pace counts at once."""
_CLIP = 2.0
"""A pass that took this many times longer or shorter than expected counts no more than that."""


class Subject(Protocol):
    """What is measured: a target, or a runtime."""

    def new_cache(self) -> Any: ...

    def verify(self, tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, cache: Any, rope_delta: int) -> Any: ...


class PassCosts:
    """Monotone and piecewise linear in the nodes, with a part that grows with nodes x prefix.

    `nodes` (k,) rising whole numbers from 1 on and `ms` (k,), the milliseconds of a pass of so many nodes behind a prefix
    of `prefix` tokens; `per_pair`: milliseconds for every further pair of a node and a prefix token. Raises ValueError
    for anything else.
    """

    def __init__(self, nodes: Sequence[int], ms: Sequence[float], prefix: int = 0, per_pair: float = 0.0) -> None:
        self.nodes = [int(count) for count in nodes]
        self._ms = [float(value) for value in ms]
        if len(self.nodes) != len(self._ms) or self.nodes[:1] != [1]:
            raise ValueError("nodes and ms must be equally long lists, and nodes must begin with 1")
        if any(left >= right for left, right in zip(self.nodes, self.nodes[1:])):
            raise ValueError("nodes must rise")
        if not all(0 < value < math.inf for value in self._ms):
            raise ValueError("ms must be positive numbers")
        if not (math.isfinite(per_pair) and per_pair >= 0 and prefix >= 0):
            raise ValueError("prefix and per_pair must be numbers of 0 or more")
        self.prefix = int(prefix)
        self.per_pair = float(per_pair)
        self.pace = 1.0
        """How the machine runs at present: 1 as when the curve was measured, 2 twice as slow."""
        self._lock = Lock()
        self._curve = self._sizes = np.empty(0)
        self._learned = 0

    def curve(self, most: int, prefix: int) -> np.ndarray:
        """Expected milliseconds of passes of 1, 2, ..., `most` nodes behind a prefix of so many tokens, (most,)."""
        with self._lock:
            return self.pace * (self._drawn(most)[:most] + self._growth(prefix) * self._sizes[:most])

    def ms(self, nodes: int, prefix: int) -> float:
        """Expected milliseconds of a pass of `nodes` nodes, root included."""
        with self._lock:
            return self.pace * (float(self._drawn(nodes)[nodes - 1]) + self._growth(prefix) * nodes)

    def _growth(self, prefix: int) -> float:
        return self.per_pair * max(prefix - self.prefix, 0)

    def _drawn(self, most: int) -> np.ndarray:
        if len(self._curve) < most:
            self._sizes = np.arange(1, max(most, NODES[-1]) + 1)
            self._curve = self._outline(self._sizes)
        return self._curve

    def learn(self, nodes: int, prefix: int, ms: float) -> None:
        """Take a pass that has run into account. What a single one can change is limited: others may use the machine."""
        if not ms > 0:
            return
        surprise = math.log(ms / self.ms(nodes, prefix))
        surprise = min(max(surprise, -math.log(_CLIP)), math.log(_CLIP))
        with self._lock:
            self.pace *= math.exp(_PACE_RATE * surprise)
            right = min(bisect_left(self.nodes, nodes), len(self.nodes) - 1)
            left = right if self.nodes[right] <= nodes else right - 1
            span = self.nodes[right] - self.nodes[left]
            share = (nodes - self.nodes[left]) / span if span else 0.0
            self._ms[left] *= math.exp(_SHAPE_RATE * (1.0 - share) * surprise)
            self._ms[right] *= math.exp(_SHAPE_RATE * share * surprise)
            self._learned += 1
            if self._learned % _REDRAWN == 0:
                self._curve = np.empty(0)

    def _outline(self, sizes: np.ndarray) -> np.ndarray:
        # halfway between the closest monotone curves from above and from below
        above = np.maximum.accumulate(self._ms)
        below = np.minimum.accumulate(self._ms[::-1])[::-1]
        ms = (above + below) / 2
        curve = np.interp(sizes, self.nodes, ms)
        if len(self.nodes) > 1:
            slope = (ms[-1] - ms[-2]) / (self.nodes[-1] - self.nodes[-2])
            curve += slope * np.maximum(sizes - self.nodes[-1], 0)
        return curve

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, the present pace included."""
        with self._lock:
            return {
                "nodes": self.nodes, "ms": [value * self.pace for value in self._ms], "prefix": self.prefix,
                "per_pair": self.per_pair * self.pace,
            }  # fmt: skip

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> PassCosts:
        """The inverse of `to_dict`. Raises ValueError for anything that is no such thing."""
        try:
            return cls(values["nodes"], values["ms"], values["prefix"], values["per_pair"])
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"these are no costs of passes: {error}") from None


def measure(
    subject: Subject,
    ids: Sequence[int],
    seconds: float = 1.5,
    clock: Callable[[], float] = perf_counter,
    progress: Callable[[str, float | None], None] | None = None,
) -> PassCosts:
    """Time passes of every size in `NODES`, round after round for about `seconds`, so that noise falls on all of them.

    `ids`: any tokens that the model knows. A machine so slow that not even one round fits measures the sizes that
    matter most, at least two of them.
    """
    chain = np.resize(np.array(ids, dtype=np.int64), max(NODES))
    cache = subject.new_cache()
    samples: dict[int, list[tuple[int, float]]] = {}
    begin = clock()
    longest = max(NODES)

    def run(nodes: int) -> float:
        start = clock()
        tree = np.tril(np.ones((nodes, nodes), dtype=bool))
        subject.verify(chain[:nodes], np.arange(nodes, dtype=np.int32), tree, cache, 0).top(ROWS)
        return 1000.0 * (clock() - start)

    run(1)
    cache.keep([0])
    for number in range(_ROUNDS):
        for nodes in _ORDER:
            spent = clock() - begin
            if spent > seconds and len(samples) > 1:
                break
            if progress is not None:
                progress("Measuring what a pass costs", min(spent / seconds, 0.99))
            if nodes <= longest:
                samples.setdefault(nodes, []).append((cache.length, run(nodes)))
            if nodes == 64 and nodes in samples:
                cache.keep(range(nodes))
                # where 64 nodes cost far more than one, larger trees are never worth it
                longest = max(NODES) if _typical(samples[64]) < 3 * _typical(samples[1]) else 64
    if progress is not None:
        progress("Measured what a pass costs", 1.0)
    sizes = sorted(samples)
    prefix = round(statistics.fmean(at for size in sizes for at, _ in samples[size]))
    growth = _growth(samples)
    level = {size: [(prefix, ms - growth * size * (at - prefix)) for at, ms in samples[size]] for size in sizes}
    return PassCosts(sizes, [max(_typical(level[size]), 1e-6) for size in sizes], prefix, growth)


def _typical(samples: list[tuple[int, float]]) -> float:
    # the least: whatever else runs on the machine can only add
    return min(ms for _, ms in samples)


def _growth(samples: dict[int, list[tuple[int, float]]]) -> float:
    """Milliseconds per pair of a node and a prefix token: what sizes took in the last round beyond the first."""
    slopes = []
    for nodes, taken in samples.items():
        (first, early), (last, late) = taken[0], taken[-1]
        if nodes >= 16 and last > first:
            slopes.append((late - early) / (nodes * (last - first)))
    return max(statistics.median(slopes), 0.0) if slopes else 0.0
