"""What the decoding loop asks of a method. `recap.Drafter` is one proposer; each rival is another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..drafter import Draft


class Proposer(Protocol):
    """Order of calls: begin, seed*, commit (the token from prefill), then (draft, observe, commit)*.

    `top_k`: columns of the rows that `seed` and `observe` want, 0 if the method looks at no rows. `seeds`: whether
    prompt rows are wanted. A proposer may also have `explain()`, see `recap.Drafter`; traces then show its memories.
    With `sizes` it names the two numbers for `draft` that it was published with, in place of the config's, and
    `best_first` = False says that the budget "auto" must not cut its trees. With `wants_states` its `seed` and `observe`
    take the target's last hidden states as well, and `arrive` the one that the root was predicted from. With `remembers`
    its `draft` takes `earlier`, see `recap.Drafter.draft`.
    """

    top_k: int
    seeds: bool

    def begin(self, prompt_ids: Sequence[int] | np.ndarray, banned: Sequence[int] = ()) -> None: ...

    def seed(self, token_ids: np.ndarray, ids: np.ndarray, logits: np.ndarray) -> None: ...

    def commit(self, token_ids: Sequence[int]) -> None: ...

    def draft(self, max_nodes: int | None = None, suffix_tokens: int | None = None) -> Draft: ...

    def observe(self, ids: np.ndarray, logits: np.ndarray) -> None: ...

    def stats(self) -> dict[str, int]: ...

    def reset(self) -> None: ...
