"""What is kept from run to run: whole files only, never required, and off when asked."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from recap.budget import store
from recap.budget.acceptance import Acceptance
from recap.budget.cost import PassCosts
from recap.budget.learned import Learned, describe, find

KEY = {"model": "m", "device": "cpu"}


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("RECAP_LEARN", "on")
    monkeypatch.setenv("RECAP_CACHE", str(tmp_path))
    return tmp_path / "budget"


def test_round_trip():
    assert store.read("costs", KEY) is None
    assert store.write("costs", KEY, {"a": [1.5, 2]}) and store.read("costs", KEY) == {"a": [1.5, 2]}
    assert store.read("acceptance", KEY) is None and store.read("costs", {**KEY, "device": "cuda"}) is None
    assert store.write("costs", KEY, {"a": 3}) and store.read("costs", KEY) == {"a": 3}


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"format": 1, "key": {}, "values": {}}', b'{"format": 1}',
               b"[" * 100_000],
)  # fmt: skip
def test_damage_is_as_good_as_nothing(damage):
    store.write("costs", KEY, {"a": 1})
    store.place("costs", KEY).write_bytes(damage)
    assert store.read("costs", KEY) is None


def test_another_format_or_key_is_not_trusted():
    store.write("costs", KEY, {"a": 1})
    whole = json.loads(store.place("costs", KEY).read_text())
    for change in ({"format": 2}, {"key": {"model": "other"}}, {"values": [1]}):
        store.place("costs", KEY).write_text(json.dumps({**whole, **change}))
        assert store.read("costs", KEY) is None


def test_switched_off(monkeypatch, folder):
    store.write("costs", KEY, {"a": 1})
    monkeypatch.setenv("RECAP_LEARN", "off")
    assert store.read("costs", KEY) is None and not store.write("costs", KEY, {"a": 2})
    monkeypatch.setenv("RECAP_LEARN", "on")
    assert store.read("costs", KEY) == {"a": 1}


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RECAP_CACHE", str(tmp_path / "file"))
    assert not store.write("costs", KEY, {"a": 1}) and store.read("costs", KEY) is None


def test_nothing_half_written_stays(monkeypatch, folder):
    store.write("costs", KEY, {"a": 1})

    def refuse(*_):
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", refuse)
    assert not store.write("costs", KEY, {"a": 2})
    assert store.read("costs", KEY) == {"a": 1} and len(list(folder.iterdir())) == 1


def test_learned_of_earlier_runs():
    acceptance = Acceptance()
    acceptance.learn([3, 3, 4], [3])
    costs = PassCosts([1, 16], [10.0, 20.0], 40, 0.001)
    for _ in range(8):
        costs.learn(16, 40, 30.0)
    Learned(costs, 0.5, acceptance, KEY).save()
    again = find(None, None, KEY)
    assert again.costs.curve(16, 0) == pytest.approx(costs.curve(16, 0)) and again.seed_ms == 0.5
    assert again.acceptance.chances().tolist() == acceptance.chances().tolist()


@pytest.mark.parametrize("values", [{}, {"nodes": [1], "ms": ["x"], "prefix": 0, "per_pair": 0, "seed_ms": 1.0},
                                    {"nodes": [1, 2], "ms": [1.0, 2.0], "prefix": 0, "per_pair": 0.0, "seed_ms": -1.0}])  # fmt: skip
def test_costs_that_cannot_be_are_measured_again(values, target):
    store.write("costs", KEY, values)
    store.write("acceptance", {"model": "m"}, {"seen": 1})
    loaded = target("llava")
    found = find(loaded, loaded.prompt("Hello?"), KEY)
    assert found.costs.nodes[:2] == [1, 2] and found.seed_ms > 0
    assert found.acceptance.chances().tolist() == Acceptance().chances().tolist()


def test_the_key_tells_what_costs_depend_on(target, monkeypatch):
    import torch

    runtime = target("llava").runtime
    first = describe("a", runtime)
    assert first == describe("a", runtime) and json.loads(json.dumps(first)) == first
    assert describe("b", runtime) != first
    monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    assert describe("a", runtime) != first


def test_a_prompt_moves_the_cost_of_seeding_a_little():
    known = Learned(PassCosts([1], [10.0]), 1.0)
    known.learn_seeding(50, 1e9)
    assert 1.0 < known.seed_ms < 1.2
    known.learn_seeding(0, 5.0)
    for _ in range(40):
        known.learn_seeding(50, 100.0)
    assert known.seed_ms == pytest.approx(2.0, rel=0.01) and np.isfinite(known.seed_ms)
