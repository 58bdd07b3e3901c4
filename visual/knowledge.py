"""What the memories knew at a node: who proposed it, which rows held a token, and with which weight they were mixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from recap.trace import MEMORY, MEMORY_NAMES, Row, Step

from . import reasons

_BY_PRIOR, _BY_CONFIDENCE = ("entropy", "prior"), ("entropy", "confidence")


class Held(NamedTuple):
    """A token inside a row."""

    rank: int
    """0 for the row's most probable token."""
    prob: float


def proposer(step: Step, node: int) -> str:
    """Who proposed a node: "root", "suffix", the memory with the largest share "G", "C", "U", or "draft" for a method
    that does not tell."""
    if step.origins[node] == MEMORY and not any(step.shares[node]):
        return "draft"
    return reasons.source(step, node)


def row(step: Step, index: int) -> Row | None:
    """A row of the trace's table; None for index -1."""
    return step.table.rows[index] if index >= 0 else None


def rows(step: Step, node: int) -> list[Row | None]:
    """The rows found in G, C, U under a node's own context before the pass."""
    return [row(step, index) for index in step.rows[node]]


def held(row: Row | None, token: int) -> Held | None:
    """Where a token stands in a row; None without a row, or where the row lacks it."""
    if row is None or token not in row.ids:
        return None
    rank = row.ids.index(token)
    return Held(rank, row.probs[rank])


def weights(step: Step, node: int, config: dict[str, Any]) -> list[float | None]:
    """Fusion weights of G, C, U of a node's own rows; None where no row was found or the rule is not known.

    A node with memory children has them on record. For the others they follow from `config`: "fusion" and "priors".
    """
    found = rows(step, node)
    for child in step.children(node):
        if step.origins[child] == MEMORY and any(step.weights[child]):
            return [weight if row else None for weight, row in zip(step.weights[child], found)]
    return fusion_weights(found, config)


def fusion_weights(found: list[Row | None], config: dict[str, Any]) -> list[float | None]:
    """The weights that a rule gives to rows of G, C, U: priors go by rank among the rows found."""
    rule, priors = config.get("fusion", "entropy"), numbers(config, "priors")
    at = [place for place, row in enumerate(found) if row is not None]
    known: list[float | None] = [None] * len(found)
    if not at:
        return known
    if rule in ("gate", "backoff"):
        best = max(at, key=lambda place: found[place].confidence) if rule == "gate" else at[0]
        return [None if row is None else float(place == best) for place, row in enumerate(found)]
    if rule not in (*_BY_PRIOR, "confidence", "uniform") or (rule in _BY_PRIOR and len(priors) < len(at)):
        return known
    raw = [
        (priors[rank] if rule in _BY_PRIOR else 1.0) * (found[place].confidence if rule in _BY_CONFIDENCE else 1.0)
        for rank, place in enumerate(at)
    ]
    total = sum(raw)
    if total > 0:
        for place, weight in zip(at, raw):
            known[place] = weight / total
    return known


def numbers(config: dict[str, Any], name: str) -> list[float]:
    """A setting that is a list of positive numbers; empty where the trace has none. Traces may come from anywhere."""
    values = config.get(name)
    if not isinstance(values, (list, tuple)):
        return []
    plain = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    return plain if len(plain) == len(values) and all(0 < value < math.inf for value in plain) else []


def depth_prior(config: dict[str, Any], depth: int) -> float | None:
    """By what the scores of children of a node at `depth` are multiplied; None where the trace does not tell."""
    priors = numbers(config, "depth_priors")
    return priors[min(depth, len(priors) - 1)] if priors else None


def names(memories: Sequence[str]) -> str:
    """"G", "G and C", "G, C and U"; at least one."""
    return " and ".join(filter(None, (", ".join(memories[:-1]), memories[-1])))


def holders(found: list[Row | None], token: int) -> dict[str, Held]:
    """The memories whose rows hold a token, longest key first."""
    places = {name: held(row, token) for name, row in zip(MEMORY_NAMES, found)}
    return {name: place for name, place in places.items() if place is not None}
