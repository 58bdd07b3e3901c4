"""Prompt lookup decoding (Saxena, 2023): what followed the last few tokens when they occurred before."""

from __future__ import annotations

from ..drafter import Draft
from .text import TextProposer

_KEY = 4
_TOKENS = 10


class PromptLookup(TextProposer):
    """Drafts a chain of up to 10 tokens. The key is the last 4 tokens of prompt and answer, else the last 3, 2, 1: the
    longest one that occurred before. Of its occurrences the earliest counts, as in the original and in transformers.

    Uncertain and settled: the first version refused an occurrence with fewer than 10 tokens after it, today's (and
    transformers') takes what there is; ours does that. An occurrence must be followed by a token that may be drafted.
    """

    sizes = (0, _TOKENS)
    best_first = True

    def _begin(self) -> None:
        self._places: dict[tuple[int, ...], int] = {}
        """Of every key of 1 to 4 tokens, where the tokens after its earliest occurrence begin."""
        self._indexed = 0

    def _append(self, tokens: list[int]) -> None:
        text, banned, places = self._text, self._banned, self._places
        for place in range(max(self._indexed, 1), len(text)):
            if text[place] in banned:
                continue
            for start in range(place - 1, max(place - _KEY, 0) - 1, -1):
                if text[start] in banned:
                    break
                places.setdefault(tuple(text[start:place]), place)
        self._indexed = len(text)

    def _propose(self, most: int, extra: int) -> Draft:
        text, limit = self._text, min(most + extra, _TOKENS)
        for length in range(min(_KEY, len(text)), 0, -1):
            place = self._places.get(tuple(text[-length:]))
            if place is not None:
                return Draft.chain(text[-1], until(text[place : place + limit], self._banned), length)
        return Draft.root_only(text[-1])

    def stats(self) -> dict[str, int]:
        return {"keys": len(self._places)}


def until(tokens: list[int], banned: frozenset[int]) -> list[int]:
    """The tokens before the first banned one."""
    return tokens if banned.isdisjoint(tokens) else tokens[: next(at for at, one in enumerate(tokens) if one in banned)]
