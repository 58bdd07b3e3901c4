"""The decoding methods: each is a proposer plugged into the one loop of `recap.decoding`."""

from __future__ import annotations

from collections.abc import Callable

from ..config import RecapConfig
from ..drafter import Drafter
from .ar import AutoRegressive
from .base import Proposer

_MAKERS: dict[str, Callable[[RecapConfig], Proposer]] = {
    "ar": lambda config: AutoRegressive(),
    "recap": Drafter,
}

METHODS = tuple(_MAKERS)
"""Names accepted by `method=`."""

AUTO_METHODS = frozenset({"recap"})
"""Those whose trees the budget "auto" chooses; the others are measured with the numbers they were published with."""


def proposer(method: str, config: RecapConfig | None = None) -> Proposer:
    """A fresh proposer with empty memories. Raises ValueError for a name that is not in METHODS."""
    if method not in _MAKERS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    return _MAKERS[method](config or RecapConfig())
