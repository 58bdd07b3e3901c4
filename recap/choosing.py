"""How the target's next token is chosen at a node: plain argmax, or a draw at a temperature."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import torch

from .targets.predictions import Predictions

UNDECIDED = -1


class Chooser(Protocol):
    """`read` is called once per pass, then `at` once per emitted position, along the path that is being accepted."""

    def read(self, predictions: Predictions, greedy: np.ndarray | None) -> None:
        """Take a pass's predictions; `greedy` (n,) are the argmaxes if somebody has computed them already."""

    def at(self, node: int) -> int:
        """The target's own next token at a node."""

    def choices(self) -> list[int]:
        """What was chosen at each node of the pass, UNDECIDED where nobody asked."""


class Greedy:
    """Argmax, ties by lowest id."""

    def read(self, predictions: Predictions, greedy: np.ndarray | None) -> None:
        self._choices = (predictions.choices() if greedy is None else greedy).tolist()

    def at(self, node: int) -> int:
        return self._choices[node]

    def choices(self) -> list[int]:
        return self._choices


class Sampler:
    """Draws from softmax(logits / temperature) with one random number per emitted position.

    Because AR uses the same numbers in the same order, a draft changes neither the distribution nor, with equal logits,
    the answer of a given seed. Raises ValueError for a temperature that is not a positive number.
    """

    def __init__(self, temperature: float, seed: int) -> None:
        if not (math.isfinite(temperature) and temperature > 0):
            raise ValueError(f"temperature must be a positive number, got {temperature}")
        self._temperature = temperature
        self._random = np.random.default_rng(seed)

    def read(self, predictions: Predictions, greedy: np.ndarray | None) -> None:
        self._predictions = predictions
        self._choices = [UNDECIDED] * len(predictions)

    def at(self, node: int) -> int:
        logits = self._predictions.row(node).double()
        # the largest becomes 0 first: divided by a tiny temperature, others may overflow to minus infinity, it may not
        self._choices[node] = draw((logits - logits.max()) / self._temperature, self._random.random())
        return self._choices[node]

    def choices(self) -> list[int]:
        return self._choices


def draw(logits: torch.Tensor, number: float) -> int:
    """The token that a uniform number in [0, 1) falls on under softmax(logits), (vocabulary,) float64."""
    cumulative = torch.softmax(logits, dim=-1).cumsum(dim=-1)
    threshold = cumulative[-1] * number
    return int(torch.searchsorted(cumulative, threshold, right=True).clamp_(max=len(logits) - 1))
