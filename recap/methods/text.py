"""What the methods beside RECAP have in common: the text of a request, its limits, and the order of calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..config import MAX_NODES
from ..drafter import Draft
from ..drafter.arguments import integers, rows, token_list, whole_number


class TextProposer:
    """A proposer without a tree of its own; a method fills in what happens.

    Token ids are whole numbers from 0 to 2**31 - 1. Every call raises TypeError or ValueError, naming the argument, for
    values of the wrong kind, shape or range, and RuntimeError when it comes out of order; it then has changed nothing.
    """

    top_k = 0
    """Columns of the rows that `seed` and `observe` take; 0: the method looks at no rows."""
    seeds = False
    """Whether prompt rows are wanted."""
    sizes: tuple[int, int] | None = None
    """Candidates of a pass as the method was published: beyond the suffix path, and on it. None: the config's."""

    best_first = False
    """Whether the first few candidates of a draft are a draft worth having: the budget "auto" may then choose how
    many."""

    def __init__(self) -> None:
        self.reset()

    def begin(self, prompt_ids: Sequence[int] | np.ndarray, banned: Sequence[int] = ()) -> None:
        """Start a request. `prompt_ids` (m,): the prompt; `banned`: ids never drafted and never matched."""
        prompt = token_list("prompt_ids", integers("prompt_ids", prompt_ids, "(m,)", 1))
        refused = frozenset(token_list("banned", integers("banned", banned, "(b,)", 1)))
        if self._prompt >= 0:
            self._finish(self._text[self._prompt :])
        self._text, self._banned = [], refused
        self._prompt, self._nodes = len(prompt), 0
        self._begin()
        self._extend(prompt)

    def seed(self, token_ids: np.ndarray, ids: np.ndarray, logits: np.ndarray) -> None:
        """Prompt rows: `token_ids` (m,), `ids` (m, K), `logits` (m, K). A method without `seeds` ignores them."""
        if self._prompt < 0 or len(self._text) > self._prompt:
            raise RuntimeError("seed belongs between begin and the first commit")
        if self.seeds:
            tokens = token_list("token_ids", integers("token_ids", token_ids, "(m,)", 1))
            self._seed(tokens, self._rows(ids, logits, len(tokens), "m"))

    def commit(self, token_ids: Sequence[int] | np.ndarray) -> None:
        """Append committed tokens (m,), m >= 1, in order. The last becomes the root; a draft still out is void."""
        if self._prompt < 0:
            raise RuntimeError("commit needs a request; call begin(prompt_ids) first")
        tokens = token_list("token_ids", integers("token_ids", token_ids, "(m,)", 1))
        if not tokens:
            raise ValueError("token_ids is empty: commit at least one token")
        self._nodes = 0
        self._extend(tokens)

    def draft(self, max_nodes: int | None = None, suffix_tokens: int | None = None) -> Draft:
        """The draft for the current root: at most `max_nodes` candidates, or of a suffix path at most `max_nodes` +
        `suffix_tokens` (0 to 1024 each); None takes the published number. A second draft replaces the first. Raises
        RuntimeError before the first commit."""
        if len(self._text) <= self._prompt or self._prompt < 0:
            raise RuntimeError("draft before commit: commit the token from prefill first")
        usual = self.sizes or (0, 0)
        most = usual[0] if max_nodes is None else whole_number("max_nodes", max_nodes, 0, MAX_NODES)
        extra = usual[1] if suffix_tokens is None else whole_number("suffix_tokens", suffix_tokens, 0, MAX_NODES)
        draft = self._propose(most, extra)
        self._nodes = len(draft)
        return draft

    def observe(self, ids: np.ndarray, logits: np.ndarray) -> None:
        """The target's predictions at all n nodes of the last draft, (n, K) each, columns in any order. A method
        without `top_k` ignores them."""
        if not self._nodes:
            raise RuntimeError("observe needs a draft; call draft() first, once for each observe")
        if self.top_k:
            self._observe(self._rows(ids, logits, self._nodes, "n"))
        self._nodes = 0

    def stats(self) -> dict[str, int]:
        """Sizes of what is remembered, by name."""
        return {}

    def reset(self) -> None:
        """Forget everything. The next call that drafts must be `begin`."""
        self._text: list[int] = []
        self._banned: frozenset[int] = frozenset()
        self._prompt = -1
        """Length of the prompt, -1 before `begin`."""
        self._nodes = 0
        """Nodes of the draft that waits for its `observe`."""
        self._forget()
        self._begin()

    def _extend(self, tokens: list[int]) -> None:
        self._text += tokens
        self._append(tokens)

    def _rows(self, ids: np.ndarray, logits: np.ndarray, count: int, letter: str) -> list[list[int]]:
        """Ids by falling logit, equal ones by id: `count` lists of K."""
        ids, logits = rows(ids, logits, count, self.top_k, letter)
        order = np.lexsort((ids, -logits), axis=-1)
        return np.take_along_axis(ids, order, 1).tolist()

    def _begin(self) -> None:
        """A request begins: drop what belongs to the one before. Its prompt comes through `_append`."""

    def _finish(self, answer: list[int]) -> None:
        """Another request begins, this was the answer of the last one."""

    def _append(self, tokens: list[int]) -> None:
        """Tokens were added to the end of the text, which holds them already."""

    def _seed(self, tokens: list[int], rows: list[list[int]]) -> None:
        """Prompt rows by falling logit, one per token."""

    def _propose(self, most: int, extra: int) -> Draft:
        """The draft, within both limits."""
        raise NotImplementedError

    def _observe(self, rows: list[list[int]]) -> None:
        """Rows by falling logit, one per node of the last draft."""

    def _forget(self) -> None:
        """Drop what outlives a request."""
