"""What whole draft trees hold along a continuation: Tables 6, 7, 10 and 17."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np

from ..bench.presets import BASE, PRESETS
from ..budget.fixed import draft_within
from ..config import RecapConfig
from ..trace import Step
from .continuation import Continuation
from .replay import drafter, follow, matched

POLICIES: dict[str, RecapConfig] = {
    "U": BASE.replace(memories="U"),
    "U+C backoff": BASE.replace(memories="CU", fusion="backoff"),
    "U+C+G backoff": BASE.replace(fusion="backoff"),
    "uniform fusion": BASE.replace(fusion="uniform"),
    "prior-weighted fusion": BASE,
}
"""Rows of Table 6."""
CAPS = (31, 63, 127)
"""Table 10."""
CAP = BASE.max_nodes


def policies(one: Continuation) -> dict[str, Any]:
    """Table 6, memories empty at the start: every state's trees are cut to the smallest number of candidates ("nodes") that
    any policy has there; "matched": sums of matched lengths over states."""
    asked = {name: drafter(config.replace(suffix=False), one) for name, config in POLICIES.items()}
    lengths, nodes = dict.fromkeys(POLICIES, 0), 0
    for state in follow(one, list(asked.values()), seeded=False):
        drafts = {name: each.draft(CAP, 0) for name, each in asked.items()}
        fewest = min(len(draft) - 1 for draft in drafts.values())
        nodes += fewest
        reference = one.tokens[state:].tolist()
        for name, draft in drafts.items():
            lengths[name] += matched(draft, reference, fewest)
    return {"nodes": nodes, "matched": lengths}


def suffix(one: Continuation) -> dict[str, Any]:
    """Table 7's offline half, U seeded from the prompt: prior-weighted fusion alone and with the suffix path, whose nodes
    count within the cap, both cut to the smaller one's number of candidates. "matched": sums of lengths; "first": states in
    which only the tree with the path has the next token below its root."""
    alone, joined = drafter(BASE.replace(suffix=False), one), drafter(BASE, one)
    found = {"matched": {"fusion": 0, "+ suffix": 0}, "first": 0, "nodes": 0}
    for state in follow(one, [alone, joined], seeded=True):
        without = alone.draft(CAP, 0)
        together = draft_within(joined, CAP, BASE.suffix_tokens)
        fewest = min(len(without), len(together)) - 1
        if len(together) - 1 > fewest:
            together = draft_within(joined, fewest, BASE.suffix_tokens)
        reference = one.tokens[state:].tolist()
        lengths = matched(without, reference, fewest), matched(together, reference)
        found["matched"]["fusion"] += lengths[0]
        found["matched"]["+ suffix"] += lengths[1]
        found["first"] += int(lengths[1] > 0 and lengths[0] == 0)
        found["nodes"] += fewest
    return found


def budgets(one: Continuation) -> dict[int, dict[str, float]]:
    """Table 10 as far as replay can tell, U seeded: by cap, suffix nodes included and the root not, sums over states of
    candidates ("nodes"), matched length and milliseconds of drafting (lookup to packing), and the most bytes that the
    drafter held. In decoding memories hold the rows of refused candidates too, so that trees are fuller there."""
    asked = {cap: drafter(BASE.replace(max_nodes=cap), one) for cap in CAPS}
    found = {cap: {"nodes": 0, "matched": 0, "ms": 0.0, "bytes": 0} for cap in CAPS}
    for state in follow(one, list(asked.values()), seeded=True):
        reference = one.tokens[state:].tolist()
        first = state % len(CAPS)
        for cap in CAPS[first:] + CAPS[:first]:
            clock = perf_counter()
            draft = draft_within(asked[cap], cap, BASE.suffix_tokens)
            spent = 1000.0 * (perf_counter() - clock)
            sums = found[cap]
            sums["nodes"] += len(draft) - 1
            sums["matched"] += matched(draft, reference)
            sums["ms"] += spent
            sums["bytes"] = max(sums["bytes"], asked[cap].stats()["bytes"])
    return found


def weights(one: Continuation) -> dict[int, list[float]]:
    """Table 17's means over the calls of replay, U seeded: see `calls`. The paper takes those of decoding: `of_steps`."""
    config = PRESETS["recap"].replace(suffix=False)
    asked = drafter(config, one)
    sums = {2: [0.0] * 3, 3: [0.0] * 4}
    for _ in follow(one, [asked], seeded=True):
        draft = asked.draft(CAP, 0)
        made = asked.explain()
        confidences = np.append(made.confidences, 0.0)[made.rows]  # -1, no row, is the last
        expanded = _expanded(draft.depths.tolist(), len(draft) - 1, config, CAP, len(draft) - 1)
        _add(sums, calls(made.rows[expanded], confidences[expanded], config))
    return sums


def of_steps(steps: Iterable[Step], config: RecapConfig) -> dict[int, list[float]]:
    """Table 17: the same from the passes of decoding with `config`, best first and with entropy-confidence fusion."""
    sums = {2: [0.0] * 3, 3: [0.0] * 4}
    for step in steps:
        memory = sum(origin == "memory" for origin in step.origins)
        candidates = len(step) - 1 if config.suffix_within else memory
        expanded = _expanded(step.depths, memory, config, step.max_nodes, candidates)
        rows = np.array(step.rows)[expanded]
        known = np.array([row.confidence for row in step.table.rows] + [0.0])
        _add(sums, calls(rows, known[rows], config))
    return sums


def calls(rows: np.ndarray, confidences: np.ndarray, config: RecapConfig) -> dict[int, list[float]]:
    """Fusion weights by the number of rows found: {2: [calls, sum of w1, of w2], 3: [calls, ...]}, indices by falling
    specificity among the rows found. `rows` (c, 3): -1 where there is none; `confidences` (c, 3). Every call counts the
    same; those with one row have weight one and are left out."""
    sums = {2: [0.0] * 3, 3: [0.0] * 4}
    for found, values in zip(rows, confidences):
        raw = [prior * c for prior, c in zip(config.priors, values[found >= 0].tolist())]
        if len(raw) > 1:
            sums[len(raw)][0] += 1
            for at, weight in enumerate(raw, start=1):
                sums[len(raw)][at] += weight / sum(raw)
    return sums


def _expanded(depths: list[int], memory: int, config: RecapConfig, cap: int, candidates: int) -> list[int]:
    """Nodes whose rows best-first search fused: root and memory nodes above the deepest level; the last one not where the
    cap ended the search."""
    if cap == 0:
        return []
    last = memory if candidates >= cap else memory + 1
    return [node for node in range(last) if depths[node] < config.max_depth]


def _add(sums: dict[int, list[float]], more: dict[int, list[float]]) -> None:
    for count, values in more.items():
        sums[count] = [one + other for one, other in zip(sums[count], values)]
