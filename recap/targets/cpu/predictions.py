"""What the kernels said at a number of positions: logits are computed when somebody asks for them."""

from __future__ import annotations

import threading

import numpy as np
import torch

from .compiled import Network

_USUAL = 8
"""Predictions of a row that methods keep, unless told otherwise."""


class LazyPredictions:
    """Predictions of n positions, kept as hidden states; the interface of `recap.targets.predictions.Predictions`.

    Which part is asked for does not change a number. The K largest logits of all rows are chosen while the head runs,
    so that (n, vocabulary) numbers need not be stored.
    """

    def __init__(
        self, network: Network, hidden: np.ndarray, lock: threading.RLock, head: SharedHead | None = None, first: int = 0
    ) -> None:
        """`head`: what reads these rows, from `first` on, together with those of other trees of the same pass."""
        self._network, self._hidden, self._lock = network, hidden, lock
        self._head, self._first = head, first

    def __len__(self) -> int:
        return len(self._hidden)

    @property
    def states(self) -> np.ndarray:
        """Last hidden states, (n, d) float32."""
        return self._hidden

    @property
    def logits(self) -> torch.Tensor:
        """All of them, (n, vocabulary) float32, computed anew."""
        with self._lock:
            return torch.from_numpy(self._network.logits(self._hidden))

    def choices(self) -> np.ndarray:
        """Greedy choice per position, (n,) int64; ties by lowest id. Raises FloatingPointError on NaN."""
        return self.top(1)[0][:, 0]

    def top(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The K largest logits per position: ids (n, K) int64 and logits (n, K) float32, falling, ties by lowest id.

        Raises ValueError for a vocabulary smaller than K and FloatingPointError on NaN or infinite logits.
        """
        vocabulary = self._network.sizes.vocabulary
        if k > vocabulary:
            raise ValueError(f"cannot keep {k} predictions per row of a model with {vocabulary} tokens; lower top_k")
        found = self._head.top(self._first, len(self), k) if self._head else None
        if found is not None:
            return found
        with self._lock:
            return self._network.top(self._hidden, k)

    def row(self, position: int) -> torch.Tensor:
        """Logits of one position, (vocabulary,) float32, a copy."""
        with self._lock:
            return torch.from_numpy(self._network.logits(self._hidden[position][None])[0])


class SharedHead:
    """The K largest logits of all rows of a pass over several trees, found at once: the head's weights are a fifth of the
    built-in model's and would be read again for every tree."""

    def __init__(self, network: Network, hidden: np.ndarray, lock: threading.RLock) -> None:
        self._found: tuple[np.ndarray, np.ndarray] | None = None
        try:
            with lock:
                self._found = network.top(hidden, min(_USUAL, network.sizes.vocabulary))
        except FloatingPointError:
            pass

    def top(self, first: int, count: int, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Ids and logits (count, k) of the rows from `first` on; None where these rows have to be read by themselves:
        more is wanted than was found, or another tree's rows hold what is no number."""
        if self._found is None or k > self._found[0].shape[1]:
            return None
        ids, values = (np.ascontiguousarray(one[first : first + count, :k]) for one in self._found)
        return ids, values
