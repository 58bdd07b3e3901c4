"""The C kernels with numpy arrays. Importing this raises ImportError where the extension is not built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from ..trees import PackedTree
from . import _passes
from .checkpoint import Checkpoint


class Cache:
    """Keys and values of what was read, float32; the interface of `recap.targets.cache.PackedCache`."""

    def __init__(self, model: _passes.Model, entry_bytes: int) -> None:
        self.entries, self._entry_bytes = _passes.Cache(model), entry_bytes

    @property
    def length(self) -> int:
        """Entries kept."""
        return self.entries.length

    @property
    def capacity(self) -> int:
        """Entries that fit before the buffers grow."""
        return self.entries.capacity

    @property
    def bytes(self) -> int:
        """What its buffers take."""
        return self.capacity * self._entry_bytes

    def keep(self, entries: Sequence[int]) -> None:
        """Keep these entries of the last pass, given by rising index within the pass. Raises ValueError for others."""
        self.entries.keep(np.array(entries, dtype=np.int64))

    def truncate(self, length: int) -> None:
        """Forget all entries from `length` on."""
        self.entries.truncate(length)


class Network:
    """A checkpoint's language model in the C kernels: weights packed once, every pass of any size bit for bit the same.

    `wide`: keep weights as float32 (4 bytes) where bfloat16 (2 bytes) would do; None widens only what bfloat16 cannot
    hold. `instructions`: "avx512", "avx2" or "portable", by default the best that the processor has. `threads` run a
    pass together. A Network does one thing at a time and raises RuntimeError in a second thread.
    """

    backend = "c"

    def __init__(
        self, checkpoint: Checkpoint, threads: int, wide: bool | None = None, dtype: torch.dtype | None = None,
        instructions: str = "",
    ) -> None:  # fmt: skip
        self.sizes = checkpoint.sizes
        with checkpoint.open() as weights:
            embedding, norm = weights.ends()
            self.dtype = dtype or embedding.dtype
            self.wide = embedding.dtype != torch.bfloat16 and self.dtype != torch.bfloat16 if wide is None else wide
            s = self.sizes
            self._model = _passes.Model(
                s.layers, s.hidden, s.heads, s.kv_heads, s.head_size, s.mlp, s.vocabulary, s.positions, s.epsilon,
                self.wide, threads, instructions,
            )  # fmt: skip
            self._model.set_ends(self._matrix(embedding), _floats(norm), *checkpoint.turns())
            for index in range(s.layers):
                before, q, k, v, out, after, *mlp = weights.layer(index)
                attention = map(self._matrix, (q, k, v, out))
                self._model.set_layer(index, _floats(before), *attention, _floats(after), *map(self._matrix, mlp))
        self.threads = threads
        self.instructions: str = self._model.instructions

    def _matrix(self, weights: torch.Tensor) -> np.ndarray:
        if self.dtype == torch.bfloat16 or weights.dtype == torch.bfloat16:
            return weights.to(torch.bfloat16).contiguous().view(torch.int16).numpy()
        return _floats(weights)

    def new_cache(self) -> Cache:
        """An empty cache."""
        s = self.sizes
        return Cache(self._model, 2 * 4 * s.layers * s.kv_heads * s.head_size)

    def run(self, trees: Sequence[PackedTree]) -> np.ndarray:
        """Last hidden states (n, hidden) of the n nodes of all trees, one tree after the other.

        In a tree: tokens, depths (m,) int64; mask (m, m) bool, ancestors or self, every node after its ancestors and these
        by rising depth. A tree's entries stay behind its cache until `cache.keep`. At most 64 trees and 4,096 nodes. Raises
        ValueError for ids, positions or shapes out of range and for trees that share a cache; none has entries then.
        """
        hidden = np.empty((sum(len(tree.tokens) for tree in trees), self.sizes.hidden), np.float32)
        asked = [
            (cache.entries, _integers(tokens), _integers(depths), np.ascontiguousarray(mask), offset)
            for tokens, depths, mask, cache, offset in trees
        ]
        self._model.run(asked, hidden)
        return hidden

    def top(self, hidden: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k largest logits of each row: ids (n, k) int64 and logits (n, k) float32, falling, ties by lowest id.

        Raises FloatingPointError if any logit of a row is not finite.
        """
        ids, values = np.empty((len(hidden), k), np.int64), np.empty((len(hidden), k), np.float32)
        self._model.top(np.ascontiguousarray(hidden), k, ids, values)
        return ids, values

    def logits(self, hidden: np.ndarray) -> np.ndarray:
        """All logits, (n, vocabulary) float32."""
        logits = np.empty((len(hidden), self.sizes.vocabulary), np.float32)
        self._model.logits(np.ascontiguousarray(hidden), logits)
        return logits


def _floats(weights: torch.Tensor) -> np.ndarray:
    return weights.float().contiguous().numpy()


def _integers(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=np.int64)
