"""Which weights a model has, in twelve hex digits: the same in every number format and on every device."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import torch

from .cpu import Checkpoint

_SAMPLES = 64
"""Values taken of each tensor, evenly spaced: training of any kind changes far more."""
_LAYER = re.compile(r"(.*?)\.(\d+)\.")
"""The first number in a parameter's name, and what is before it: a stack of layers and a place in it."""
_KNOWN: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def fingerprint(model: torch.nn.Module | Checkpoint) -> str:
    """Of a loaded model or of a checkpoint that compiled passes read. It is taken once of each; weights that are changed
    afterwards do not show.

    Of a stack of layers the first, the middle and the last one count: models that differ in another one alone are taken
    for the same. Values are rounded to bfloat16, so that a checkpoint loaded in bfloat16 or in float32 is the same model.
    Order and names of the tensors do not matter beyond that; shapes do.
    """
    if model not in _KNOWN:
        _KNOWN[model] = _digest(_of_checkpoint(model) if isinstance(model, Checkpoint) else _of_module(model))
    return _KNOWN[model]


def _chosen(layers: int) -> set[int]:
    return {0, (layers - 1) // 2, layers - 1}


def _of_checkpoint(checkpoint: Checkpoint) -> Iterator[torch.Tensor]:
    with checkpoint.open() as weights:
        yield from weights.ends()
        for index in _chosen(checkpoint.sizes.layers):
            yield from weights.layer(index)


def _of_module(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    named = [(_LAYER.match(name), weight) for name, weight in model.named_parameters()]
    layers: dict[str, int] = {}
    for place, _ in named:
        if place:
            layers[place[1]] = max(layers.get(place[1], 0), int(place[2]) + 1)
    return (weight for place, weight in named if not place or int(place[2]) in _chosen(layers[place[1]]))


@torch.inference_mode()
def _digest(tensors: Iterable[torch.Tensor]) -> str:
    parts = sorted(_part(tensor) for tensor in tensors)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:12]


def _part(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().reshape(-1)
    some = flat[:: max(len(flat) // _SAMPLES, 1)][:_SAMPLES]
    if some.is_floating_point():
        some = some.to(torch.bfloat16).float()
    return hashlib.sha256(str(tuple(tensor.shape)).encode() + some.cpu().numpy().tobytes()).digest()
