"""SAM decoding that drafts nothing while the target looks at the picture (Shen et al., 2026)."""

from __future__ import annotations

from ..drafter import Draft
from .sam import SamDecoding

_THRESHOLD = 0.35


class SamViSkip(SamDecoding):
    """SAM decoding with drafts of at most 40 tokens and a gate: while more than 0.35 of the attention of the last
    pass's first query, in the final layer and averaged over heads, falls on image tokens, nothing is drafted.

    Whoever can read that attention tells it through `attend` after each pass. No target here can: attention is computed
    by kernels that never form the weights, and reading them would take a slower pass than all other methods get. As
    long as nobody calls `attend`, `gated` is False, the gate never fires and this is SAM decoding. So it is for a
    request without pictures, whose share is 0.
    """

    gated = False
    """Whether somebody tells the attention of this request's passes."""

    def attend(self, share: float | None) -> None:
        """The share of attention, 0 to 1, that fell on image tokens in the pass just verified; None where it could not
        be read. It holds for the next draft. Never raises: what is no number counts as unread."""
        self._share = float(share) if isinstance(share, (int, float)) else None
        self.gated = self.gated or self._share is not None

    def _begin(self) -> None:
        super()._begin()
        self._share: float | None = None
        self.gated = False

    def _propose(self, most: int, extra: int) -> Draft:
        share = self._share
        skip = share is not None and share > _THRESHOLD
        return Draft.root_only(self._text[-1]) if skip else super()._propose(most, extra)
