"""The decoding methods: each is a proposer plugged into the one loop of `recap.decoding`."""

from __future__ import annotations

from ..config import RecapConfig
from ..drafter import Base, Drafter
from .ar import AutoRegressive
from .base import Proposer
from .lookahead import Lookahead
from .lookahead_trie import LookaheadTrie
from .pld import PromptLookup
from .sam import SamDecoding
from .sam_viskip import SamViSkip
from .suffix_decoding import SuffixDecoding
from .text import TextProposer
from .token_recycling import TokenRecycling
from .tree_recycling import TreeRecycling

_RIVALS: dict[str, type[TextProposer]] = {
    "token_recycling": TokenRecycling, "tree_recycling": TreeRecycling, "pld": PromptLookup, "sam": SamDecoding,
    "sam_viskip": SamViSkip, "suffix_decoding": SuffixDecoding, "lookahead": Lookahead, "lookahead_trie": LookaheadTrie,
}  # fmt: skip

METHODS = ("ar", "recap", *_RIVALS)
"""Names accepted by `method=`: the baseline, ours, the others."""

AUTO_METHODS = frozenset({"recap"} | {name for name, kind in _RIVALS.items() if kind.best_first})
"""Those whose trees the budget "auto" may cut. Lookahead decoding needs its window whole: it always takes the numbers
that it was published with."""


def proposer(method: str, config: RecapConfig | None = None, base: Base | None = None) -> Proposer:
    """A fresh proposer with empty memories, RECAP's U in front of `base`. Raises ValueError for a name that is not in
    METHODS."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if method == "recap":
        return Drafter(config or RecapConfig(), base=base)
    return AutoRegressive() if method == "ar" else _RIVALS[method]()


def limits(one: Proposer, config: RecapConfig) -> tuple[int, int]:
    """Candidates of a pass, beyond the suffix path and on it: the config's if they were changed, else those that a
    method was published with."""
    asked, usual = (config.max_nodes, config.suffix_tokens), (RecapConfig.max_nodes, RecapConfig.suffix_tokens)
    return (getattr(one, "sizes", None) or asked) if asked == usual else asked
