"""Rows and choices taken from logits: falling, ties by lowest id, in every dtype."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.choosing import draw
from recap.targets.predictions import Predictions


def by_sorting(logits: torch.Tensor, k: int) -> tuple[np.ndarray, np.ndarray]:
    values = logits.float().numpy()
    ids = np.array([sorted(range(values.shape[1]), key=lambda i: (-row[i], i))[:k] for row in values])
    return ids, np.take_along_axis(values, ids, 1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_top_and_choices_equal_a_full_sort(data):
    n, vocabulary = data.draw(st.integers(1, 5)), data.draw(st.integers(8, 200))
    levels = data.draw(st.integers(1, 30))  # few levels: ties far beyond the K-th place
    dtype = data.draw(st.sampled_from([torch.float32, torch.bfloat16, torch.float16]))
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    logits = torch.from_numpy(random.integers(-levels, levels, (n, vocabulary)).astype(np.float32)).to(dtype)
    ids, values = Predictions(logits).top(8)
    expected_ids, expected_values = by_sorting(logits, 8)
    np.testing.assert_array_equal(ids, expected_ids)
    np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_array_equal(Predictions(logits).choices(), expected_ids[:, 0])


def test_row_is_a_float32_copy():
    logits = torch.zeros(2, 8, dtype=torch.bfloat16)
    row = Predictions(logits).row(1)
    row += 1
    assert row.dtype == torch.float32 and not logits.any()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_logits_are_named(bad):
    logits = torch.zeros(1, 20)
    logits[0, 3] = bad
    with pytest.raises(FloatingPointError, match="logits"):
        Predictions(logits).top(8)


def test_more_columns_than_tokens_are_refused():
    with pytest.raises(ValueError, match="top_k"):
        Predictions(torch.zeros(1, 5)).top(8)


def test_draw_follows_the_cumulative_distribution():
    logits = torch.tensor([0.5, 0.0, 0.3, 0.2], dtype=torch.float64).log()  # the second token is impossible
    assert [draw(logits, number) for number in (0.0, 0.49, 0.51, 0.79, 0.81, 1 - 2**-53)] == [0, 0, 2, 2, 3, 3]
