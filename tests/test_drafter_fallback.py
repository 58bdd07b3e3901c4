"""Rows for a root that no memory knows (appendix H), on both backends and by values."""

from __future__ import annotations

import numpy as np
import pytest

import recap
from recap import Drafter, RecapConfig
from recap.drafter.fallback import ROOM, Fallback

from .test_drafter_rules import logits, make, paths  # noqa: F401
from .tiny import picture


def rows(*first):
    """One row {id: 0.9, id + 1: 0.1} for each id."""
    return np.array([[id, id + 1] for id in first]), np.tile(logits(0.9, 0.1), (len(first), 1))


class TestRecency:
    def test_the_latest_three_by_prior_without_confidence(self, make):  # noqa: F811
        drafter = make(fallback="recency")
        drafter.begin([1])
        drafter.seed([1, 2, 3, 4], *rows(10, 20, 30, 40))
        drafter.commit([9])
        tree = drafter.draft(2, 0)
        assert tree.tokens.tolist() == [9, 40, 30]
        masses = np.array([0.7 * 0.9, 0.2 * 0.9])  # of 40 and 30; 41 comes third, and K is 2
        assert tree.scores[1:] == pytest.approx(0.68 * masses / masses.sum(), abs=1e-6)

    def test_only_a_root_without_any_row_and_only_the_root(self, make):  # noqa: F811
        drafter = make(fallback="recency")
        drafter.begin([1])
        drafter.seed([1, 2], *rows(10, 20))
        drafter.commit([1])
        assert paths(drafter.draft(5, 0)) == [(10,), (11,)]  # U knows 1; 10 and 11 are known to nobody
        drafter.commit([7])
        assert paths(drafter.draft(5, 0)) == [(20,), (10,)]  # the latest row first
        assert drafter.explain().rows.max() == -1 and drafter.lookup([7])["U"] is None

    def test_nobody_is_said_to_have_proposed_them(self, make):  # noqa: F811
        drafter = make(fallback="recency")
        drafter.begin([1])
        drafter.seed([1], *rows(10))
        drafter.commit([7])
        tree = drafter.draft(1, 0)
        assert len(tree) == 2 and not tree.weights.any() and not tree.shares.any()

    @pytest.mark.parametrize("search", ["best_first", "fixed"])
    def test_nothing_is_drafted_without_it_nor_after_begin(self, make, search):  # noqa: F811
        for fallback in ("none", "recency", "semantic"):
            drafter = make(fallback=fallback, search=search)
            drafter.begin([1])
            drafter.seed([1], *rows(10))
            drafter.commit([7])
            assert len(drafter.draft(5, 0)) == (3 if fallback == "recency" else 1)
            drafter.begin([2])
            drafter.commit([7])
            assert len(drafter.draft(5, 0)) == 1  # C, G and the index last one request

    def test_of_one_pass_earlier_nodes_are_later(self, make):  # noqa: F811
        drafter = make(fallback="recency", width=1)
        drafter.begin([1])
        drafter.seed([5, 6], *rows(6, 50))
        drafter.commit([5])
        assert drafter.draft(1, 0).tokens.tolist() == [5, 6]
        drafter.observe(*rows(70, 80))
        drafter.commit([99])
        assert drafter.draft(1, 0).tokens.tolist() == [99, 70]


class TestSemantic:
    def test_rows_of_tokens_that_stood_where_the_root_stands(self, make):  # noqa: F811
        drafter = make(fallback="semantic", width=1)
        drafter.begin([1])
        drafter.seed([1, 2, 3], *rows(10, 20, 30), np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32))
        drafter.commit([9])
        for state, first in (([0, 5, 0.1], 20), ([-1, 0.1, 0], 20), ([0.6, 0, 0.5], 10)):
            drafter.arrive(np.array(state, np.float32))
            assert drafter.draft(1, 0).tokens.tolist() == [9, first]
        drafter.commit([8])
        with pytest.raises(ValueError, match="shape"):
            drafter.arrive(np.zeros((2, 3), np.float32))

    def test_a_node_is_filed_under_its_parents_state(self, make):  # noqa: F811
        drafter = make(fallback="semantic", width=1)
        drafter.begin([1])
        drafter.seed([5], *rows(6), np.array([[0, 0, 1]], np.float32))
        drafter.commit([5])
        drafter.arrive(np.array([1, 0, 0], np.float32))
        assert drafter.draft(1, 0).tokens.tolist() == [5, 6]
        drafter.observe(*rows(70, 80), np.array([[0, 1, 0], [0, 0, 9]], np.float32))
        drafter.commit([99])
        for state, first in (([1, 0.1, 0], 70), ([0.1, 1, 0], 80)):  # before the root; at the root
            drafter.arrive(np.array(state, np.float32))
            assert drafter.draft(1, 0).tokens.tolist() == [99, first]


class TestIndex:
    def test_a_row_leaves_when_all_its_keys_are_taken(self):
        index = Fallback("recency", 2, 3)
        index.observe([(1, 2, 3)], [-1], *rows(10), None)
        index.observe([(7, 2, 3)], [-1], *rows(20), None)  # takes C and U, not G
        assert index.rows()[0][:, 0].tolist() == [20, 10]
        index.observe([(1, 2, 3)], [-1], *rows(30), None)
        assert index.rows()[0][:, 0].tolist() == [30, 20]  # 20 still holds G

    def test_the_oldest_goes_first_when_it_is_full(self):
        index = Fallback("recency", 2, 1)
        ids, values = rows(*range(ROOM + 1))
        index.seed(list(range(ROOM + 1)), ids, values, None)
        assert len(index._held) == ROOM
        index.observe([(ROOM,)], [-1], *rows(5), None)  # a key that is in use: nobody else leaves
        index.observe([(1,)], [-1], *rows(6), None)
        assert len(index._held) == ROOM and index.rows()[0][:, 0].tolist() == [6, 5, ROOM - 1]


def test_the_door_refuses_states_of_another_number_and_changes_nothing():
    drafter = Drafter(RecapConfig(top_k=2, width=2, fallback="semantic"))
    drafter.begin([1])
    with pytest.raises(ValueError, match=r"shape \(1, d\)"):
        drafter.seed([1], *rows(10), np.zeros((2, 4), np.float32))
    assert drafter.stats()["U"] == 0


@pytest.mark.parametrize("kind", ["semantic", "recency"])
@pytest.mark.parametrize("family", ["llava", "qwen2_5_vl"])
def test_decoding_uses_it_and_stays_lossless(target, family, kind):
    model, used = target(family), 0
    for prompt in ("What is it?", "Tell me more"):
        config = RecapConfig(budget="paper", fallback=kind, fusion="prior", suffix=False)
        answer = recap.generate(model, prompt, images=[picture(1)], max_new_tokens=60, config=config)
        plain = recap.generate(model, prompt, images=[picture(1)], max_new_tokens=60, method="ar")
        assert answer.token_ids == plain.token_ids
        for step in answer.trace.steps:
            if len(step) > 1 and max(step.rows[0]) < 0:
                used += 1
                assert step.fused[0] < 0 and all(not any(step.shares[node]) for node in step.children(0))
        assert recap.Trace.from_json(answer.trace.to_json()) == answer.trace
    assert used
