"""Plain autoregressive decoding: a tree that is only its root."""

from __future__ import annotations

from ..drafter import Draft
from .text import TextProposer


class AutoRegressive(TextProposer):
    """Proposes nothing, remembers nothing; the baseline on the same runtime as every other method."""

    def _propose(self, most: int, extra: int) -> Draft:
        return Draft.root_only(self._text[-1])
