"""All replays of a pool of continuations: one record per continuation, from which every table is summed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .continuation import Continuation
from .growth import growth
from .recall import rules, sources
from .trees import budgets, policies, suffix, weights


def replay(pool: Iterable[Continuation], requests: int) -> dict[str, Any]:
    """{"states": n, "inputs": [record, ...], "growth": points}, all JSON types. A record holds the sums of one
    continuation: see `recall` and `trees` for what they mean. Raises ValueError for an empty pool."""
    records, met = [], []
    for one in pool:
        met.append(one)
        records.append(
            {
                "id": one.id, "category": one.category, "cluster": one.cluster, "states": len(one),
                "sources": sources(one), "rules": rules(one), "policies": policies(one), "suffix": suffix(one),
                "budgets": {str(cap): sums for cap, sums in budgets(one).items()},
                "weights": {str(count): sums for count, sums in weights(one).items()},
            }
        )  # fmt: skip
    if not met:
        raise ValueError("there are no continuations to replay")
    return {"states": sum(map(len, met)), "inputs": records, "growth": growth(met, requests)}
