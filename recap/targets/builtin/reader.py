"""The reader's adapter: what training added to SmolLM2-135M-Instruct, and how it is merged into the public weights.

A low-rank difference for each linear layer: `weight + scale * b @ a`, a (rank, inputs) and b (outputs, rank), bfloat16
in one safetensors file beside this module. `training/` in the project's folder made it; docs/builtin.md describes it.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
from safetensors import safe_open

FILE = Path(__file__).with_name("reader.safetensors")
CHOICES = ("tuned", "plain")
VARIABLE = "RECAP_READER"
"""Environment variable that chooses where `load_target` does not."""


class Adapter:
    """The low-rank differences of one file, by the names of the weights they belong to."""

    def __init__(self, path: Path = FILE) -> None:
        """Raises ValueError for a file that is no adapter."""
        try:
            with safe_open(path, framework="pt") as file:
                self.scale = float((file.metadata() or {})["scale"])
                self._tensors = {name: file.get_tensor(name) for name in file.keys()}
        except KeyError:
            raise ValueError(
                f"{path} is no reader adapter: it names no scale; train it with `python -m training.train`"
            ) from None

    def merged(self, name: str, weight: torch.Tensor) -> torch.Tensor:
        """`weight` (outputs, inputs) with its difference added, in its dtype; unchanged where the file has none.

        Rounded to bfloat16, as the public weights are stored, so that every format computes with the same numbers.
        """
        stem = name.removesuffix(".weight")
        a, b = self._tensors.get(stem + ".a"), self._tensors.get(stem + ".b")
        if a is None or b is None:
            return weight
        # in place, and so the same numbers: temporaries of this size take longer than the arithmetic
        return (b.float() @ a.float()).mul_(self.scale).add_(weight).to(torch.bfloat16).to(weight.dtype)

    def merge_into(self, model: torch.nn.Module) -> None:
        """Change a loaded transformers model in place."""
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name.removesuffix(".weight") + ".a" in self._tensors:
                    parameter.copy_(self.merged(name, parameter))


def chosen(reader: str | os.PathLike = "auto") -> Adapter | None:
    """The adapter to merge; None for the untuned model.

    `reader`: "tuned"; "plain"; "auto", tuned unless $RECAP_READER says otherwise or the file is absent; or the path of
    an adapter. Raises ValueError for anything else, and for "tuned" without the file.
    """
    if reader == "auto":
        reader = os.environ.get(VARIABLE) or ("tuned" if FILE.is_file() else "plain")
    if reader == "plain":
        return None
    path = FILE if reader == "tuned" else Path(reader)
    if not path.is_file():
        raise ValueError(
            f"reader must be {', '.join(CHOICES)}, or the path of an adapter; got {str(reader)!r}"
            + (f", but {FILE} is missing: reinstall RECAP Studio" if reader == "tuned" else "")
        )
    return Adapter(path)
