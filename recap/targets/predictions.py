"""What the target said at a number of positions, kept on its device until someone asks for a part of it."""

from __future__ import annotations

import numpy as np
import torch

_SPARE = 8
"""Extra columns fetched so that ties at the K-th place are usually settled without a second look."""


class Predictions:
    """Logits of n positions, (n, vocabulary), in the model's dtype, and the hidden states (n, d) they come from."""

    def __init__(self, logits: torch.Tensor, hidden: torch.Tensor | None = None) -> None:
        self.logits = logits
        self._hidden = hidden

    def __len__(self) -> int:
        return self.logits.shape[0]

    @property
    def states(self) -> np.ndarray:
        """Last hidden states, (n, d) float32. Raises ValueError where they were not given."""
        if self._hidden is None:
            raise ValueError("these predictions were made from logits alone: there are no hidden states")
        return self._hidden.float().cpu().numpy()

    def choices(self) -> np.ndarray:
        """Greedy choice per position, (n,) int64; among equal logits the lowest id. Raises FloatingPointError on NaN."""
        values, ids = self.logits.max(dim=-1)
        if bool(values.isnan().any()):
            raise FloatingPointError("the model produced NaN logits; try float32, or check the weights")
        return ids.cpu().numpy()

    def top(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The K largest logits per position: ids (n, K) int64 and logits (n, K) float32, falling, ties by lowest id.

        Raises ValueError for a vocabulary smaller than K and FloatingPointError on NaN or infinite logits.
        """
        vocabulary = self.logits.shape[1]
        if k > vocabulary:
            raise ValueError(f"cannot keep {k} predictions per row of a model with {vocabulary} tokens; lower top_k")
        fetched = min(k + _SPARE, vocabulary)
        top = torch.topk(self.logits, fetched, dim=-1)
        values, ids = top.values.float().cpu().numpy(), top.indices.cpu().numpy()
        if not np.isfinite(values[:, :k]).all():
            raise FloatingPointError("the model produced NaN or infinite logits; try float32, or check the weights")
        order = np.lexsort((ids, -values), axis=-1)
        values, ids = np.take_along_axis(values, order, 1), np.take_along_axis(ids, order, 1)
        if fetched < vocabulary:
            for row in np.nonzero(values[:, -1] == values[:, k - 1])[0]:
                values[row, :k], ids[row, :k] = self._settle(int(row), float(values[row, k - 1]), k)
        return np.ascontiguousarray(ids[:, :k]), np.ascontiguousarray(values[:, :k])

    def _settle(self, row: int, least: float, k: int) -> tuple[np.ndarray, np.ndarray]:
        """One row whose K-th place is shared by more ids than were fetched."""
        logits = self.logits[row].float()
        ids = torch.nonzero(logits >= least).flatten()
        values, ids = logits[ids].cpu().numpy(), ids.cpu().numpy()
        order = np.lexsort((ids, -values))[:k]
        return values[order], ids[order]

    def row(self, position: int) -> torch.Tensor:
        """Logits of one position, (vocabulary,) float32, a copy."""
        return self.logits[position].to(torch.float32, copy=True)
