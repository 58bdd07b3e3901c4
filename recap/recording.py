"""Turning a pass into a `Step`: who proposed what, what the memories held, what the target said."""

from __future__ import annotations

from typing import Any

import numpy as np

from .budget import Choice
from .drafter import Draft
from .trace import MEMORY, ROOT, SUFFIX, RowTable, Step

_NO_ROWS = [-1, -1, -1]


def record(
    *, index: int, prefix_length: int, choice: Choice, draft: Draft, explanation: Any,
    rows: tuple[np.ndarray, np.ndarray] | None, choices: list[int], path: list[int], committed: list[int],
    milliseconds: tuple[float, float, float], sizes: dict[str, int], table: RowTable, text_of: Any,
) -> Step:
    """A Step from what one pass produced. `rows`: the target's top-K at every node, ids (n, K) and logits (n, K)."""
    n = len(draft.tokens)
    accepted = [False] * n
    for node in path:
        accepted[node] = True
    before = len(table.rows)
    found, fused, target = [_NO_ROWS] * n, [-1] * n, [-1] * n
    if explanation is not None:
        # one more entry so that "no row" (-1) maps to itself
        known = np.array([*table.add(explanation.ids, explanation.probs, explanation.confidences), -1])
        found, fused = known[explanation.rows].tolist(), known[explanation.fused].tolist()
    if rows is not None:
        probs = softmax(rows[1])
        target = table.add(rows[0], probs, confidence(probs))
    tokens = draft.tokens.tolist()
    _name(table, before, [*tokens, *committed, *choices], text_of)
    origins = [ROOT] + [MEMORY if node < draft.suffix_start else SUFFIX for node in range(1, n)]
    return Step(
        index=index, prefix_length=prefix_length, max_nodes=choice.max_nodes,
        suffix_tokens=choice.suffix_tokens, tokens=tokens,
        parents=draft.parents.tolist(), depths=draft.depths.tolist(), scores=draft.scores.tolist(), origins=origins,
        weights=draft.weights.tolist(), shares=draft.shares.tolist(), rows=found, fused=fused, target=target,
        choices=choices, accepted=accepted, committed=committed, draft_ms=milliseconds[0], verify_ms=milliseconds[1],
        update_ms=milliseconds[2], sizes=sizes, expected_tokens=choice.expected_tokens, expected_ms=choice.expected_ms,
        plain_ms=choice.plain_ms, table=table,
    )


def softmax(logits: np.ndarray) -> np.ndarray:
    """Row-wise softmax of (n, K) logits, float32."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)


def confidence(probs: np.ndarray) -> np.ndarray:
    """exp(-entropy) of each row of (n, K) probabilities, float32 (equation 4)."""
    exact = probs.astype(np.float64)
    return np.exp((exact * np.log(np.maximum(exact, 1e-300))).sum(axis=1)).astype(np.float32)


def _name(table: RowTable, before: int, tokens: list[int], text_of: Any) -> None:
    """Give every token that the trace mentions its text."""
    for row in table.rows[before:]:
        tokens.extend(row.ids)
    texts = table.texts
    for token in tokens:
        if token not in texts and token >= 0:
            texts[token] = text_of(token)
