"""How persistent U grows over a stream of requests (Figure 5)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..config import RecapConfig
from ..drafter import Drafter
from .continuation import Continuation

SEEDS = (17, 29, 43)
"""The paper's orders."""


def growth(pool: Sequence[Continuation], requests: int = 10_000, seeds: Sequence[int] = SEEDS) -> list[dict[str, Any]]:
    """Cyclic replay: the same continuations again and again, shuffled anew at each pass through them, their rows observed
    into a U that is never cleared. At 1, 2, 5, 10, ... requests, at every continuation once, and at the end: requests, and
    mean, least and most over the orders of the keys in U and of the bytes allocated for it. Drafting, C and G are left out.
    """
    marks = sorted({len(pool), requests, *(step * 10**power for power in range(7) for step in (1, 2, 5))})
    marks = [mark for mark in marks if mark <= requests]
    # within a request the newest row of a token wins
    kept = [_latest(one) for one in pool]
    points: dict[int, list[tuple[int, int]]] = {mark: [] for mark in marks}
    top_k = pool[0].ids.shape[1]
    for seed in seeds:
        draw, order = random.Random(seed), list(range(len(pool)))
        u = Drafter(RecapConfig(memories="U", suffix=False, top_k=top_k, width=top_k))
        for number in range(requests):
            if number % len(pool) == 0:
                draw.shuffle(order)
            u.begin(())
            u.seed(*kept[order[number % len(pool)]])
            if number + 1 in points:
                u.begin(())  # the bytes of a request's own bookkeeping do not count
                stats = u.stats()
                points[number + 1].append((stats["U"], stats["bytes"]))
    return [
        {"requests": mark, "keys": _spread([keys for keys, _ in found]), "bytes": _spread([size for _, size in found])}
        for mark, found in points.items()
    ]


def _latest(one: Continuation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The last row of each token, as a call of `seed`."""
    before = np.concatenate([one.prompt[-1:], one.tokens[:-1]])
    last = {int(token): state for state, token in enumerate(before)}
    places = list(last.values())
    return before[places], one.ids[places], one.logits[places]


def _spread(values: list[int]) -> dict[str, float]:
    return {"mean": float(np.mean(values)), "least": min(values), "most": max(values)}
