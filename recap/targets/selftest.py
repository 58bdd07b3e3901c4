"""Whether a token's result depends on how many share its pass: asked when a model is loaded, never assumed.

First each shape of matrix product by itself, which finds the least padding that makes it independent; then whole passes
against one-token passes. What fails is named, because users cannot tell by the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .exact import exact_attention

if TYPE_CHECKING:
    from .runtime import Runtime

PADDINGS = (2, 4, 8)
"""Least rows of a pass, tried in this order."""
SIZES = (2, 3, 4, 7, 8, 16, 24, 33, 64)
HEAD_SIZES = (2, 7, 64, 256)
"""The last is how many rows the head gets at once while a prompt is seeded."""
_ROWS = 6
_OUTPUTS = 20_000
"""Numbers compared at least for each size: few of them lie so near a rounding boundary that another order shows."""


def examine(runtime: Runtime) -> tuple[int, str]:
    """(least rows of a pass, what cannot be had): the second is "" where passes of every size agree."""
    broken: list[str] = []
    for rows in PADDINGS:
        broken = dependent_products(runtime, rows)
        if not broken:
            break
    else:
        return 1, f"what {_listed(broken)} gives for a row depends on the number of rows, padded to {rows} as well"
    runtime.rows = rows
    if runtime.check_exact():
        return rows, ""
    culprit = "attention" if attention_depends(runtime) else "a part that is neither a linear nor attention"
    return 1, f"what {culprit} gives for a row depends on the number of rows"


def dependent_products(runtime: Runtime, rows: int) -> list[str]:
    """Names of the linears, one for each shape, whose rows depend on how many there are from `rows` on."""
    found = [] if independent(runtime.head, runtime.hidden_size, runtime, rows, HEAD_SIZES) else ["the head"]
    seen = set()
    for name, module in runtime.decoder.named_modules():
        if not isinstance(module, torch.nn.Linear):
            continue
        shape = (module.out_features, module.in_features, module.bias is None, module.weight.dtype)
        if shape in seen:
            continue
        seen.add(shape)
        if not independent(module, module.in_features, runtime, rows, SIZES):
            label = ".".join(name.split(".")[-2:])
            found.append(f"{label} ({module.out_features} x {module.in_features})")
    return found


@torch.inference_mode()
def independent(
    linear: Callable[[torch.Tensor], torch.Tensor], size: int, runtime: Runtime, rows: int, sizes: Sequence[int]
) -> bool:
    """Whether rows of a product are the same bits alone, padded to `rows` with copies, and among more."""
    generator = torch.Generator().manual_seed(0)
    compared = 0
    while compared < _OUTPUTS:
        inputs = torch.randn(max(sizes), size, generator=generator).to(runtime.device, runtime.dtype)
        alone = torch.stack([linear(row.repeat(rows, 1))[0] for row in inputs[:_ROWS]])
        for count in sizes:
            if count < rows:
                continue
            together = linear(inputs[:count])[:_ROWS]
            if not torch.equal(together, alone[: len(together)]):
                return False
        compared += alone.numel()
    return True


@torch.inference_mode()
def attention_depends(runtime: Runtime) -> bool:
    """Whether attention by itself gives a node other bits among 64 than among `rows`."""
    config: Any = runtime.text_config
    heads = config.num_attention_heads
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    size = getattr(config, "head_dim", None) or runtime.hidden_size // heads
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(runtime.device, runtime.dtype)

    query, key, value = drawn(1, heads, 64, size), drawn(1, kv_heads, 64, size), drawn(1, kv_heads, 64, size)
    together = exact_attention(runtime.decoder, query, key, value, None)[0]
    few = exact_attention(runtime.decoder, query[:, :, : runtime.rows], key, value, None)[0]
    return not torch.equal(together[:, : runtime.rows], few)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
