"""Tiny random llama models on disk, and random trees, for the compiled passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import transformers

SMALL = dict(
    hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
    head_dim=32, vocab_size=101, max_position_embeddings=2048, rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    tie_word_embeddings=True, initializer_range=0.15, rms_norm_eps=1e-5,
)  # fmt: skip


def write(folder: Path, dtype: torch.dtype = torch.bfloat16, seed: int = 0, **changes: object) -> Path:
    """Weights rounded to `dtype`; norms away from 1, so that a norm left out is seen."""
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**{**SMALL, **changes}))
    for name, weights in model.named_parameters():
        if "norm" in name:
            torch.nn.init.uniform_(weights, 0.5, 1.5)
    model.to(dtype).save_pretrained(folder)
    return folder


def transformers_logits(folder: Path, ids: np.ndarray) -> np.ndarray:
    """(n, vocabulary) by transformers in float32."""
    model = transformers.LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        return model(torch.from_numpy(ids)[None]).logits[0].numpy()


def chain(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Depths and mask of n tokens in a row."""
    return np.arange(n), np.tri(n, dtype=bool)


def random_tree(random: np.random.Generator, n: int, vocabulary: int) -> tuple[np.ndarray, ...]:
    """tokens, parents, depths, mask in an order in which every parent comes before its children."""
    parents = np.array([-1, *(int(random.integers(max(0, i - 6), i)) for i in range(1, n))])
    depths, mask = np.zeros(n, np.int64), np.eye(n, dtype=bool)
    for i in range(1, n):
        depths[i] = depths[parents[i]] + 1
        mask[i] |= mask[parents[i]]
    return random.integers(0, vocabulary, n), parents, depths, mask
