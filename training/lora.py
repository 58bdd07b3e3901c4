"""Low-rank adaptation in plain torch: every linear layer gets a small difference to be trained, the rest is frozen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional


class LoraLinear(nn.Module):
    """`base(x) + scale * x @ a.T @ b.T`, with a (rank, inputs) small at first and b (outputs, rank) zero."""

    def __init__(self, base: nn.Linear, rank: int, scale: float, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.base, self.scale = base, scale
        start = torch.randn(rank, base.in_features, generator=generator) / base.in_features**0.5
        self.a = nn.Parameter(start)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.on = True

    def forward(self, x: Tensor) -> Tensor:
        if not self.on:
            return self.base(x)
        return self.base(x) + self.scale * functional.linear(functional.linear(x, self.a), self.b)


def adapt(model: nn.Module, rank: int, scale: float, seed: int) -> dict[str, nn.Parameter]:
    """Freeze `model` and put a `LoraLinear` in the place of every linear layer of its body: the trained parameters by
    name, those names that `recap.targets.builtin.reader` reads."""
    generator = torch.Generator().manual_seed(seed)
    model.requires_grad_(False)
    trained = {}
    for name, module in [(n, m) for n, m in model.named_modules() if isinstance(m, nn.Linear) and "layers." in n]:
        parent, _, leaf = name.rpartition(".")
        adapted = LoraLinear(module, rank, scale, generator)
        setattr(model.get_submodule(parent), leaf, adapted)
        trained[name + ".a"], trained[name + ".b"] = adapted.a, adapted.b
    return trained


@contextmanager
def untuned(model: nn.Module) -> Iterator[None]:
    """The model as it was before `adapt`, for a while."""
    adapted = [module for module in model.modules() if isinstance(module, LoraLinear)]
    for module in adapted:
        module.on = False
    try:
        yield
    finally:
        for module in adapted:
            module.on = True


def save(trained: dict[str, nn.Parameter], scale: float, path: Path, notes: dict[str, str] | None = None) -> None:
    """An adapter file in bfloat16, written whole or not at all."""
    tensors = {name: parameter.detach().to(torch.bfloat16).contiguous() for name, parameter in trained.items()}
    partial = path.with_suffix(".partial")
    save_file(tensors, partial, {"scale": repr(scale), **(notes or {})})
    partial.replace(path)
