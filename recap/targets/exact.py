"""Attention whose result does not depend on how many nodes share a pass.

In half precision a matrix product may round differently for one row than for many, and a token can flip. Accumulating
attention in float64 makes the rounding to half precision the same whatever the summation order; small passes are padded
to two rows or more because some linears use another kernel for few rows. Whether this suffices on this machine, and how
many rows it takes, is found out when the target is loaded (selftest.py), never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import torch

NAME = "recap_exact"


def read_mode(exact: bool | str) -> bool | str:
    """True (insist), False or "auto". Raises ValueError for anything but these and "off", which is False."""
    if isinstance(exact, str) and exact in ("auto", "off"):
        return "auto" if exact == "auto" else False
    if not isinstance(exact, bool):
        raise ValueError(f'exact must be "auto", "off", True or False, got {exact!r}')
    return exact


def exact_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Grouped attention accumulated in float64. query (1, heads, n, d); key, value (1, kv heads, length, d)."""
    _, heads, n, size = query.shape
    kv_heads, length = key.shape[1], key.shape[2]
    scale = size**-0.5 if scaling is None else scaling
    grouped = query.double().reshape(kv_heads, heads // kv_heads * n, size)
    scores = torch.matmul(grouped, key[0].double().transpose(1, 2)).mul_(scale)
    if attention_mask is not None:
        scores.view(heads, n, length).add_(attention_mask[0, 0])
    weights = torch.softmax(scores, dim=-1)
    output = torch.matmul(weights, value[0].double()).to(query.dtype)
    return output.view(1, heads, n, value.shape[-1]).transpose(1, 2).contiguous(), None


@cache
def _make_known() -> None:
    # at the first use: importing transformers' models takes seconds, and the compiled passes do without
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(NAME, exact_attention)


def padded(
    tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, rows: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pass of at least `rows` nodes: copies of the last one are put behind, which nobody sees."""
    spare = max(0, rows - len(tokens))
    wider = np.pad(mask, (0, spare))
    np.fill_diagonal(wider, True)
    return np.pad(tokens, (0, spare), mode="edge"), np.pad(depths, (0, spare), mode="edge"), wider


@contextmanager
def attention(config: Any, name: str) -> Iterator[None]:
    """Let the text model of this configuration use another attention function for a while."""
    _make_known()
    before = config._attn_implementation_internal
    config._attn_implementation_internal = name
    try:
        yield
    finally:
        config._attn_implementation_internal = before
