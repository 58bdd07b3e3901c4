"""SmolLM2-135M-Instruct, the language model behind `builtin`.

Worth knowing about it:

- 30 layers, hidden size 576, 9 query and 3 key-value heads of 64, vocabulary 49,152 (head tied to the embedding),
  context 8,192 tokens, 134.5 M parameters. The weights were published with 4-bit blocks (Q4_1) and are stored here as
  bfloat16, so float32 changes the arithmetic, not the weights.
- `<|im_start|>` is 1 and also the "beginning of sequence" token, but nothing is put in front of a text: the chat
  template writes every control token itself. `<|im_end|>` (2) ends a turn and is the padding token too; `<|endoftext|>`
  (0) is named "unknown" by the file and is taken as an end token as well.
- The chat template takes plain strings as content and, without a system message, writes its own ("You are a helpful AI
  assistant named SmolLM, trained by Hugging Face").
- The tokenizer finds control tokens anywhere in a text. Text that people or pictures supply therefore goes through
  `PromptTokenizer`, which keeps `<|im_start|>` plain characters.
"""

from __future__ import annotations

from typing import Any

import torch

from ..alone import alone
from ..cpu.checkpoint import Checkpoint
from .convert import quiet
from .reader import chosen
from .sources import ensure
from .store import Progress
from .tokenizer import ChatTokenizer

END_TOKENS = (0, 2)
"""`<|endoftext|>` and `<|im_end|>`."""


def load_language_model(
    dtype: torch.dtype = torch.bfloat16, device: str | torch.device = "cpu", progress: Progress | None = None,
    reader: str = "auto",
) -> tuple[Any, Any]:  # fmt: skip
    """(LlamaForCausalLM in evaluation mode, tokenizer), from the cache folder; fetched first where missing.

    The stored files are hashed, about half a second, and fetched again if they are damaged: damaged weights may well
    load and answer nonsense. No request is made when the files are in place. `reader` is that of `reader.chosen`.
    Raises recap.targets.builtin.store.AssetError when they cannot be had.
    """
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    adapter = chosen(reader)
    folder = ensure(progress, verify=True).language_model
    with quiet():
        model = LlamaForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True)
    if adapter is not None:
        alone(lambda: adapter.merge_into(model))
    model.generation_config.eos_token_id = list(END_TOKENS)
    with quiet():  # AutoTokenizer would find the same one, a second later
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    return model.to(device).eval().requires_grad_(False), tokenizer


def open_language_model(progress: Progress | None = None, reader: str = "auto") -> tuple[Checkpoint, ChatTokenizer]:
    """(checkpoint, tokenizer) for the compiled passes. `reader`, files and errors as for `load_language_model`."""
    adapter = chosen(reader)
    folder = ensure(progress, verify=True).language_model
    checkpoint = Checkpoint(folder, adapter.merged if adapter is not None else None)
    checkpoint.generation_config.eos_token_id = list(END_TOKENS)
    return checkpoint, ChatTokenizer(folder)
