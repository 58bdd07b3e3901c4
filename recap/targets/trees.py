"""What one pass is asked: a packed tree behind the cache of its conversation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class PackedTree(NamedTuple):
    """A draft tree to be verified (section 3.5), in the order of `Target.verify`'s arguments."""

    tokens: np.ndarray
    """(n,) int64, the root first and parents before their children."""
    depths: np.ndarray
    """(n,) int64."""
    mask: np.ndarray
    """(n, n) bool: ancestors and self."""
    cache: Any
    """What lies before the root. No two trees of a pass share one."""
    rope_delta: int = 0
    """Position of a node = cache length + this + depth."""
