"""Forward passes of a transformers model over a packed cache: prefill and tree verification."""

from __future__ import annotations

import inspect
import threading
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch

from .cache import PackedCache
from .exact import NAME as EXACT
from .exact import attention, padded, read_mode
from .graphs import StaticPasses
from .predictions import Predictions
from .selftest import examine

_HALF = (torch.bfloat16, torch.float16)


class Runtime:
    """One loaded model.

    `exact`: whether half-precision passes are made independent of their size ("auto": on a CPU, where that can be had).
    `rows`: the least rows of a pass then. `exactness`: what was found, in a sentence.
    `graphs`: replay tree passes as CUDA graphs (graphs.py). Raises ValueError for it on another device.

    Passes are serialised by `lock`, because the attention function is a property of the whole model.
    """

    def __init__(self, model: torch.nn.Module, exact: bool | str = "auto", graphs: bool = False) -> None:
        model.eval()
        # the model itself is not kept: custom.py remembers runtimes by model and must not keep models alive
        self.config = model.config
        self.body = model.base_model
        self.text_config = model.config.get_text_config(decoder=True)
        self.vocabulary = model.get_input_embeddings().num_embeddings
        self.device = model.device
        self.dtype = model.dtype
        self.lock = threading.RLock()
        self.mrope = False
        """Whether positions are (3, 1, n): set by the adapter of a family with multimodal rotary positions."""
        self.body_inputs = frozenset(inspect.signature(self.body.forward).parameters)
        self.head = model.get_output_embeddings()
        self.decoder = model.get_decoder()
        self.hidden_size = model.get_input_embeddings().embedding_dim
        self._check_head(model)
        if graphs and self.device.type != "cuda":
            raise ValueError(f"CUDA graphs need a CUDA device, and this model is on {self.device}; leave graphs out")
        self.static = StaticPasses(self, capture=True) if graphs else None
        self.exact, self.rows, self.exactness = False, 1, ""
        self._decide_exact(exact)

    def describe(self) -> str:
        """What runs a pass, for people to read."""
        if self.static is not None:
            return f"torch, without CUDA graphs: {self.static.fault}" if self.static.fault else "torch in CUDA graphs"
        return f"torch ({torch.get_num_threads()} threads)" if self.device.type == "cpu" else "torch"

    def new_cache(self) -> PackedCache:
        """An empty cache for this model."""
        return PackedCache(self.text_config.num_hidden_layers)

    @torch.inference_mode()
    def encode(self, pixels: dict[str, torch.Tensor]) -> Any:
        """Output of the model's picture encoder for one picture's processor outputs."""
        moved = {key: value.to(self.device) for key, value in pixels.items()}
        with self.lock:
            return self.body.get_image_features(**moved, return_dict=True)

    @torch.inference_mode()
    def prefill(
        self, ids: np.ndarray, cache: PackedCache, positions: torch.Tensor | None = None, **inputs: Any
    ) -> torch.Tensor:
        """Evaluate ids (n,) int64 behind the cache and keep them; last hidden states (n, hidden size).

        `positions` is (3, n) or (n,) int64, by default counted on from the cache. `inputs` go to the model's body as
        they are (encoded pictures, for instance).
        """
        n = len(ids)
        if positions is None:
            positions = torch.arange(cache.length, cache.length + n)
        placed = self.positions(positions.to(self.device))
        with self.lock:
            hidden = self.body(
                input_ids=self.tensor(ids)[None], position_ids=placed, cache=cache, use_cache=True, **inputs
            ).last_hidden_state[0]
        cache.keep(range(n))
        return hidden

    @torch.inference_mode()
    def predict(self, hidden: torch.Tensor) -> Predictions:
        """Logits for hidden states (n, hidden size)."""
        n = len(hidden)
        if n < self.rows:
            hidden = torch.cat([hidden, hidden[-1:].expand(self.rows - n, -1)])
        return Predictions(self.head(hidden)[:n], hidden[:n])

    @torch.inference_mode()
    def verify(
        self, tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, cache: PackedCache, rope_delta: int = 0
    ) -> Predictions:
        """One pass over a packed tree (section 3.5): n tokens, depths (n,), ancestor-or-self mask (n, n) bool.

        Position of a node = cache length + rope delta + depth. Its entries stay behind the cache's length until
        `cache.keep` takes the accepted ones.
        """
        n = len(tokens)
        if tokens.max() >= self.vocabulary:
            raise ValueError(
                f"the draft holds token {tokens.max()}, but this model knows {self.vocabulary}: the drafter remembers another "
                "model's tokens; use a fresh one, or reset() it"
            )
        if n < self.rows:  # see exact.py: few rows may round differently
            tokens, depths, mask = padded(tokens, depths, mask, self.rows)
        with self.lock, attention(self.text_config, EXACT) if self.exact else nullcontext():
            if self.static is not None:
                return Predictions(self.static.logits(tokens, depths, mask, cache, rope_delta)[:n])
            positions = self.tensor(depths) + (cache.length + rope_delta)
            hidden = self.body(
                input_ids=self.tensor(tokens)[None],
                position_ids=self.positions(positions),
                attention_mask=self._additive(mask, cache.length),
                cache=cache,
                use_cache=True,
            ).last_hidden_state[0]
            return Predictions(self.head(hidden)[:n], hidden[:n])

    def _additive(self, mask: np.ndarray, past: int) -> torch.Tensor | None:
        """(1, 1, n, past + n): everything kept is visible, and of the tree the ancestors."""
        n = len(mask)
        if n == 1:
            return None
        additive = torch.zeros((1, 1, n, past + n), dtype=self.dtype)
        hidden = torch.from_numpy(~np.ascontiguousarray(mask, dtype=bool))
        additive[0, 0, :, past:].masked_fill_(hidden, torch.finfo(self.dtype).min)
        return additive.to(self.device, non_blocking=True)

    def tensor(self, values: np.ndarray) -> torch.Tensor:
        """Integers on the model's device, int64."""
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64)).to(self.device, non_blocking=True)

    def positions(self, positions: torch.Tensor) -> torch.Tensor:
        """(n,) or (3, n) as the model's body takes them: (1, n), or (3, 1, n) with multimodal rotary positions."""
        if not self.mrope:
            return positions[None]
        return positions[:, None] if positions.ndim == 2 else positions[None, None].expand(3, 1, -1)

    @torch.inference_mode()
    def _check_head(self, model: torch.nn.Module) -> None:
        """The model must be a body and a linear head, or seeding by chunks would use wrong logits."""
        ids = torch.arange(4, device=self.device)[None]
        expected = model(input_ids=ids, use_cache=False).logits
        if not bool(torch.isfinite(expected).all()):
            raise ValueError(f"the weights of {type(model).__name__} are damaged: its logits are not finite")
        if self.head is None or not torch.allclose(
            self.head(self.body(input_ids=ids, use_cache=False).last_hidden_state), expected, rtol=1e-2, atol=1e-3
        ):
            raise ValueError(
                f"{type(model).__name__} does more than apply its output embeddings to its last hidden state, "
                "which RECAP does not support yet"
            )

    def _decide_exact(self, wanted: bool | str) -> None:
        mode, dtype = read_mode(wanted), str(self.dtype).removeprefix("torch.")
        if self.dtype not in _HALF:
            self.exactness = f"not needed in {dtype}: passes of different sizes differ in the last bits only"
        elif mode is False:
            self.exactness = "off: passes of different sizes may round differently, and an answer may differ"
        elif mode == "auto" and self.device.type != "cpu":
            self.exactness = f"not asked for on {self.device.type}: passes of different sizes may round differently"
        else:
            self.exact = True
            self.rows, fault = examine(self)
            self.exact = not fault
            self.exactness = f"cannot be had on this machine in {dtype}: {fault}" if fault else (
                "found at load: passes of different sizes gave the same bits, with attention in float64 and at least "
                f"{self.rows} rows a pass"
            )  # fmt: skip
            if fault and mode is True:
                raise ValueError(
                    f'exact=True {self.exactness}; use dtype="float32", or exact="auto" to go on without the guarantee'
                )

    @torch.inference_mode()
    def check_exact(self, sizes: tuple[int, ...] = (2, 7, 24, 64)) -> bool:
        """Whether passes of these sizes give bit for bit the logits of one-token passes (a fraction of a second)."""
        generator = np.random.default_rng(0)
        prefix, chain = (generator.integers(0, self.vocabulary, size) for size in (24, max(sizes)))
        cache = self.new_cache()
        self.prefill(prefix, cache)
        one = np.ones((1, 1), dtype=bool)
        alone = []
        for token in chain[:4]:
            alone.append(self.verify(np.array([token]), np.zeros(1, np.int64), one, cache).logits[0])
            cache.keep([0])
        for size in sizes:
            cache.truncate(len(prefix))
            tree = np.tril(np.ones((size, size), dtype=bool))
            together = self.verify(chain[:size], np.arange(size), tree, cache).logits
            if not all(torch.equal(together[node], alone[node]) for node in range(min(size, len(alone)))):
                return False
        return True
