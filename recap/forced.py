"""Teacher forcing: what a target says of tokens that are given, without decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from .targets.base import Target
from .targets.predictions import Predictions
from .targets.prompt import Prompt

if TYPE_CHECKING:
    from .targets.cache import PackedCache

_PART = 32
"""Given tokens evaluated in one pass."""


@dataclass
class Forced:
    """A prompt that was evaluated; `of` then goes through an answer to it."""

    target: Target
    prompt: Prompt
    cache: PackedCache
    hidden: torch.Tensor
    """Last hidden states of the prompt, (n, d)."""

    @classmethod
    def read(cls, target: Target, prompt: Prompt) -> Forced:
        """Encode the prompt's pictures and evaluate it in a cache of its own."""
        for span in prompt.spans:
            target.encode(span.picture)
        cache = target.new_cache()
        parts = list(target.prefill(prompt, 0, cache))
        return cls(target, prompt, cache, torch.cat(parts) if len(parts) > 1 else parts[0])

    def of(
        self, tokens: Sequence[int], proceed: Callable[[], bool] = lambda: True
    ) -> Iterator[tuple[int, Predictions]]:
        """Predictions for each of the tokens, given those before it: (first, predictions) by parts, where row i of a part
        says what the target chooses in the place of token first + i. `proceed` is asked between passes; False ends it."""
        self.cache.truncate(len(self.prompt.ids))
        yield 0, self.target.predict(self.hidden[-1:])
        given = np.array(tokens[:-1], np.int64)
        for begin in range(0, len(given), _PART):
            if not proceed():
                return
            part = given[begin : begin + _PART]
            n = len(part)
            said = self.target.verify(part, np.arange(n), np.tri(n, dtype=bool), self.cache, self.prompt.rope_delta)
            self.cache.keep(range(n))
            yield begin + 1, said
