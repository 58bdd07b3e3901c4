"""Python twin: predictions as rows, and fusing the rows found (prediction.h, fusion.h).

Arithmetic is spelled out step by step, and with `math` instead of numpy, because both backends must agree to the last
bit. In particular sum() is avoided: newer Pythons compensate rounding in it.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .arguments import LARGEST_ID


class Row(NamedTuple):
    """Top-K ids by (-logit, id), softmax over them, exp(-entropy); numbers rounded to float32."""

    ids: tuple[int, ...]
    probs: tuple[float, ...]
    confidence: float


def float32(values: Sequence[float]) -> list[float]:
    return array("f", values).tolist()


def confidence_of(probs: Sequence[float]) -> float:
    negative_entropy = 0.0
    for p in probs:
        if p > 0.0:
            negative_entropy += p * math.log(p)
    return float32([math.exp(negative_entropy)])[0]


def make_rows(ids: np.ndarray, logits: np.ndarray) -> list[Row]:
    """One row per line of (n, K) ids and logits. ValueError naming the argument for ids out of range or repeated, or
    logits that are not finite."""
    made = []
    for number, (line, values) in enumerate(zip(ids.tolist(), logits.tolist())):
        for token, logit in zip(line, values):
            if not 0 <= token <= LARGEST_ID:
                raise ValueError(f"ids must lie between 0 and {LARGEST_ID}; row {number} does not")
            if not math.isfinite(logit):
                raise ValueError(f"logits must be finite; row {number} is not")
        if len(set(line)) != len(line):
            raise ValueError(f"ids must differ within a row; row {number} repeats one")
        order = sorted(zip(values, line), key=lambda pair: (-pair[0], pair[1]))
        weights = [math.exp(logit - order[0][0]) for logit, _ in order]
        total = 0.0
        for weight in weights:
            total += weight
        probs = float32([weight / total for weight in weights])
        made.append(Row(tuple(token for _, token in order), tuple(probs), confidence_of(probs)))
    return made


class Fused(NamedTuple):
    """A fused row: candidates (mass, id, parts of G, C, U) by falling mass; q(z) = mass / total (equations 5 and 6)."""

    candidates: list[tuple[float, int, list[float]]]
    total: float
    weights: list[float | None]

    def probability(self, rank: int) -> float:
        return self.candidates[rank][0] / self.total


def fusion_weights(rows: Sequence[Row | None], rule: str, priors: Sequence[float]) -> list[float | None]:
    """Normalised weights of G, C, U; None where no row was found. Priors go by rank among the rows found."""
    found = [i for i, row in enumerate(rows) if row is not None]
    weights: list[float | None] = [None] * len(rows)
    if rule in ("gate", "backoff"):
        for i in found:
            weights[i] = 0.0
        if found:  # max keeps the first of equals, that is, the longer key
            weights[max(found, key=lambda i: rows[i].confidence) if rule == "gate" else found[0]] = 1.0
        return weights
    total = 0.0
    for rank, i in enumerate(found):
        weight = priors[rank] if rule in ("entropy", "prior") else 1.0
        if rule in ("entropy", "confidence"):
            weight *= rows[i].confidence
        weights[i] = weight
        total += weight
    return [None if weight is None else weight / total for weight in weights]


def fuse(rows: Sequence[Row | None], rule: str, priors: Sequence[float], top_k: int) -> Fused:
    """The mixture cut to top-K; no candidates when no row was found."""
    return _mix(rows, fusion_weights(rows, rule, priors), top_k)


def fuse_spare(rows: Sequence[Row], priors: Sequence[float], top_k: int) -> Fused:
    """The same from up to three rows that no memory holds: priors by rank, without confidence (appendix H). They are
    nobody's rows, so that neither weights nor shares are told of them."""
    padded = [*rows, *[None] * (3 - len(rows))]
    fused = _mix(padded, fusion_weights(padded, "prior", priors), top_k)
    return fused._replace(candidates=[(mass, token, [0.0] * 3) for mass, token, _ in fused.candidates], weights=[None] * 3)


def _mix(rows: Sequence[Row | None], weights: list[float | None], top_k: int) -> Fused:
    mixture: dict[int, list] = {}
    for source, (row, weight) in enumerate(zip(rows, weights)):
        if row is None or weight == 0.0:
            continue
        for token, p in zip(row.ids, row.probs):
            entry = mixture.setdefault(token, [0.0, token, [0.0] * len(rows)])
            entry[2][source] = weight * p
            entry[0] += weight * p
    kept = sorted(mixture.values(), key=lambda entry: (-entry[0], entry[1]))[:top_k]
    total = 0.0
    for mass, _, _ in kept:
        total += mass
    return Fused([tuple(entry) for entry in kept], total, weights)
