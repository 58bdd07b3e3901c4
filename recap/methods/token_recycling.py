"""Token Recycling as published (Luo et al., 2025; appendix A of the RECAP paper)."""

from __future__ import annotations

from ..drafter.reference_tree import STATIC_TREE
from .recycling import Recycling, places


class TokenRecycling(Recycling):
    """The eight likeliest tokens after each token, drafted as the static tree of 80 candidates and depth 6. Every
    verified node writes its row, prefill does not; rows outlive a request until `reset`."""

    top_k = 8
    tree = places(STATIC_TREE)
    sizes = (len(tree), 0)
