"""Python twin: rows of U that many cores share (base.h)."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from .arguments import LARGEST_ID, token_list
from .reference_rows import Row, confidence_of

Rows = Mapping[tuple[int], Row]
_SUM_TOLERANCE = 1e-3


def make_base(token_ids: np.ndarray, ids: np.ndarray, probs: np.ndarray, top_k: int) -> tuple[Rows, int]:
    """The rows under their tokens, and about how many bytes they take. ValueError as the C core's."""
    rows: dict[tuple[int], Row] = {}
    for number, (token, line, values) in enumerate(zip(token_list("token_ids", token_ids), ids.tolist(), probs.tolist())):
        if not all(0 <= candidate <= LARGEST_ID for candidate in line):
            raise ValueError(f"ids must lie between 0 and {LARGEST_ID}; row {number} does not")
        if len(set(line)) != len(line):
            raise ValueError(f"ids must differ within a row; row {number} repeats one")
        if not _are_probabilities(values):
            raise ValueError(
                f"probs must fall from at most 1 to at least 0 within a row and add up to 1; row {number} does not"
            )
        if (token,) in rows:
            raise ValueError(f"token_ids must differ; row {number} repeats one")
        rows[token,] = Row(tuple(line), tuple(values), confidence_of(values))
    numbers = 32 * top_k + 24 * (top_k + 1)
    row = sys.getsizeof(Row((), (), 0.0)) + 2 * sys.getsizeof((0,) * top_k) + sys.getsizeof((0,)) + numbers
    return MappingProxyType(rows), sys.getsizeof(rows) + len(rows) * row


def _are_probabilities(values: Sequence[float]) -> bool:
    most, total = 1.0, 0.0
    for p in values:
        if not 0.0 <= p <= most:
            return False
        most = p
        total += p
    return abs(total - 1.0) <= _SUM_TOLERANCE
