"""Rows of U that many drafters share: one copy in memory, checked when it is made, never written again."""

from __future__ import annotations

from typing import Any

from ..config import MAX_TOP_K
from .arguments import integers, numbers
from .backends import load_core


class Base:
    """n one-token rows for drafters to look up where their own U has none (`Drafter(config, base=base)`).

    `token_ids` (n,): the tokens that the rows follow, each once; `ids` (n, K) the candidates of each row and `probs`
    (n, K) float32 their probabilities, falling, as `Drafter.export` gives them. Raises TypeError or ValueError, naming
    the argument, for values of the wrong kind, shape or range; whether a model knows these tokens is the caller's to see to
    (`recap.WarmMemory` does). Drafters of any thread may use it at the same time; it
    lives as long as one of them does.
    """

    backend: str
    """"c" or "python": drafters must be of the same one."""
    top_k: int
    """K; a drafter's config must have the same."""
    rows: int
    bytes: int
    """What it takes in memory, once, however many drafters share it (Python twin: an estimate)."""
    handle: Any
    """What a core takes."""

    def __init__(self, token_ids: Any, ids: Any, probs: Any, backend: str = "auto") -> None:
        tokens = integers("token_ids", token_ids, "(n,)", 1)
        ids = integers("ids", ids, "(n, K)", 2)
        if len(ids) != len(tokens) or not 1 <= ids.shape[1] <= MAX_TOP_K:
            raise ValueError(
                f"ids must have shape (n, K) = ({len(tokens)}, K) with K from 1 to {MAX_TOP_K}, got {ids.shape}"
            )
        probs = numbers("probs", probs, f"(n, K) = {ids.shape}", ids.shape)
        core = load_core(backend)
        self.backend, self.top_k = core.backend, ids.shape[1]
        self.handle, self.bytes = core.make_base(tokens, ids, probs, self.top_k)
        self.rows = len(tokens)

    def __repr__(self) -> str:
        return f"<recap.drafter.Base of {self.rows:,} rows, K = {self.top_k}, backend={self.backend!r}>"

    def backend_for(self, backend: str, top_k: int) -> str:
        """The backend of a drafter on this base. Raises ValueError for one that cannot use it."""
        if top_k != self.top_k:
            raise ValueError(f"the base has rows of {self.top_k} ids, and top_k is {top_k}; take a config with top_k={self.top_k}")
        if backend not in ("auto", self.backend):
            raise ValueError(f"the base was made for backend={self.backend!r}, and the drafter is to be {backend!r}")
        return self.backend
