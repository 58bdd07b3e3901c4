"""The pictures of one input, looked at once for everybody: encoding is the same work for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch

from ..targets.prompt import Picture


@dataclass
class Looked:
    """Encoded pictures, and what that took."""

    pictures: list[Picture] = field(default_factory=list)
    seconds: float = 0.0
    """Opening, preprocessing and encoding: what every method is charged, as if it had done it itself."""
    prepared: float = 0.0
    """Opening and preprocessing alone: what is charged to peers, which encode for themselves."""
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)
    """What transformers' `generate` takes beside the ids; empty for a model without eyes of its own."""


def look(target: Any, images: Sequence[str], peers: bool = False) -> Looked:
    """Open and encode the pictures of an input; with `peers` their inputs are kept too. Raises ValueError for a file that
    is no picture, or a model that takes none."""
    looked = Looked()
    if not images:
        return looked
    clock = perf_counter()
    opened = [target.open(image) for image in images]
    looked.pictures = [target.see(one) for one in opened]
    looked.prepared = perf_counter() - clock
    if peers and target.placeholder is not None:
        looked.inputs = _inputs(target, [one.image for one in opened])
    clock = perf_counter()
    for picture in looked.pictures:
        target.encode(picture)
    if target.device.startswith("cuda"):
        torch.cuda.synchronize(target.device)
    looked.seconds = looked.prepared + perf_counter() - clock
    return looked


def _inputs(target: Any, images: list[Any]) -> dict[str, torch.Tensor]:
    token = target.tokenizer.convert_ids_to_tokens(target.placeholder)
    made = target.processor(images=images, text=[token * len(images)], add_special_tokens=False, return_tensors="pt")
    text = ("input_ids", "attention_mask")
    return {key: value for key, value in made.items() if isinstance(value, torch.Tensor) and key not in text}
