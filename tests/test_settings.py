"""The settings panel's controls: the paper's values, what they mean together, and sentences for what does not fit."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from recap.config import BUDGETS, FUSIONS, RecapConfig
from studio import settings

ORDER = ("temperature", "budget", "nodes", "depth", "first", "second", "third", "fusion", "keep")


def read(**changes: Any) -> tuple[float, RecapConfig]:
    return settings.read(**{**dict(zip(ORDER, settings.defaults())), **changes})


def test_the_defaults_are_the_papers() -> None:
    assert settings.paper() == [0.0, "paper", 63, 10, 0.70, 0.20, 0.10, "entropy", True]
    assert settings.read(*settings.paper()) == (0.0, RecapConfig(budget="paper"))
    assert settings.read(*settings.defaults()) == (0.0, RecapConfig()) and RecapConfig().budget == "auto"
    assert tuple(inspect.signature(settings.read).parameters) == ORDER


def test_every_control_reaches_its_setting() -> None:
    temperature, config = read(
        temperature=1, nodes=8.0, depth=3.0, first=0.5, second=0.3, third=0.2, fusion="backoff", keep=False
    )
    assert (temperature, type(temperature)) == (1.0, float)
    assert config == RecapConfig(max_nodes=8, max_depth=3, priors=(0.5, 0.3, 0.2), fusion="backoff", persistent=False)
    assert type(config.max_nodes) is int and type(config.max_depth) is int
    assert read(nodes=0)[1].max_nodes == 0 and read(temperature=5)[0] == 5.0


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"temperature": None}, "Temperature is empty or not a number"),
        ({"temperature": "warm"}, "Temperature is empty or not a number"),
        ({"temperature": -0.1}, "Temperature must be from 0 to 5, got -0.1"),
        ({"temperature": 5.1}, "Temperature must be from 0 to 5, got 5.1"),
        ({"temperature": float("nan")}, "Temperature must be from 0 to 5"),
        ({"nodes": None}, "Candidates per pass is empty"),
        ({"nodes": True}, "Candidates per pass is empty or not a number"),
        ({"nodes": 8.5}, "Candidates per pass must be a whole number, got 8.5"),
        ({"nodes": float("nan")}, "Candidates per pass must be a whole number"),
        ({"nodes": float("inf")}, "Candidates per pass must be a whole number"),
        ({"nodes": -1}, "max_nodes must be from 0"),
        ({"nodes": 10**6}, "max_nodes must be from 0"),
        ({"depth": 0}, "max_depth must be from 1"),
        ({"depth": [3]}, "Depth is empty or not a number"),
        ({"first": None}, "Prior of the longest key is empty"),
        ({"second": "0.2"}, "Prior of the middle key is empty"),
        ({"third": 0}, "These settings do not go together: priors"),
        ({"first": 0.1, "second": 0.2}, "priors must not rise"),
        ({"fusion": "magic"}, "fusion must be one of"),
        ({"fusion": None}, "fusion must be one of"),
        ({"budget": "endless"}, "budget must be one of"),
        ({"keep": None}, "persistent must be True or False"),
    ],
)
def test_what_does_not_fit_is_a_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence) as refused:
        read(**changes)
    assert len(str(refused.value)) < 200 and str(refused.value).strip()[-1].isprintable()


def test_every_rule_and_budget_can_be_chosen_by_a_name_people_can_read() -> None:
    for offered, known in ((settings.FUSION_CHOICES, FUSIONS), (settings.BUDGET_CHOICES, BUDGETS)):
        assert [value for _, value in offered] == list(known)
        assert all(label.startswith(f"{value}: ") and len(label) > len(value) + 8 for label, value in offered)
    for _, fusion in settings.FUSION_CHOICES:
        assert read(fusion=fusion)[1].fusion == fusion
