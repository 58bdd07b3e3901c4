"""SAM decoding (Hu et al., 2025): what followed the longest repeated suffix, more of it the longer the match."""

from __future__ import annotations

from ..config import SUFFIX_REACH
from ..drafter import Draft
from ..drafter.reference_suffix import Suffix
from .pld import until
from .text import TextProposer

_SHORTEST, _LONGEST = 2, 40
_PER_TOKEN = 4


class SamDecoding(TextProposer):
    """Drafts what followed the earliest occurrence of the longest repeated suffix of prompt and answer: four tokens for
    each token that matched, at least 2 and at most 40, as far as the text goes.

    Uncertain and settled: SAM decoding comes in three parts, an automaton over the request, one over a fixed corpus,
    and Token Recycling or EAGLE-2 where neither matches well. The RECAP paper's baseline drafts 2 to 40 tokens and has
    an acceptance length far below Token Recycling's, and its authors' public code has the first part alone: so has
    this. "Total-token setting 64" reserves room in their cache and never bounds a draft of 40. Their code looks the
    last token up a second time after adding it, which spoils most matches; this follows the original.
    """

    sizes = (_LONGEST - SUFFIX_REACH, SUFFIX_REACH)
    best_first = True

    def _begin(self) -> None:
        self._suffix = Suffix()

    def _append(self, tokens: list[int]) -> None:
        for token in tokens:
            if token in self._banned:
                self._suffix.append_break()
            else:
                self._suffix.append(token)

    def _propose(self, most: int, extra: int) -> Draft:
        place, matched = self._suffix.match()
        if not matched:
            return Draft.root_only(self._text[-1])
        length = min(max(_PER_TOKEN * matched, _SHORTEST), _LONGEST, most + extra)
        return Draft.chain(self._text[-1], until(self._text[place : place + length], self._banned), matched)

    def stats(self) -> dict[str, int]:
        return {"states": len(self._suffix.lengths)}
