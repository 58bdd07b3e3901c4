"""The C core with numpy results. Importing this raises ImportError where the extension is not built."""

from __future__ import annotations

import numpy as np

from . import _core
from .draft import Draft, Explanation


class _Reader:
    """Takes arrays off the front of one buffer."""

    __slots__ = ("buffer", "offset")

    def __init__(self, buffer: bytearray) -> None:
        self.buffer = buffer
        self.offset = 0

    def take(self, dtype: np.dtype, count: int) -> np.ndarray:
        array = np.frombuffer(self.buffer, dtype, count, self.offset)
        self.offset += count * dtype.itemsize
        return array


_INT64, _INT32, _FLOAT64, _FLOAT32, _BOOL = (np.dtype(name) for name in ("i8", "i4", "f8", "f4", "?"))


class Core(_core.Core):
    """Positional settings: top_k, width, max_depth, fusion (index), memories kept, persistent, suffix, fixed, priors,
    depth_priors, and what `make_base` made or None."""

    backend = "c"
    make_base = staticmethod(_core.make_base)
    """(token_ids, ids, probs, top_k) -> (rows that cores share, their bytes)."""

    def __init__(self, *settings: object) -> None:
        self.top_k = settings[0]

    def draft(self, max_nodes: int, suffix_tokens: int, *spare: object) -> Draft:
        buffer, n, suffix_start, suffix_match = super().draft(max_nodes, suffix_tokens, *spare)
        take = _Reader(buffer).take
        tokens, scores = take(_INT64, n), take(_FLOAT64, n)
        weights, shares = take(_FLOAT64, 3 * n).reshape(n, 3), take(_FLOAT64, 3 * n).reshape(n, 3)
        parents, depths = take(_INT32, n), take(_INT32, n)
        mask = take(_BOOL, n * n).reshape(n, n)
        return Draft(tokens, parents, depths, scores, mask, weights, shares, suffix_start, suffix_match)

    def explain(self) -> Explanation:
        buffer, n, count = super().explain()
        k, room = self.top_k, 4 * n
        take = _Reader(buffer).take
        rows, fused = take(_INT32, 3 * n).reshape(n, 3), take(_INT32, n)
        ids, probs = take(_INT32, room * k).reshape(room, k), take(_FLOAT32, room * k).reshape(room, k)
        return Explanation(rows, fused, ids[:count], probs[:count], take(_FLOAT32, room)[:count])

    def lookup(self, context: np.ndarray) -> list[tuple[np.ndarray, np.ndarray] | None]:
        found = []
        for buffer in super().lookup(context):
            take = _Reader(buffer).take
            found.append(None if buffer is None else (take(_INT64, self.top_k), take(_FLOAT32, self.top_k)))
        return found

    def export(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        buffer, n = super().export()
        take, k = _Reader(buffer).take, self.top_k
        return take(_INT32, n), take(_INT32, n * k).reshape(n, k), take(_FLOAT32, n * k).reshape(n, k)

    def fuse(self, context: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float | None]]:
        buffer, n, weights = super().fuse(context)
        take = _Reader(buffer).take
        return take(_INT64, n), take(_FLOAT64, n), [None if weight < 0 else weight for weight in weights]
