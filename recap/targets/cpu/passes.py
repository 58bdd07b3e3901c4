"""The kernels behind the questions that a target asks, as `recap.targets.runtime.Runtime` asks a transformers model."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..exact import read_mode
from ..trees import PackedTree
from .checkpoint import Checkpoint

if TYPE_CHECKING:
    from .compiled import Cache
    from .predictions import LazyPredictions

CHOICES = ("auto", "compiled", "torch")
VARIABLE = "RECAP_PASSES"
PREFILL_ROWS = 96
"""Prompt tokens in one pass: enough to be bound by arithmetic, few enough that an interrupt is noticed soon."""
MOST_TREES, MOST_NODES = 64, 4096
"""What one pass takes."""
DTYPES = (torch.float32, torch.bfloat16)


def available() -> bool:
    """Whether the C extension is built."""
    try:
        from . import _passes  # noqa: F401
    except ImportError:
        return False
    return True


def choose(wanted: str = "auto") -> str:
    """ "compiled" or "torch". "auto" asks $RECAP_PASSES and takes the compiled passes where they are built.

    Raises ValueError for another word, and for "compiled" where the extension is not built.
    """
    source = "passes"
    if wanted == "auto" and os.environ.get(VARIABLE):
        wanted, source = os.environ[VARIABLE], f"${VARIABLE}"
    if wanted not in CHOICES:
        raise ValueError(f"{source} must be one of {', '.join(CHOICES)}, got {wanted!r}")
    if wanted == "auto":
        return "compiled" if available() else "torch"
    if wanted == "compiled" and not available():
        raise ValueError(f'{source} is "compiled", but the C extension recap.targets.cpu._passes is not built')
    return wanted


class Passes:
    """One loaded model. Several threads may use it: passes take turns by `lock`.

    `dtype` is float32 or bfloat16 and says what the weights are; arithmetic and cache are float32 either way, so for a
    checkpoint stored as bfloat16 both give the same bits and cost the same (widening loses nothing and is done in
    registers). A token's logits are the same bits in a pass of any size, whatever `exact` asks for; checked once more when
    loading, and `exact` and `exactness` tell what was found.

    Raises ValueError for a model that the kernels do not compute, and for damaged weights.
    """

    prefill_tokens = PREFILL_ROWS
    """Prompt tokens after which others may have a turn; it costs nothing, since a pass holds no more anyway."""
    mrope = False
    body_inputs: frozenset[str] = frozenset()

    def __init__(
        self, checkpoint: Checkpoint, dtype: torch.dtype = torch.float32, exact: bool | str = "auto",
        threads: int | None = None, wide: bool | None = None, instructions: str = "",
    ) -> None:  # fmt: skip
        from .compiled import Network

        mode = read_mode(exact)
        if dtype not in DTYPES:
            raise ValueError(f"the compiled passes know float32 and bfloat16, not {dtype}")
        self.config = checkpoint.config
        self.text_config = checkpoint.config.get_text_config(decoder=True)
        self.vocabulary = checkpoint.sizes.vocabulary
        self.device = checkpoint.device
        self.dtype = dtype
        self.lock = threading.RLock()
        self.network = Network(checkpoint, threads or torch.get_num_threads(), wide, dtype, instructions)
        self.exact = self.check_exact()
        self.exactness = (
            "built in and found at load: a token has the same bits in a pass of any size" if self.exact
            else "cannot be had on this machine: passes of different sizes gave different bits"
        )  # fmt: skip
        if mode is True and not self.exact:
            raise ValueError(f'exact=True {self.exactness}; use passes="torch"')

    def describe(self) -> str:
        """What runs a pass, for people to read."""
        network = self.network
        stored = "4-byte" if network.wide else "2-byte"
        threads = f"{network.threads} thread{'' if network.threads == 1 else 's'}"
        return f"compiled ({network.instructions}, {threads}, {stored} weights, float32 arithmetic)"

    def new_cache(self) -> Cache:
        """An empty cache for this model."""
        return self.network.new_cache()

    def encode(self, pixels: dict[str, torch.Tensor]) -> Any:
        """There is no picture encoder."""
        raise ValueError("this model takes no pictures")

    def prefill(self, ids: np.ndarray, cache: Cache, positions: torch.Tensor | None = None) -> torch.Tensor:
        """Evaluate ids (n,) int64 behind the cache and keep them; last hidden states (n, hidden size) float32.

        Positions are counted on from the cache; others are refused with ValueError.
        """
        if positions is not None:
            raise ValueError("the compiled passes count positions themselves")
        before, parts = cache.length, []
        try:
            for begin in range(0, len(ids), PREFILL_ROWS):
                part = ids[begin : begin + PREFILL_ROWS]
                parts.append(self._run([PackedTree(part, np.arange(len(part)), np.tri(len(part), dtype=bool), cache)]))
                cache.keep(range(len(part)))
        except BaseException:
            cache.truncate(before)
            raise
        return torch.from_numpy(np.concatenate(parts) if len(parts) > 1 else parts[0])

    def predict(self, hidden: torch.Tensor) -> LazyPredictions:
        """Predictions from hidden states (n, hidden size)."""
        from .predictions import LazyPredictions

        return LazyPredictions(self.network, hidden.numpy(), self.lock)

    def verify(
        self, tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, cache: Cache, rope_delta: int = 0
    ) -> LazyPredictions:
        """One pass over a packed tree (section 3.5): n tokens, depths (n,), ancestor-or-self mask (n, n) bool.

        Position of a node = cache length + rope delta + depth. Its entries stay behind the cache's length until
        `cache.keep` takes the accepted ones.
        """
        from .predictions import LazyPredictions

        hidden = self._run([PackedTree(tokens, depths, mask, cache, rope_delta)])
        return LazyPredictions(self.network, hidden, self.lock)

    def verify_all(self, trees: Sequence[PackedTree]) -> list[LazyPredictions]:
        """The trees of several answers, each behind its own cache, in as few passes as they fit into: weights are read once
        for all. Every node has the bits that it would have alone. Raises ValueError as `verify` does."""
        from .predictions import LazyPredictions, SharedHead

        found: list[LazyPredictions] = []
        for some in _filled(trees):
            hidden = self._run(some)
            head, end = SharedHead(self.network, hidden, self.lock), 0
            for tree in some:
                begin, end = end, end + len(tree.tokens)
                found.append(LazyPredictions(self.network, hidden[begin:end], self.lock, head, begin))
        return found

    def _run(self, trees: Sequence[PackedTree]) -> np.ndarray:
        largest = max((int(np.max(tree.tokens)) for tree in trees if len(tree.tokens)), default=0)
        if largest >= self.vocabulary:
            raise ValueError(
                f"the draft holds token {largest}, but this model knows {self.vocabulary}: the drafter "
                "remembers another model's tokens; use a fresh one, or reset() it"
            )
        with self.lock:
            return self.network.run(trees)

    def check_exact(self, sizes: Sequence[int] = (2, 7, 24)) -> bool:
        """Whether passes of these sizes give bit for bit the logits of one-token passes: a fraction of a second.

        Raises ValueError for weights that give logits which are not finite.
        """
        generator = np.random.default_rng(0)
        prefix, chain = (generator.integers(0, self.vocabulary, size) for size in (24, max(sizes)))
        cache = self.new_cache()
        self.prefill(prefix, cache)
        alone = []
        for token in chain[:4]:
            alone.append(self.verify(np.array([token]), np.zeros(1, np.int64), np.ones((1, 1), bool), cache))
            cache.keep([0])
        rows = [one.logits[0] for one in alone]
        if not all(bool(torch.isfinite(row).all()) for row in rows):
            raise ValueError("the weights are damaged: the model's logits are not finite")
        for size in sizes:
            cache.truncate(len(prefix))
            together = self.verify(chain[:size], np.arange(size), np.tri(size, dtype=bool), cache).logits
            if not all(torch.equal(row, together[node]) for node, row in enumerate(rows[:size])):
                return False
        return True


def _filled(trees: Sequence[PackedTree]) -> Iterator[list[PackedTree]]:
    """Trees in the same order, as many at a time as one pass takes."""
    some: list[PackedTree] = []
    nodes = 0
    for tree in trees:
        if some and (len(some) == MOST_TREES or nodes + len(tree.tokens) > MOST_NODES):
            yield some
            some, nodes = [], 0
        some.append(tree)
        nodes += len(tree.tokens)
    if some:
        yield some
