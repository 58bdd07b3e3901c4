"""The page's settings: what each control means, its default from the paper, and the RecapConfig they make together."""

from __future__ import annotations

from typing import Any

from recap.config import BUDGETS, FUSIONS, RecapConfig

DEFAULT = RecapConfig()
FUSION_NAMES = {
    "entropy": "entropy: prior × confidence (RECAP)",
    "prior": "prior: key length alone",
    "confidence": "confidence: certainty alone",
    "uniform": "uniform: every row the same",
    "gate": "gate: the most confident row",
    "backoff": "backoff: the longest key's row",
}
BUDGET_NAMES = {"auto": "auto: what pays on this machine", "paper": "paper: always that many, and up to 4 that repeat the text"}


def defaults() -> list[Any]:
    """Values of the controls in the order in which `read` takes them: the paper's settings, with the budget "auto"."""
    return _values(DEFAULT)


def paper() -> list[Any]:
    """The same as the paper has them."""
    return _values(DEFAULT.replace(budget="paper"))


def _values(config: RecapConfig) -> list[Any]:
    return [0.0, config.budget, config.max_nodes, config.max_depth, *config.priors, config.fusion, config.persistent]


def choices(names: dict[str, str], known: tuple[str, ...]) -> list[tuple[str, str]]:
    """Label and value of every known name."""
    return [(names.get(name, name), name) for name in known]


FUSION_CHOICES = choices(FUSION_NAMES, FUSIONS)
BUDGET_CHOICES = choices(BUDGET_NAMES, BUDGETS)


def read(
    temperature: Any, budget: Any, nodes: Any, depth: Any, first: Any, second: Any, third: Any, fusion: Any, keep: Any
) -> tuple[float, RecapConfig]:
    """Temperature and configuration. Raises ValueError with a sentence that names the setting."""
    numbers = {"Temperature": temperature, "Candidates per pass": nodes, "Depth": depth, "Prior of the longest key": first,
               "Prior of the middle key": second, "Prior of the shortest key": third}  # fmt: skip
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name} is empty or not a number: set it, or take the paper's settings back.")
    for name, value in (("Candidates per pass", nodes), ("Depth", depth)):
        if isinstance(value, float) and not value.is_integer():
            raise ValueError(f"{name} must be a whole number, got {value}.")
    if not 0 <= temperature <= 5:
        raise ValueError(f"Temperature must be from 0 to 5, got {temperature}.")
    try:
        config = RecapConfig(
            budget=budget, max_nodes=int(nodes), max_depth=int(depth), priors=(first, second, third), fusion=fusion,
            persistent=keep,
        )  # fmt: skip
    except (ValueError, TypeError) as error:
        raise ValueError(f"These settings do not go together: {error}.") from None
    return float(temperature), config
