"""A key-value cache in which a tree pass costs only its own entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

_FIRST_CAPACITY = 512


class PackedCache(Cache):
    """Keys and values of all layers in two buffers, (layers, 1, heads, capacity, head size) each.

    A pass writes its entries behind the `length` kept so far; `keep` then moves the accepted ones together in one
    gather per buffer. What a pass wrote and nobody kept is simply overwritten by the next one.
    """

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[_PackedLayer(self, index) for index in range(layers)])
        self.length = 0
        """Entries kept."""
        self.keys: torch.Tensor | None = None
        self.values: torch.Tensor | None = None
        self._static: tuple[torch.Tensor, int] | None = None

    @property
    def capacity(self) -> int:
        """Entries that fit before the buffers grow."""
        return 0 if self.keys is None else self.keys.shape[3]

    @property
    def bytes(self) -> int:
        """What both buffers take."""
        return 0 if self.keys is None else self.keys.nbytes + self.values.nbytes

    @torch.inference_mode()
    def keep(self, entries: Sequence[int]) -> None:
        """Keep these entries of the last pass, given by rising index within the pass."""
        count = len(entries)
        if list(entries) != list(range(count)):
            index = torch.tensor(entries, device=self.keys.device) + self.length
            for buffer in (self.keys, self.values):
                buffer[:, :, :, self.length : self.length + count] = buffer.index_select(3, index)
        self.length += count

    def truncate(self, length: int) -> None:
        """Forget all entries from `length` on."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot truncate a cache of {self.length} entries to {length}")
        self.length = length

    def write(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Put a pass's entries of one layer, (1, heads, n, head size), behind the kept ones; views of all entries."""
        if self._static is not None:
            slots, span = self._static
            self.keys[layer].index_copy_(2, slots, keys)
            self.values[layer].index_copy_(2, slots, values)
            return self.keys[layer, :, :, :span], self.values[layer, :, :, :span]
        end = self.length + keys.shape[2]
        if end > self.capacity:
            self._grow(end, keys, values)
        if keys.shape[1] != self.keys.shape[2] or keys.shape[3] != self.keys.shape[4]:
            raise ValueError("this model's layers keep keys of different shapes, which the packed cache does not support")
        self.keys[layer, :, :, self.length : end] = keys
        self.values[layer, :, :, self.length : end] = values
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end]

    @contextmanager
    def static(self, slots: torch.Tensor, span: int) -> Iterator[None]:
        """For a while, a pass writes at `slots` (n,) int64 and sees the first `span` entries, whatever `length` is."""
        self._static = slots, span
        try:
            yield
        finally:
            self._static = None

    def reserve(self, entries: int) -> None:
        """Make room for that many entries, behind a first pass, which shows what an entry is."""
        if entries > self.capacity:
            self._grow(entries, self.keys[0], self.values[0])

    def _grow(self, needed: int, keys: torch.Tensor, values: torch.Tensor) -> None:
        capacity = max(_FIRST_CAPACITY, 2 * self.capacity)
        while capacity < needed:
            capacity *= 2
        self.keys = self._grown(self.keys, capacity, keys)
        self.values = self._grown(self.values, capacity, values)

    def _grown(self, old: torch.Tensor | None, capacity: int, like: torch.Tensor) -> torch.Tensor:
        batch, heads, _, size = like.shape
        # zeros: what a static pass masks is multiplied by 0, and an uninitialised number may be no number
        new = like.new_zeros((len(self.layers), batch, heads, capacity, size))
        if old is not None:
            new[:, :, :, : self.length] = old[:, :, :, : self.length]
        return new


class _PackedLayer(CacheLayerMixin):
    """What transformers' attention modules see of the cache: one layer."""

    is_sliding = False
    supports_early_init = False

    def __init__(self, cache: PackedCache, index: int) -> None:
        super().__init__()
        self._cache = cache
        self._index = index

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        return self._cache.write(self._index, key_states, value_states)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._cache.length + query_length, 0

    def get_seq_length(self) -> int:
        return self._cache.length

    def get_max_length(self) -> int:
        return -1
