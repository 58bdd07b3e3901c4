"""Out of memory, whoever says so: Python, torch's allocator of a device, or its allocator of the main memory."""

from __future__ import annotations

import gc

import torch

_WORDS = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")


def is_shortage(error: BaseException) -> bool:
    """Whether an exception means that memory ran out."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, (RuntimeError, OSError)) and any(words in str(error).lower() for words in _WORDS)


def give_back() -> None:
    """Free what nobody refers to any more, a device's too."""
    gc.collect()
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
