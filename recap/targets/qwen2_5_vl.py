"""Qwen2.5-VL and its relatives: three rotary positions per token (M-RoPE)."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from .base import Target
from .prompt import Prompt


def has_multimodal_rope(model: torch.nn.Module) -> bool:
    """Whether a model computes three positions per token."""
    return hasattr(model.base_model, "get_rope_index")


class MultimodalRopeTarget(Target):
    """A model whose pictures take a grid of positions, so that the text behind one continues at another number.

    The difference between the next position and the number of tokens is the rope delta; it is kept per prompt, because
    what the model itself remembers belongs to whoever called it last.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.runtime.mrope = True

    def place(self, prompt: Prompt) -> Prompt:
        ids = torch.from_numpy(prompt.ids)
        if not prompt.spans:
            prompt.positions = torch.arange(len(ids)).expand(3, -1)
            return prompt
        rope_index = self.model.base_model.get_rope_index
        inputs: dict[str, Any] = {"input_ids": ids[None]}
        if "mm_token_type_ids" in inspect.signature(rope_index).parameters:
            inputs["mm_token_type_ids"] = torch.from_numpy(prompt.pictured()).int()[None]
        for key in prompt.spans[0].picture.layout:
            inputs[key] = torch.cat([span.picture.layout[key] for span in prompt.spans])
        positions, _ = rope_index(**inputs)
        prompt.positions = positions[-3:, 0]
        prompt.rope_delta = int(prompt.positions.max()) + 1 - len(ids)
        return prompt
