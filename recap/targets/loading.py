"""Loading a target by name, folder or hub id, and wrapping a model that is already loaded.

transformers' models are imported when one is loaded: that takes seconds, and the built-in model does without.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from safetensors import SafetensorError

from .base import Target
from .cpu import CHOICES
from .qwen2_5_vl import MultimodalRopeTarget, has_multimodal_rope
from .support import refuse_unsupported

HUB_DEFAULT = "Qwen/Qwen2.5-VL-7B-Instruct"
DTYPES = ("auto", "bfloat16", "float16", "float32")


def default_model() -> str:
    """Qwen2.5-VL-7B on a machine with CUDA, the built-in stand-in elsewhere."""
    return HUB_DEFAULT if torch.cuda.is_available() else "builtin"


def load_target(
    name: str | os.PathLike = "builtin",
    device: str | None = None,
    dtype: str = "auto",
    exact: bool | str = "auto",
    threads: int | None = None,
    progress: Callable[[str, float | None], None] | None = None,
    passes: str = "auto",
    reader: str | os.PathLike = "auto",
    graphs: bool = False,
) -> Target:
    """A target from "builtin", a folder written by save_pretrained, or a hub id.

    - `device`: "cpu", "cuda", "cuda:1", ...; by default CUDA where there is one, except for "builtin", whose place is the
      CPU.
    - `dtype`: "auto" takes the checkpoint's own, on a CPU bfloat16 in place of float16. "builtin" is float32 in the
      compiled passes, with its bfloat16 weights as they are; in torch, bfloat16 where the processor has AVX-512, else
      float32.
    - `exact`: in half precision, bit-identical passes of every size. "auto" asks for them on a CPU and reports in
      `target.exact` what the check found, in `target.exactness` why; "off" (or False) does not ask, True insists.
    - `threads`: CPU threads of torch and of the compiled passes.
    - `progress`: told in words and as a fraction (None: unknown) what is fetched for "builtin" the first time.
    - `passes`: what evaluates "builtin" on a CPU: "compiled" (kernels in C), "torch", or "auto", the first where it is
      built unless $RECAP_PASSES says otherwise. Other models run in torch.
    - `reader`: "tuned" merges what training added into the language model of "builtin", "plain" leaves it as published,
      a path names another adapter; "auto" is tuned unless $RECAP_READER says otherwise.
    - `graphs`: on CUDA, replay passes as CUDA graphs, one for each of a few sizes. Tested uncaptured on a CPU only; no GPU
      has run it yet.

    Raises ValueError with a sentence for a model that does not exist, has no plain cache, or cannot be run as asked.
    """
    name = os.fspath(name)
    if passes not in CHOICES:
        raise ValueError(f"passes must be one of {', '.join(CHOICES)}, got {passes!r}")
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}")
    if threads is not None:
        if threads < 1:
            raise ValueError(f"threads must be 1 or more, got {threads}")
        torch.set_num_threads(threads)
    device = _device(device, name)
    if name == "builtin":
        from .builtin import BuiltinTarget

        return BuiltinTarget.load(device, dtype, exact, progress, passes, os.fspath(reader), graphs)
    if passes == "compiled":
        raise ValueError(f'passes="compiled" is for "builtin"; {name!r} runs in torch')
    from transformers import AutoConfig, AutoModelForImageTextToText

    try:
        config = AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"no model {name!r}: it must be \"builtin\", a folder with config.json, or a hub id ({_first_line(error)})"
        ) from error
    refuse_unsupported(config)
    try:
        model = AutoModelForImageTextToText.from_pretrained(name, dtype=_dtype(dtype, config, device)).to(device)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"{name!r} is no image-text-to-text model that can be loaded: {_first_line(error)}") from error
    return wrap(model, _processor(name, config), exact=exact, name=name, graphs=graphs)


def import_for(name: str) -> None:
    """Import what loading this model will need, so that the thread that loads it imports nothing of weight."""
    if name == "builtin":
        from .builtin import import_parts

        return import_parts()
    from transformers import AutoModelForImageTextToText, AutoProcessor  # noqa: F401

    from . import runtime  # noqa: F401


def wrap(
    model: torch.nn.Module, processor: Any, exact: bool | str = "auto", name: str = "", graphs: bool = False
) -> Target:
    """A target around any loaded transformers image-text-to-text model and its processor.

    The model is put into eval mode and used as it is otherwise. `exact` and `graphs` as for `load_target`. Raises ValueError if its cache is not a plain one.
    """
    refuse_unsupported(model.config)
    family = MultimodalRopeTarget if has_multimodal_rope(model) else Target
    return family(model, processor, name, exact, graphs=graphs)


def _device(device: str | None, name: str) -> str:
    if device is None:
        return "cuda" if torch.cuda.is_available() and name != "builtin" else "cpu"
    try:
        kind = torch.device(device).type
    except RuntimeError:
        raise ValueError(f'device must be such as "cpu", "cuda" or "cuda:1", got {device!r}') from None
    if kind not in ("cpu", "cuda", "mps", "xpu"):
        raise ValueError(f'device must be such as "cpu", "cuda" or "cuda:1", got {device!r}')
    if kind == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device {device!r} was asked for, but torch sees no CUDA device here; use \"cpu\"")
    return device


def _dtype(dtype: str, config: Any, device: str) -> torch.dtype | str:
    if dtype != "auto":
        return getattr(torch, dtype)
    own = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None)
    if own in (torch.float16, "float16") and device == "cpu":
        return torch.bfloat16
    return "auto"


def _processor(name: str, config: Any) -> Any:
    """The model's processor. Without torchvision, one that has no video part, since that part alone needs it."""
    from transformers import AutoImageProcessor, AutoProcessor, AutoTokenizer
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
    from transformers.utils import is_torchvision_available

    if is_torchvision_available():
        return AutoProcessor.from_pretrained(name)
    full = PROCESSOR_MAPPING.get(type(config), None)
    if full is None or not any("video" in part for part in full.get_attributes()):
        return AutoProcessor.from_pretrained(name)
    pictures_only = classmethod(lambda _: [part for part in full.get_attributes() if "video" not in part])
    reduced = type(full.__name__, (full,), {"__module__": full.__module__, "get_attributes": pictures_only})
    loaders = {"tokenizer": AutoTokenizer, "image_processor": AutoImageProcessor}
    parts = [loaders[part].from_pretrained(name) if part in loaders else None for part in full.get_attributes()]
    return reduced.from_args_and_dict(parts, full.get_processor_dict(name)[0])


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
