"""The other side of every comparison: transformers' own processor and `generate`, on a second copy of the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
from transformers.utils import is_torchvision_available


class _NoVideo(dict):
    """Stands where a processor wants its video part, which needs torchvision."""

    num_frames = fps = None


def load_processor(folder: Path) -> Any:
    """The folder's processor, put together from its parts where AutoProcessor would insist on torchvision."""
    full = PROCESSOR_MAPPING[type(transformers.AutoConfig.from_pretrained(folder))]
    names = full.get_attributes()
    if is_torchvision_available() or not any("video" in name for name in names):
        return transformers.AutoProcessor.from_pretrained(folder)

    def check(self: Any, name: str, part: Any) -> type:
        return _NoVideo if isinstance(part, _NoVideo) else full.check_argument_for_proper_class(self, name, part)

    reduced = type(full.__name__, (full,), {"__module__": full.__module__, "check_argument_for_proper_class": check})
    parts = {
        "tokenizer": transformers.AutoTokenizer.from_pretrained(folder),
        "image_processor": transformers.AutoImageProcessor.from_pretrained(folder), "video_processor": _NoVideo(),
    }
    settings, _ = full.get_processor_dict(folder)
    return reduced.from_args_and_dict([parts[name] for name in names], settings)


class Reference:
    """A model loaded by transformers alone."""

    def __init__(self, folder: Path) -> None:
        self.processor = load_processor(folder)
        self.model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
        self.placeholder: int = self.model.config.image_token_id

    def inputs(self, messages: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        """Model inputs of a chat whose picture parts carry their pictures."""
        return dict(self.processor.apply_chat_template(
            messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        ))

    def inputs_of_ids(self, ids: np.ndarray, pictures: list[Any]) -> dict[str, torch.Tensor]:
        """Model inputs for a prompt of known ids that shows these pictures, in order."""
        inputs: dict[str, torch.Tensor] = {}
        if pictures:
            inputs = self.inputs(chat("?", pictures))
        inputs["input_ids"] = torch.from_numpy(np.array(ids, dtype=np.int64))[None]
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        if "mm_token_type_ids" in inputs:
            inputs["mm_token_type_ids"] = (inputs["input_ids"] == self.placeholder).long()
        return inputs

    def answer(self, inputs: dict[str, torch.Tensor], max_new_tokens: int, **settings: Any) -> list[int]:
        """New tokens of transformers' greedy generate; without the processors a checkpoint ships, unless asked for."""
        settings = {"repetition_penalty": 1.0, **settings}
        out = self.model.generate(**inputs, do_sample=False, max_new_tokens=max_new_tokens, **settings)
        return out[0, inputs["input_ids"].shape[1] :].tolist()


def chat(text: str, pictures: list[Any] = ()) -> list[dict[str, Any]]:
    """One user message, its pictures first."""
    parts: list[dict[str, Any]] = [{"type": "image", "image": picture} for picture in pictures]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": text}]}]
