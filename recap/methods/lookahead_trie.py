"""Lookahead with a trie (Zhao et al., 2024): branches that followed the last tokens, most frequent first."""

from __future__ import annotations

from ..drafter import Draft
from .frequencies import grow
from .suffix_decoding import SuffixDecoding
from .tree import TreeBuilder

_QUERY = 2
_MOST, _BRANCH = 63, 12


class LookaheadTrie(SuffixDecoding):
    """What followed the last two tokens, or where that is little the last one: branches of at most 12 tokens, 63
    candidates, the most frequent first.

    The RECAP paper's setting "decoding/branch lengths 64/12" of "Lookahead" names this method's parameters, though the
    paper cites Fu et al. (2024); their method is `lookahead`. Here the request's own text comes first and the session's
    earlier answers fill what is left, where the original keeps one trie in which a prompt's counts outweigh answers'
    ten thousand times and half the places are kept for answers. As in the original, a shorter query replaces a longer
    one that found fewer than 12 candidates.
    """

    sizes = (_MOST, 0)

    def _propose(self, most: int, extra: int) -> Draft:
        for length in range(_QUERY, 0, -1):
            tree = TreeBuilder(self._text[-1])
            for source in (self._own, self._earlier):
                state = source.find(self._text[-length:])
                if state:
                    grow(tree, source, state, _MOST, self._banned, depth=_BRANCH, deep_first=True)
            if len(tree) > _BRANCH:
                break
        return tree.pack(most)
