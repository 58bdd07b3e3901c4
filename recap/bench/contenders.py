"""Who takes part in a benchmark: a method with its settings, under a name of its own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ..config import BUDGETS, RecapConfig
from ..methods import AUTO_METHODS, METHODS
from ..warm import WarmMemory

PLAIN = "ar"
"""Plain decoding, with which all others are compared."""


@dataclass(frozen=True)
class Contender:
    """A decoding method, what it is set to, and what it is called in tables."""

    name: str
    method: str
    config: RecapConfig
    warm: WarmMemory | None = None
    """What U has behind it from the start."""

    @property
    def budget(self) -> str:
        """What decides the nodes of a pass: "auto", "paper", or "" for plain decoding."""
        if self.method == PLAIN:
            return ""
        return self.config.budget if self.method in AUTO_METHODS else "paper"


def contenders(
    methods: Sequence[str], budgets: Sequence[str] = ("auto",), config: RecapConfig | None = None
) -> list[Contender]:
    """Plain decoding, then every method with every budget that it knows, each once.

    A method is a name of `recap.METHODS`, for ablations with settings that differ from `config`:
    "recap:fusion=uniform,suffix=False". Names in tables are the method as it was written and its budget, which is left
    out where the method has no choice. Raises ValueError or TypeError for what is none.
    """
    config = config or RecapConfig()
    if unknown := [budget for budget in budgets if budget not in BUDGETS]:
        raise ValueError(f"a budget must be one of {', '.join(BUDGETS)}, got {unknown[0]!r}")
    if not budgets:
        raise ValueError(f"name a budget: {' or '.join(BUDGETS)}")
    found = {PLAIN: Contender(PLAIN, PLAIN, config)}
    for written in methods:
        method, _, settings = written.partition(":")
        if method not in METHODS:
            raise ValueError(f"a method must be one of {', '.join(METHODS)}, got {method!r}")
        changes = _settings(written, settings) if settings else {}
        if changes and method != "recap":
            raise ValueError(f"settings in a name are those of recap, and {written!r} is another method")
        own = config.replace(**changes)
        if method not in AUTO_METHODS or "budget" in changes:
            found.setdefault(written, Contender(written, method, own))
            continue
        for budget in budgets:
            name = f"{written} {budget}"
            found.setdefault(name, Contender(name, method, own.replace(budget=budget)))
    return list(found.values())


def warmed(taking_part: Sequence[Contender], memory: WarmMemory | None) -> list[Contender]:
    """The same, and behind every one that is RECAP another one with the warm memory, called "... warm"."""
    found = []
    for one in taking_part:
        found.append(one)
        if memory is not None and one.method == "recap":
            memory.require_rows(one.config)
            found.append(replace(one, name=f"{one.name} warm", warm=memory))
    return found


def _settings(written: str, text: str) -> dict[str, Any]:
    known = {field.name for field in fields(RecapConfig)}
    changes = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or name.strip() not in known:
            raise ValueError(
                f"{written!r}: {part!r} is no NAME=VALUE of a setting; the settings are {', '.join(sorted(known))}"
            )
        try:
            changes[name.strip()] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError):
            changes[name.strip()] = value.strip()
    return changes
