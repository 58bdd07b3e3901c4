"""SuffixDecoding (Oliaro et al., 2025): trees of what followed earlier, scored by how often it did."""

from __future__ import annotations

from ..drafter import Draft
from .frequencies import Frequencies, grow
from .text import TextProposer
from .tree import TreeBuilder

_FACTOR = 4
"""Candidates per matched token: alpha, in the paper from 1 to 4."""
_MOST = 64
_LEAST = 0.1
"""The least estimated probability of a candidate."""
_KEPT = 1 << 17
"""Tokens of earlier answers, beyond which all of them are forgotten."""


class SuffixDecoding(TextProposer):
    """Two sources: the request's own prompt and answer, and the session's earlier answers. In each, every suffix of the
    text that occurred before offers a tree of at most four candidates per matched token and 64 in all, the likeliest
    first. The tree with the most expected tokens, the sum of its candidates' estimated probabilities, is drafted; of
    equal ones the one of the longer match, and the request's own before the session's.

    Uncertain and settled: a candidate's probability is its count over its siblings' together, as in the paper, while
    the public code divides by the count of the parent, in which the current end of the text counts too. The bounds of
    alpha are the paper's; its largest value is taken because in open-ended text most matches are short. The least
    probability is the public code's. That code bounds a match to 24 or 64 tokens; a suffix automaton needs no bound.
    """

    sizes = (_MOST, 0)
    best_first = True

    def _begin(self) -> None:
        self._own = Frequencies()
        self._match = (0, 0)
        """State and length of the longest match in the earlier answers."""

    def _append(self, tokens: list[int]) -> None:
        self._own.extend(tokens, self._banned)
        for token in tokens:
            self._match = (0, 0) if token in self._banned else self._earlier.step(*self._match, token)

    def _finish(self, answer: list[int]) -> None:
        if self._earlier.size > _KEPT:
            self._forget()
        self._earlier.append_break()
        self._earlier.extend(answer, self._banned)

    def _forget(self) -> None:
        self._earlier = Frequencies()

    def _propose(self, most: int, extra: int) -> Draft:
        own, root = self._own, self._text[-1]
        state = max(own.links[own.last], 0)
        best, expected = TreeBuilder(root), 0.0
        for source, longest in ((own, (state, own.lengths[state])), (self._earlier, self._match)):
            for at, matched in source.repeated(*longest):
                limit = min(_FACTOR * matched, _MOST)
                if limit <= expected:  # a candidate counts at most 1: neither this nor a shorter match can do better
                    break
                tree = TreeBuilder(root)
                score = grow(tree, source, at, limit, self._banned, least=_LEAST)
                if score > expected:
                    best, expected = tree, score
        return best.pack(most)

    def stats(self) -> dict[str, int]:
        return {"states": len(self._own.counts), "earlier": len(self._earlier.counts)}
