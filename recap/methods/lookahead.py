"""Lookahead decoding (Fu et al., 2024): a window of Jacobi iterations makes n-grams, a pool of them makes guesses."""

from __future__ import annotations

from random import Random

from ..drafter import Draft
from .text import TextProposer
from .tree import TreeBuilder

_WINDOW, _NGRAM, _GUESSES = 15, 5, 15
"""W, N and G as published for models of seven billion parameters."""


class Lookahead(TextProposer):
    """Both branches of a pass are in one tree. Verification: up to G n-grams of the pool that begin with the root, each
    a path of N - 1 tokens. Lookahead: a trunk of W columns, the root being the first; below the trunk's token of a
    column hang N - 2 tokens, the column's guesses of the last N - 2 passes, each one position further. That is the
    original's attention pattern: a token sees the trunk up to its column and its own column's older tokens.

    What the target predicts at the tip of a column completes an n-gram: trunk token, N - 2 tokens, prediction. It goes
    to the pool under the trunk token, newest last, the oldest of more than G leaving. Then the window moves by one
    position: the second tokens of all columns but the first become the trunk, predictions become the tips. The pool
    also takes all n-grams of prompt and answer, as the original does with POOL_FROM_PROMPT; it lasts one request.

    Different from the original: paths with the same beginning share nodes. Window tokens that happen to be right are
    accepted, where the original accepts guesses alone. The window starts full of tokens copied from the prompt at
    random (always the same ones) instead of being filled level by level, and gives n-grams only once these have moved
    out. With room for fewer candidates than published, guesses get at least half of it, the newest first, and columns
    are left out from the far end; what they would have predicted is copied from the text. Guesses are argmax at any
    temperature.
    """

    top_k = 1
    sizes = (_GUESSES * (_NGRAM - 1) + _WINDOW * (_NGRAM - 1) - 1, 0)

    def _begin(self) -> None:
        self._pool: dict[int, dict[tuple[int, ...], None]] = {}
        """Of each first token up to G continuations of N - 1 tokens, oldest first."""
        self._pooled = 0
        self._random = Random(0)
        self._trunk: list[int] = []
        self._levels: list[list[int]] = []
        """N - 2 lists of W tokens; the trunk has W - 1, its first column being the root."""
        self._moves = 0
        self._tips: list[int] = []

    def _append(self, tokens: list[int]) -> None:
        text = self._text
        for start in range(self._pooled, len(text) - _NGRAM + 1):
            self._keep(text[start : start + _NGRAM])
            self._pooled = start + 1

    def _keep(self, ngram: list[int]) -> None:
        if self._banned.isdisjoint(ngram):
            known = self._pool.setdefault(ngram[0], {})
            following = tuple(ngram[1:])
            known.pop(following, None)
            known[following] = None
            if len(known) > _GUESSES:
                del known[next(iter(known))]

    def _propose(self, most: int, extra: int) -> Draft:
        if not self._levels:
            self._trunk = [self._copied() for _ in range(_WINDOW - 1)]
            self._levels = [[self._copied() for _ in range(_WINDOW)] for _ in range(_NGRAM - 2)]
        tree = TreeBuilder(self._text[-1])
        room = max(most - _WINDOW * (_NGRAM - 1) + 1, (most + 1) // 2)
        for guess in reversed(self._pool.get(self._text[-1], ())):
            self._path(tree, 0, guess[: room + 1 - len(tree)])
        self._tips, trunk = [], 0
        for column in range(_WINDOW):
            if len(tree) + _NGRAM - 1 - (column == 0) > most + 1:
                break
            if column:
                trunk = tree.add(trunk, self._trunk[column - 1], 2.0**-column)
            self._tips.append(self._path(tree, trunk, [level[column] for level in self._levels]))
        return tree.pack(most)

    def _path(self, tree: TreeBuilder, at: int, tokens: tuple[int, ...] | list[int]) -> int:
        for token in tokens:
            at = tree.add(at, token, 0.5 * tree.scores[at])
        return at

    def _observe(self, rows: list[list[int]]) -> None:
        if not self._tips:
            return
        made = [rows[tip][0] for tip in self._tips]
        if self._moves >= _NGRAM - 2:
            for column, token in enumerate(made):
                first = self._trunk[column - 1] if column else self._text[-1]
                self._keep([first, *(level[column] for level in self._levels), token])
        made = [token if token not in self._banned else self._copied() for token in made]
        made += [self._copied() for _ in range(_WINDOW - len(made))]
        self._trunk, self._levels = self._levels[0][1:], [*self._levels[1:], made]
        self._moves += 1

    def _copied(self) -> int:
        """A token of the text at random, one that may be drafted."""
        for _ in range(64):
            token = self._random.choice(self._text)
            if token not in self._banned:
                return token
        return self._text[-1]

    def stats(self) -> dict[str, int]:
        return {"ngrams": sum(map(len, self._pool.values()))}
