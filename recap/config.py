"""The settings of RECAP, with the paper's defaults (section 3.4, 3.5 and appendix A)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from numbers import Integral, Real
from typing import Any

FUSIONS = ("entropy", "prior", "confidence", "uniform", "gate", "backoff")
MEMORIES = ("GCU", "CU", "U")
SEARCHES = ("best_first", "fixed")
BUDGETS = ("auto", "paper")
FALLBACKS = ("none", "semantic", "recency")

MAX_TOP_K = 64
MAX_NODES = 1024
MAX_DEPTH = 64
SUFFIX_REACH = 10
"""Tokens followed after the earlier occurrence of the current suffix (design: suffix path)."""


@dataclass(frozen=True)
class RecapConfig:
    """Everything that steers the drafting core. Immutable; `replace` makes a changed copy.

    Raises ValueError or TypeError, naming the field, for anything outside the documented range.
    """

    top_k: int = 8
    """K: ids kept per row, 1 to 64 (section 3.3)."""
    width: int = 8
    """Children a node may have, taken from the front of its fused row, 1 to `top_k`."""
    max_depth: int = 10
    """Depth of the deepest memory node; the root has depth 0. 1 to 64."""
    max_nodes: int = 63
    """Memory nodes per pass, the root and the suffix nodes not counted. 0 to 1024."""
    suffix_tokens: int = 4
    """Nodes the suffix path may add beyond `max_nodes`. 0 to 10."""
    priors: tuple[float, float, float] = (0.70, 0.20, 0.10)
    """Specificity priors by rank among the rows found; positive and not rising (equation 4)."""
    depth_priors: tuple[float, ...] = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
    """Expansion priors by depth, each in (0, 1]; the last one holds for every deeper level (equation 8)."""
    fusion: str = "entropy"
    """entropy | prior | confidence | uniform | gate | backoff (appendix I)."""
    memories: str = "GCU"
    """Which memories are kept: GCU | CU | U."""
    persistent: bool = True
    """Keep U from one request to the next (appendix D)."""
    suffix: bool = True
    """Add the suffix path."""
    search: str = "best_first"
    """best_first | fixed (a static tree of ranks filled from fused rows)."""
    suffix_within: bool = False
    """With the budget "paper": suffix nodes count within `max_nodes`, as in the paper's ablations (appendices A and B),
    instead of coming beyond it. The budget "auto" bounds both together as it is."""
    fallback: str = "none"
    """none | semantic | recency: rows for a root of which no memory has one (appendix H)."""
    budget: str = "auto"
    """How many nodes a pass gets. "paper": always `max_nodes` and `suffix_tokens`. "auto": what brings the most tokens per
    second on this machine, with these two as limits: together they bound the nodes of a pass, and a long match may take
    up to 10 of them for the suffix path unless `suffix_tokens` is 0. With U kept (`persistent`) that path may also come from
    earlier answers of the session, which the paper's does not. Other methods take the two numbers they were published
    with in place of 63 and 4, and if either is changed, the changed ones."""

    def __post_init__(self) -> None:
        self._integer("top_k", 1, MAX_TOP_K)
        self._integer("width", 1, self.top_k)
        self._integer("max_depth", 1, MAX_DEPTH)
        self._integer("max_nodes", 0, MAX_NODES)
        self._integer("suffix_tokens", 0, SUFFIX_REACH)
        self._choice("fusion", FUSIONS)
        self._choice("memories", MEMORIES)
        self._choice("search", SEARCHES)
        self._choice("budget", BUDGETS)
        self._choice("fallback", FALLBACKS)
        for name in ("persistent", "suffix", "suffix_within"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, not {getattr(self, name)!r}")
        self._numbers("priors", 3, 1e-100, 1e100)
        if not self.priors[0] >= self.priors[1] >= self.priors[2]:
            raise ValueError(f"priors must not rise from the longest key to the shortest, got {self.priors}")
        self._numbers("depth_priors", None, 0.0, 1.0)
        if len(self.depth_priors) > MAX_DEPTH:
            raise ValueError(f"depth_priors may have at most {MAX_DEPTH} numbers, got {len(self.depth_priors)}")

    def _integer(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
        if not low <= value <= high:
            raise ValueError(f"{name} must be from {low} to {high}, got {value}")

    def _choice(self, name: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")

    def _numbers(self, name: str, count: int | None, least: float, most: float) -> None:
        try:
            values = tuple(float(value) for value in getattr(self, name))
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a sequence of numbers, not {getattr(self, name)!r}") from None
        if not values or (count is not None and len(values) != count):
            raise ValueError(f"{name} must hold {count or 'one or more'} numbers, got {len(values)}")
        if not all(value > 0 and least <= value <= most for value in values):
            raise ValueError(f"{name} must hold numbers above {least:g} and at most {most:g}, got {values}")
        object.__setattr__(self, name, values)

    def replace(self, **changes: Any) -> RecapConfig:
        """A copy with some fields changed."""
        return self.from_dict({**asdict(self), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RecapConfig:
        """The inverse of `to_dict`. Raises ValueError for a name that is no setting."""
        known = {field.name for field in fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(f"unknown setting {', '.join(unknown)}; the settings are {', '.join(sorted(known))}")
        return cls(**values)


def check_request(max_new_tokens: int, temperature: float, seed: int | None) -> None:
    """Raises ValueError naming the argument that is out of range."""
    if isinstance(max_new_tokens, bool) or not isinstance(max_new_tokens, Integral) or max_new_tokens < 1:
        raise ValueError(f"max_new_tokens must be a whole number of 1 or more, got {max_new_tokens!r}")
    if not isinstance(temperature, Real) or not 0 <= temperature < math.inf:
        raise ValueError(f"temperature must be 0 or a positive number, got {temperature!r}")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed < 2**64):
        raise ValueError(f"seed must be a whole number from 0 to 2**64 - 1, or None, got {seed!r}")
