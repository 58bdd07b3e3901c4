"""A llama-shaped checkpoint on disk: its sizes, and its weights as the passes take them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from safetensors import safe_open

UNIT = 32
"""Hidden size, head size and mlp size must be multiples of this."""
_LAYER = (
    "input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "post_attention_layernorm", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
)  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """Shape of a model."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    mlp: int
    vocabulary: int
    positions: int
    epsilon: float
    """Of the norms."""


class Config(SimpleNamespace):
    """What config.json says, under its names. Not transformers' class, whose import takes longer than the weights do, and
    which adds nothing to what the file says."""

    def get_text_config(self, decoder: bool = False) -> Config:
        """Itself: there is no other part."""
        return self


class Checkpoint:
    """A folder written by save_pretrained. It stands where a loaded model would, with the configurations alone.

    `change(name, weight)`, if given, is applied to every matrix of a layer as it is read. Raises ValueError with the
    reason for a model that the passes do not compute.
    """

    def __init__(self, folder: Path, change: Callable[[str, torch.Tensor], torch.Tensor] | None = None) -> None:
        self.folder = Path(folder)
        self._change = change or (lambda name, weight: weight)
        self.config = Config(**_read(self.folder / "config.json"))
        _refuse_others(self.config)
        self.generation_config = SimpleNamespace(**_read(self.folder / "generation_config.json"))
        self.name_or_path = str(folder)
        self.device = torch.device("cpu")

    @property
    def sizes(self) -> Sizes:
        config = self.config
        return Sizes(
            config.num_hidden_layers, config.hidden_size, config.num_attention_heads, config.num_key_value_heads,
            _head_size(config), config.intermediate_size, config.vocab_size, config.max_position_embeddings,
            config.rms_norm_eps,
        )  # fmt: skip

    def turns(self) -> tuple[np.ndarray, np.ndarray]:
        """Cosines and sines of the rotary positions, (positions, head size / 2) float32 each, as in transformers."""
        size, theta = _head_size(self.config), self.config.rope_parameters["rope_theta"]
        frequencies = 1.0 / theta ** (torch.arange(0, size, 2, dtype=torch.float32) / size)
        angles = torch.arange(self.config.max_position_embeddings, dtype=torch.float32)[:, None] * frequencies
        return angles.cos().numpy(), angles.sin().numpy()

    @contextmanager
    def open(self) -> Iterator[Weights]:
        """The weights, read as they are asked for."""
        with safe_open(self.folder / "model.safetensors", framework="pt") as file:
            yield Weights(file, self._change)


class Weights:
    """An open checkpoint."""

    def __init__(self, file: Any, change: Callable[[str, torch.Tensor], torch.Tensor]) -> None:
        self._file, self._change = file, change

    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The embedding (vocabulary, hidden), which is the head as well, and the last norm (hidden,)."""
        return self._file.get_tensor("model.embed_tokens.weight"), self._file.get_tensor("model.norm.weight")

    def layer(self, index: int) -> list[torch.Tensor]:
        """Norm, q, k, v, out, norm, gate, up and down of one layer, matrices as (outputs, inputs)."""
        names = [f"model.layers.{index}.{name}.weight" for name in _LAYER]
        return [self._change(name, self._file.get_tensor(name)) for name in names]


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text("utf-8"))


def _head_size(config: Any) -> int:
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def _refuse_others(config: Any) -> None:
    wanted = {
        "model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "tie_word_embeddings": True,
    }  # fmt: skip
    for name, value in wanted.items():
        if getattr(config, name, value) != value:
            found = getattr(config, name)
            raise ValueError(f"the compiled passes know models whose {name} is {value!r}, not {found!r}")
    if (kind := config.rope_parameters.get("rope_type", "default")) != "default":
        raise ValueError(f"the compiled passes know plain rotary positions, not {kind!r}")
    sizes = {"hidden_size": config.hidden_size, "head size": _head_size(config), "mlp size": config.intermediate_size}
    for name, size in sizes.items():
        if size % UNIT:
            raise ValueError(f"the compiled passes know models whose {name} is a multiple of {UNIT}, not {size}")
