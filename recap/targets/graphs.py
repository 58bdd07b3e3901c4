"""Tree passes in few, fixed shapes, so that a CUDA graph can replay them: the host then launches one thing per pass.

Everything that differs from pass to pass lies in buffers that stay where they are: tokens, positions, the mask, where in the
cache the pass writes. Nodes are padded to a bucket, the part of the cache that attention sees to a multiple of `SPAN`; what
was padded is masked, and the next pass overwrites it. The eager passes of runtime.py stay the default: on a CPU these ones are
tested against them, uncaptured; capturing and replaying has been written by the documentation and never run on a GPU.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .exact import padded

if TYPE_CHECKING:
    from .cache import PackedCache
    from .runtime import Runtime

BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of nodes a pass may have; beyond the last, multiples of it."""
SPAN = 512
"""Entries of the cache."""
_WARM = 2
"""Uncaptured passes before a capture: libraries choose kernels and allocate workspaces in their first ones."""


def bucket(nodes: int) -> int:
    """The least size of a pass that holds that many nodes."""
    fitting = (size for size in BUCKETS if size >= nodes)
    return next(fitting, -(-nodes // BUCKETS[-1]) * BUCKETS[-1])


@dataclass
class _Shape:
    """Buffers of one size of pass over one span of one cache. b nodes, s entries."""

    tokens: torch.Tensor
    """(1, b) int64"""
    positions: torch.Tensor
    """(1, b), with multimodal rotary positions (3, 1, b), int64"""
    slots: torch.Tensor
    """(b,) int64: where in the cache the pass writes"""
    mask: torch.Tensor
    """(1, 1, b, s), added to attention's scores"""
    graph: Any = None
    logits: torch.Tensor | None = None
    """(b, vocabulary): what a replay fills"""


class StaticPasses:
    """Passes of one runtime. Shapes belong to a cache's buffers and go with them; capturing one costs a few passes.

    `capture`: record each shape as a CUDA graph; False evaluates the same fixed shapes eagerly, on any device.
    `fault`: why a capture failed, in a sentence; from then on everything runs uncaptured.
    """

    def __init__(self, runtime: Runtime, capture: bool) -> None:
        self.runtime = weakref.proxy(runtime)
        self.capture = capture
        self.fault = ""
        self._shapes: weakref.WeakKeyDictionary[PackedCache, dict[Any, _Shape]] = weakref.WeakKeyDictionary()
        self._pool: Any = None

    def logits(
        self, tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, cache: PackedCache, rope_delta: int
    ) -> torch.Tensor:
        """What `Runtime.verify` needs of a packed tree of n nodes: logits (n, vocabulary), a tensor of their own."""
        n, size = len(tokens), bucket(len(tokens))
        tokens, depths, mask = padded(tokens, depths, mask, size)
        end = cache.length + size
        cache.reserve(end)
        shape = self._shape(cache, size, min(-(-end // SPAN) * SPAN, cache.capacity))
        place = self.runtime.tensor
        shape.tokens.copy_(place(tokens))
        shape.positions.copy_(place(depths) + (cache.length + rope_delta))
        shape.slots.copy_(torch.arange(cache.length, end, device=shape.slots.device))
        least = torch.finfo(shape.mask.dtype).min
        shape.mask.fill_(least)
        shape.mask[..., : cache.length] = 0
        tree = torch.from_numpy(np.where(mask, 0.0, least).astype(np.float32))
        shape.mask[0, 0, :, cache.length : end] = tree.to(shape.mask)
        return self._evaluate(shape, cache)[:n].clone()  # the next replay writes over its own output

    def _shape(self, cache: PackedCache, size: int, span: int) -> _Shape:
        known = self._shapes.setdefault(cache, {})
        buffers = cache.keys.data_ptr()  # new ones where the cache has grown
        for key in [key for key in known if key[0] != buffers]:
            del known[key]
        key = (buffers, size, span)
        if key not in known:
            runtime = self.runtime
            tokens, slots = (torch.zeros(size, dtype=torch.int64, device=runtime.device) for _ in range(2))
            known[key] = _Shape(
                tokens[None], runtime.positions(torch.zeros_like(tokens)).clone(), slots,
                torch.zeros((1, 1, size, span), dtype=runtime.dtype, device=runtime.device),
            )  # fmt: skip
        return known[key]

    def _evaluate(self, shape: _Shape, cache: PackedCache) -> torch.Tensor:
        if not self.capture or self.fault:
            return self._forward(shape, cache)
        if shape.graph is None:
            try:
                self._record(shape, cache)
            except RuntimeError as error:
                self.fault = f"a pass could not be captured ({str(error).strip().splitlines()[0]})"
                return self._forward(shape, cache)
        shape.graph.replay()
        return shape.logits

    def _record(self, shape: _Shape, cache: PackedCache) -> None:
        beside = torch.cuda.Stream(self.runtime.device)
        beside.wait_stream(torch.cuda.current_stream(self.runtime.device))
        with torch.cuda.stream(beside):
            for _ in range(_WARM):
                self._forward(shape, cache)
        torch.cuda.current_stream(self.runtime.device).wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            shape.logits = self._forward(shape, cache)
        self._pool = self._pool or graph.pool()
        shape.graph = graph

    def _forward(self, shape: _Shape, cache: PackedCache) -> torch.Tensor:
        runtime = self.runtime
        with cache.static(shape.slots, shape.mask.shape[-1]):
            hidden = runtime.body(
                input_ids=shape.tokens, position_ids=shape.positions, attention_mask=shape.mask, cache=cache, use_cache=True
            ).last_hidden_state[0]
        return runtime.head(hidden)
