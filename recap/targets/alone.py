"""Small work for torch, done by one thread.

torch shares every operation with a team of threads that wait for each other awake. Where other programs keep the
processor busy, waiting takes most of the time: merging the reader took 0.4 s of processor time with one thread and 5 s
with two, recognising one object 0.04 s and 0.3 s or more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")


def alone(work: Callable[[], T]) -> T:
    """What `work()` gives, from a thread of its own in which torch has no other threads. The team of the caller's thread
    and of all others stays as it is. Where torch's OpenMP cannot be told, the work is done with the usual team."""
    with ThreadPoolExecutor(1, "alone", settle_down) as pool:
        return pool.submit(work).result()


def settle_down() -> None:
    """Leave torch one thread for what the calling thread asks of it, from now on."""
    torch.get_num_threads()  # torch gives a new thread its team at the first question: before this one, not after it
    try:
        ctypes.CDLL(None).omp_set_num_threads(1)  # of this thread alone; torch.set_num_threads is for new threads too
    except (OSError, AttributeError, TypeError):  # an OpenMP that is not in sight, or none
        pass
