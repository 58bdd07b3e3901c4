"""Intervals of differences by resampling whole clusters (appendix B)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

RESAMPLES = 2000


def interval(
    clusters: Sequence[Hashable], sums: Sequence[float], counts: Sequence[int], resamples: int = RESAMPLES, seed: int = 17
) -> tuple[float, float] | None:
    """A 95 % percentile interval of sum(sums) / sum(counts), one entry per input: inputs of the same cluster are drawn
    together, as many clusters as there are, with replacement. `sums` are paired differences, so that the pairing is kept.
    None where fewer than two clusters have anything to count."""
    names = list(dict.fromkeys(clusters))
    if len({name for name, count in zip(clusters, counts) if count}) < 2:
        return None
    place = {name: at for at, name in enumerate(names)}
    totals = np.zeros((len(names), 2))
    for name, one, count in zip(clusters, sums, counts):
        totals[place[name]] += one, count
    draws = np.random.default_rng(seed).integers(0, len(names), (resamples, len(names)))
    drawn = totals[draws].sum(axis=1)
    drawn = drawn[drawn[:, 1] > 0]
    low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    return float(low), float(high)
