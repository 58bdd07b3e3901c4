"""What the kernels compute, in numpy: close to them, not equal in the last bits. One test class holds for both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..trees import PackedTree
from .checkpoint import Checkpoint


class Cache:
    """Keys and values, (layers, kv heads, entries, head size) float32 each."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        layers, heads, size = shape
        self.keys, self.values = (np.empty((layers, heads, 0, size), np.float32) for _ in range(2))
        self.length = 0

    @property
    def capacity(self) -> int:
        return self.keys.shape[2]

    @property
    def bytes(self) -> int:
        return self.keys.nbytes + self.values.nbytes

    def keep(self, entries: Sequence[int]) -> None:
        wanted = np.array(entries, dtype=np.int64)
        if len(wanted) and (
            wanted.min() < 0 or wanted.max() >= self.capacity - self.length or (np.diff(wanted) <= 0).any()
        ):
            raise ValueError(f"entries must be rising and lie between 0 and {self.capacity - self.length - 1}")
        chosen = np.concatenate([np.arange(self.length), self.length + wanted])
        self.keys, self.values = self.keys[:, :, chosen], self.values[:, :, chosen]
        self.length += len(wanted)

    def truncate(self, length: int) -> None:
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate a cache of {self.length} entries to {length}")
        self.length = length
        self.keys, self.values = self.keys[:, :, :length], self.values[:, :, :length]


class Network:
    """The interface of `recap.targets.cpu.compiled.Network`."""

    backend = "python"

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.sizes = checkpoint.sizes
        with checkpoint.open() as weights:
            self._embedding, self._norm = map(_floats, weights.ends())
            self._layers = [list(map(_floats, weights.layer(index))) for index in range(self.sizes.layers)]
        self._cosines, self._sines = checkpoint.turns()

    def new_cache(self) -> Cache:
        return Cache((self.sizes.layers, self.sizes.kv_heads, self.sizes.head_size))

    def run(self, trees: Sequence[PackedTree]) -> np.ndarray:
        if not trees or len({id(tree.cache) for tree in trees}) < len(trees):
            raise ValueError("every tree of a pass needs a cache of its own")
        for tree in trees:
            self._check(tree)
        return np.concatenate([self._run(*tree) for tree in trees])

    def _check(self, tree: PackedTree) -> None:
        n, s = len(tree.tokens), self.sizes
        depths, mask, positions = tree.depths, tree.mask, tree.depths + tree.cache.length + tree.rope_delta
        if n == 0 or mask.shape != (n, n) or len(depths) != n or not np.diag(mask).all() or np.triu(mask, 1).any():
            raise ValueError("a pass takes one depth per token and a mask of ancestors")
        for name, values, end in (("tokens", tree.tokens, s.vocabulary), ("depths", positions, s.positions)):
            if values.min() < 0 or values.max() >= end:
                raise ValueError(f"{name} out of range")

    def _run(
        self, tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, cache: Cache, offset: int = 0
    ) -> np.ndarray:
        n, past, s = len(tokens), cache.length, self.sizes
        positions = depths + past + offset
        cache.truncate(past)
        keys, values = (np.concatenate([kept, np.empty((*kept.shape[:2], n, s.head_size), np.float32)], 2)
                        for kept in (cache.keys, cache.values))  # fmt: skip
        visible = np.concatenate([np.ones((n, past), bool), mask], 1)
        x = self._embedding[tokens]
        for index, (before, q, k, v, out, after, gate, up, down) in enumerate(self._layers):
            normed = self._normed(x, before)
            queries, fresh, keys_values = (
                (normed @ matrix.T).reshape(n, -1, s.head_size).transpose(1, 0, 2) for matrix in (q, k, v)
            )
            keys[index, :, past:], values[index, :, past:] = self._turned(fresh, positions), keys_values
            x = x + self._attended(self._turned(queries, positions), keys[index], values[index], visible) @ out.T
            normed = self._normed(x, after)
            gated = normed @ gate.T
            x = x + (gated / (1 + np.exp(-gated)) * (normed @ up.T)) @ down.T
        cache.keys, cache.values = keys, values
        return self._normed(x, self._norm)

    def top(self, hidden: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        logits = self.logits(hidden)
        if not np.isfinite(logits).all():
            raise FloatingPointError("logits are not finite")
        ids = np.argsort(-logits, axis=1, kind="stable")[:, :k]
        return ids, np.take_along_axis(logits, ids, 1)

    def logits(self, hidden: np.ndarray) -> np.ndarray:
        return hidden @ self._embedding.T

    def _normed(self, x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        mean = np.square(x).mean(axis=1, keepdims=True) + np.float32(self.sizes.epsilon)
        return x / np.sqrt(mean) * scale

    def _turned(self, heads: np.ndarray, positions: np.ndarray) -> np.ndarray:
        low, high = np.split(heads, 2, axis=2)
        cosines, sines = self._cosines[positions], self._sines[positions]
        return np.concatenate([low * cosines - high * sines, high * cosines + low * sines], axis=2)

    def _attended(self, queries: np.ndarray, keys: np.ndarray, values: np.ndarray, visible: np.ndarray) -> np.ndarray:
        group = self.sizes.heads // self.sizes.kv_heads
        scores = queries @ np.repeat(keys, group, 0).transpose(0, 2, 1) / np.sqrt(np.float32(self.sizes.head_size))
        scores = np.where(visible, scores, np.float32(-np.inf))
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights /= weights.sum(axis=2, keepdims=True)
        mixed = weights @ np.repeat(values, group, 0)
        return mixed.transpose(1, 0, 2).reshape(visible.shape[0], -1)


def _floats(weights: torch.Tensor) -> np.ndarray:
    return weights.float().numpy()
