"""The same random request streams through both backends: the same drafts, rows and numbers, to the last bit."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap import Drafter, RecapConfig
from recap.drafter import Base

from .sanitize.stream import calls, follow, random_base, random_config

pytest.importorskip("recap.drafter.compiled", reason="no C core built")


def same(left, right, where=""):
    """Equal in type, shape and value; arrays, dicts, tuples and slotted dataclasses alike."""
    assert type(left) is type(right), where
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype and left.shape == right.shape, where
        assert np.array_equal(left, right), f"{where}: {left} {right}"
    elif isinstance(left, dict):
        assert list(left) == list(right), where
        for key in left:
            same(left[key], right[key], f"{where}[{key}]")
    elif isinstance(left, (tuple, list)):
        assert len(left) == len(right), where
        for number, pair in enumerate(zip(left, right)):
            same(*pair, f"{where}[{number}]")
    elif hasattr(left, "__dataclass_fields__"):
        for name in left.__dataclass_fields__:
            same(getattr(left, name), getattr(right, name), f"{where}.{name}")
    else:
        assert left == right, where


def compare(seed, config=None, requests=3, passes=5, shared=False):
    draw = random.Random(seed)
    config = config or random_config(draw)
    bases = [None, None]
    if shared:
        rows = random_base(draw, config.top_k)
        bases = [Base(*rows, backend) for backend in ("c", "python")]
    pair = [Drafter(config, backend, base) for backend, base in zip(("c", "python"), bases)]

    def call(method, arguments):
        left, right = (getattr(drafter, method)(*arguments) for drafter in pair)
        if method == "stats":
            assert left.pop("bytes") > 0 < right.pop("bytes")
        same(left, right, f"{method} of seed {seed}")
        return len(left) if method == "draft" else None

    follow(calls(draw, config, requests, passes), call)
    for token in range(60):
        same(*(drafter.from_base([token]) for drafter in pair), f"base of seed {seed}")
    same(*(drafter.export() for drafter in pair), f"rows of seed {seed}")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_random_streams(seed, shared):
    compare(seed, shared=shared)


@pytest.mark.parametrize("search", ["best_first", "fixed"])
@pytest.mark.parametrize("fusion", ["entropy", "prior", "confidence", "uniform", "gate", "backoff"])
def test_every_fusion_in_both_searches(fusion, search):
    for seed in range(3):
        compare(seed, RecapConfig(fusion=fusion, search=search), requests=2, passes=4)


def test_a_long_request():
    compare(5, RecapConfig(max_nodes=100), requests=1, passes=60)


def test_rows_move_with_their_table():
    """Many keys: tables grow and pages are added while every row stays where its key finds it."""
    numbers = np.random.default_rng(3)
    config = RecapConfig(top_k=2, width=2)
    pair = [Drafter(config, backend) for backend in ("c", "python")]
    keys = numbers.choice(2**31 - 1, 5000, replace=False)
    ids = np.stack([keys % 1000, keys % 1000 + 1], axis=1)
    logits = numbers.normal(size=ids.shape).astype(np.float32)
    for drafter in pair:
        drafter.begin([])
        drafter.seed(keys, ids, logits)
        drafter.seed(keys[::-1], ids, logits)  # later occurrences change nothing
    for key in keys[::7]:
        same(*(drafter.lookup([key]) for drafter in pair), f"{key}")
    assert pair[0].stats()["U"] == 5000
