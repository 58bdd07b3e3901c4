"""Every rule of the drafting core on cases worked by hand, on both backends."""

import math

import numpy as np
import pytest

from recap import Drafter, RecapConfig
from recap.drafter.backends import load_core


def _built() -> bool:
    try:
        load_core("c")
    except ImportError:
        return False
    return True


@pytest.fixture(params=[pytest.param("c", marks=pytest.mark.skipif(not _built(), reason="no C core built")), "python"])
def make(request):
    def make(**settings):
        settings = {"top_k": 2, "width": 2, "suffix": False} | settings
        return Drafter(RecapConfig(**settings), backend=request.param)

    return make


def logits(*probs):
    return np.log(np.array(probs, np.float64)).astype(np.float32)


def put(drafter, context, row):
    """Let the target predict `row` ({id: probability}) after the context; the context becomes part of the text."""
    drafter.commit(context)
    drafter.draft(0, 0)
    drafter.observe([list(row)], [logits(*row.values())])


def draft_after(drafter, context, *budget):
    drafter.commit(context)
    return drafter.draft(*budget)


def paths(tree):
    """Each node as the tuple of tokens from below the root."""
    out = []
    for node in range(len(tree)):
        out.append(() if node == 0 else (*out[tree.parents[node]], int(tree.tokens[node])))
    return out[1:]


class TestRows:
    def test_softmax_of_the_k_logits_by_falling_probability(self, make):
        drafter = make(top_k=3)
        drafter.begin([1])
        drafter.seed([1], [[7, 9, 8]], np.array([[0.0, 2.0, 1.0]], np.float32))
        ids, probs = drafter.lookup([1])["U"]
        total = 1 + math.e + math.e**2
        assert ids.tolist() == [9, 8, 7] and ids.dtype == np.int64
        assert probs.dtype == np.float32
        assert probs == pytest.approx([math.e**2 / total, math.e / total, 1 / total], abs=1e-6)

    def test_equal_logits_lowest_id_first(self, make):
        drafter = make(top_k=3)
        drafter.begin([1])
        drafter.seed([1], [[9, 4, 6]], np.zeros((1, 3), np.float32))
        assert drafter.lookup([1])["U"][0].tolist() == [4, 6, 9]

    def test_huge_logits_do_not_overflow(self, make):
        drafter = make()
        drafter.begin([1])
        drafter.seed([1], [[5, 6]], np.array([[3e38, -3e38]], np.float32))
        assert drafter.lookup([1])["U"][1].tolist() == [1.0, 0.0]

    def test_confidence_is_the_inverse_effective_support(self, make):
        drafter = make()
        drafter.begin([1])
        drafter.seed([1, 2], [[5, 6], [5, 6]], np.stack([logits(0.5, 0.5), logits(0.9, 0.1)]))
        drafter.commit([1])
        drafter.draft(0, 0)
        even = drafter.explain()
        drafter.commit([2])
        drafter.draft(0, 0)
        peaked = drafter.explain()
        assert even.confidences[even.rows[0, 2]] == pytest.approx(0.5, abs=1e-6)
        entropy = -(0.9 * math.log(0.9) + 0.1 * math.log(0.1))
        assert peaked.confidences[peaked.rows[0, 2]] == pytest.approx(math.exp(-entropy), abs=1e-6)


class TestSeed:
    def test_first_occurrence_within_the_request_wins_across_chunks(self, make):
        drafter = make()
        drafter.begin([1, 2, 1])
        drafter.seed([1, 2, 1], [[10, 11], [20, 21], [30, 31]], np.tile(logits(0.6, 0.4), (3, 1)))
        drafter.seed([2, 3], [[40, 41], [50, 51]], np.tile(logits(0.6, 0.4), (2, 1)))
        assert [drafter.lookup([token])["U"][0][0] for token in (1, 2, 3)] == [10, 20, 50]

    def test_replaces_what_earlier_requests_left(self, make):
        drafter = make()
        for first in (10, 20):
            drafter.begin([1])
            drafter.seed([1], [[first, 5]], [logits(0.6, 0.4)])
            assert drafter.lookup([1])["U"][0][0] == first

    def test_writes_u_only_and_ignores_banned_and_the_prompt(self, make):
        drafter = make()
        drafter.begin([1, 2, 3], banned=[8])
        drafter.seed([8, 9], [[1, 2], [1, 2]], np.tile(logits(0.6, 0.4), (2, 1)))
        stats = drafter.stats()
        assert (stats["U"], stats["C"], stats["G"]) == (2, 0, 0)
        assert drafter.lookup([8])["U"] is not None

    def test_no_rows_at_all(self, make):
        drafter = make()
        drafter.begin([1])
        drafter.seed([], np.zeros((0, 2), np.int64), np.zeros((0, 2), np.float32))
        assert drafter.stats()["U"] == 0


class TestMemories:
    def test_keys_of_three_two_and_one(self, make):
        drafter = make()
        drafter.begin([])
        put(drafter, [1, 2, 3], {5: 0.6, 6: 0.4})
        names = {context: [name for name, row in drafter.lookup(context).items() if row is not None]
                 for context in [(1, 2, 3), (9, 1, 2, 3), (2, 3), (9, 2, 3), (3,), (9, 3), (2,), ()]}
        assert names == {(1, 2, 3): ["G", "C", "U"], (9, 1, 2, 3): ["G", "C", "U"], (2, 3): ["C", "U"],
                         (9, 2, 3): ["C", "U"], (3,): ["U"], (9, 3): ["U"], (2,): [], (): []}

    @pytest.mark.parametrize("memories", ["GCU", "CU", "U"])
    def test_memories_left_out_are_neither_written_nor_read(self, make, memories):
        drafter = make(memories=memories)
        drafter.begin([])
        put(drafter, [1, 2, 3], {5: 0.6, 6: 0.4})
        stats, found = drafter.stats(), drafter.lookup([1, 2, 3])
        assert {name: stats[name] for name in "GCU"} == {name: int(name in memories) for name in "GCU"}
        assert [name for name in "GCU" if found[name] is not None] == list(memories)
        assert list(drafter.fuse([1, 2, 3])[2]) == list(memories)

    def test_a_new_request_keeps_u_alone(self, make):
        drafter = make()
        drafter.begin([])
        put(drafter, [1, 2, 3], {5: 0.6, 6: 0.4})
        drafter.begin([1, 2])
        found = drafter.lookup([1, 2, 3])
        assert found["G"] is None and found["C"] is None and found["U"][0].tolist() == [5, 6]

    def test_not_persistent_forgets_u_too(self, make):
        drafter = make(persistent=False)
        drafter.begin([])
        put(drafter, [1, 2, 3], {5: 0.6, 6: 0.4})
        drafter.begin([1, 2])
        assert drafter.lookup([3])["U"] is None and drafter.stats()["U"] == 0

    def test_reset_forgets_everything(self, make):
        drafter = make()
        drafter.begin([])
        put(drafter, [1, 2, 3], {5: 0.6, 6: 0.4})
        drafter.reset()
        assert [drafter.stats()[name] for name in "UCG"] == [0, 0, 0]
        assert set(drafter.lookup([1, 2, 3]).values()) == {None}


class TestFusion:
    def three_rows(self, make, **settings):
        """G, C and U hold different rows for 1 2 3; the later ones replace what the earlier ones left in C and U."""
        drafter = make(**settings)
        drafter.begin([])
        put(drafter, [1, 2, 3], {10: 0.5, 11: 0.5})  # confidence 1/2
        put(drafter, [8, 2, 3], {10: 0.9, 12: 0.1})
        put(drafter, [8, 9, 3], {13: 0.5, 12: 0.5})
        return drafter

    peaked = math.exp(0.9 * math.log(0.9) + 0.1 * math.log(0.1))

    @pytest.mark.parametrize(
        "rule, raw",
        [
            ("entropy", (0.7 * 0.5, 0.2 * peaked, 0.1 * 0.5)),
            ("prior", (0.7, 0.2, 0.1)),
            ("confidence", (0.5, peaked, 0.5)),
            ("uniform", (1, 1, 1)),
            ("gate", (0, 1, 0)),
            ("backoff", (1, 0, 0)),
        ],
    )
    def test_weights_and_mixture(self, make, rule, raw):
        drafter = self.three_rows(make, fusion=rule)
        ids, probs, weights = drafter.fuse([1, 2, 3])
        g, c, u = (weight / sum(raw) for weight in raw)
        assert weights == pytest.approx({"G": g, "C": c, "U": u}, abs=1e-6)
        mixture = {10: 0.5 * g + 0.9 * c, 11: 0.5 * g, 12: 0.1 * c + 0.5 * u, 13: 0.5 * u}
        best = sorted(mixture, key=lambda token: (-mixture[token], token))[:2]
        kept = mixture[best[0]] + mixture[best[1]]
        assert ids.tolist() == best
        assert probs == pytest.approx([mixture[token] / kept for token in best], abs=1e-6)
        assert probs.sum() == pytest.approx(1)

    @pytest.mark.parametrize("context, names", [([8, 2, 3], "GCU"), ([7, 2, 3], "CU"), ([7, 7, 3], "U")])
    def test_priors_go_by_rank_among_the_rows_found(self, make, context, names):
        weights = self.three_rows(make, fusion="prior").fuse(context)[2]
        raw = (0.7, 0.2, 0.1)[: len(names)]
        assert weights == pytest.approx(dict(zip(names, (weight / sum(raw) for weight in raw))))

    def test_one_row_is_plain_lookup(self, make):
        drafter = self.three_rows(make)
        ids, probs, weights = drafter.fuse([3])
        row = drafter.lookup([3])["U"]
        assert ids.tolist() == row[0].tolist() and probs == pytest.approx(row[1], abs=1e-6) and weights == {"U": 1.0}

    def test_no_row(self, make):
        ids, probs, weights = self.three_rows(make).fuse([99])
        assert len(ids) == len(probs) == 0 and weights == {}

    def test_gate_tie_goes_to_the_longer_key(self, make):
        drafter = make(fusion="gate")
        drafter.begin([])
        put(drafter, [1, 2, 3], {10: 0.6, 11: 0.4})
        put(drafter, [8, 2, 3], {12: 0.6, 13: 0.4})
        assert drafter.fuse([1, 2, 3])[2] == {"G": 1.0, "C": 0.0, "U": 0.0}

    def test_equal_masses_lowest_id(self, make):
        drafter = make(fusion="uniform")
        drafter.begin([])
        put(drafter, [1, 2, 3], {30: 0.5, 20: 0.5})
        put(drafter, [8, 9, 3], {10: 0.5, 40: 0.5})  # C of 2 3 and G stay; U changes
        ids, probs, _ = drafter.fuse([7, 9, 3])  # C and U: the same row
        assert ids.tolist() == [10, 40] and probs.tolist() == [0.5, 0.5]
        ids, _, _ = drafter.fuse([7, 2, 3])  # C {20, 30}, U {10, 40}, all 1/4
        assert ids.tolist() == [10, 20]


class TestSearch:
    def test_scores_order_and_depth_priors(self, make):
        drafter = make(depth_priors=(0.5, 0.25), max_nodes=6)
        drafter.begin([])
        drafter.seed([1, 2, 3], [[2, 3], [4, 5], [6, 7]], [logits(0.75, 0.25), logits(0.5, 0.5), logits(0.9, 0.1)])
        tree = draft_after(drafter, [1])
        # children of the root: 0.5 * 0.75 and 0.5 * 0.25; then below 2: 0.375 * 0.25 * 0.5 twice, and so on
        assert paths(tree) == [(2,), (3,), (2, 4), (2, 5), (3, 6), (3, 7)]
        assert tree.scores == pytest.approx([1, 0.375, 0.125, 0.046875, 0.046875, 0.028125, 0.003125], abs=1e-6)
        assert tree.depths.tolist() == [0, 1, 1, 2, 2, 2, 2] and tree.parents.tolist() == [-1, 0, 0, 1, 1, 2, 2]

    def test_the_last_depth_prior_holds_below(self, make):
        drafter = make(top_k=1, width=1, depth_priors=(0.5, 0.25), max_depth=4)
        drafter.begin([])
        drafter.seed([1], [[1]], [[0.0]])
        assert draft_after(drafter, [1]).scores.tolist() == [1, 0.5, 0.125, 0.03125, 0.0078125]

    def test_equal_scores_the_one_pushed_first(self, make):
        # 3 and 4 tie at depth 1; with priors of 1 the children of 3, pushed later, tie with 4's
        drafter = make(depth_priors=(1.0,), max_nodes=6)
        drafter.begin([])
        drafter.seed([1, 3, 4], [[4, 3], [9, 8], [6, 7]], np.zeros((3, 2), np.float32))
        tree = draft_after(drafter, [1])
        assert paths(tree) == [(3,), (4,), (3, 8), (3, 9), (4, 6), (4, 7)]

    def test_a_certain_child_of_an_equal_score_waits_its_turn(self, make):
        drafter = make(depth_priors=(1.0,), max_nodes=3)
        drafter.begin([])
        drafter.seed([1, 3], [[4, 3], [9, 8]], np.array([[0, 0], [300, 0]], np.float32))
        assert paths(draft_after(drafter, [1])) == [(3,), (4,), (3, 9)]

    def test_width_takes_the_front_of_the_row(self, make):
        drafter = make(top_k=3, width=2)
        drafter.begin([])
        drafter.seed([1], [[2, 3, 4]], [logits(0.2, 0.5, 0.3)])
        tree = draft_after(drafter, [1])
        assert paths(tree) == [(3,), (4,)]
        assert tree.scores[1:] == pytest.approx([0.68 * 0.5, 0.68 * 0.3], abs=1e-6)  # over K, not over the width

    def test_banned_ids_keep_their_place_and_their_probability(self, make):
        drafter = make(top_k=3, width=2)
        drafter.begin([], banned=[3])
        drafter.seed([1], [[2, 3, 4]], [logits(0.2, 0.5, 0.3)])
        tree = draft_after(drafter, [1])
        assert paths(tree) == [(4,)] and tree.scores[1] == pytest.approx(0.68 * 0.3, abs=1e-6)

    def test_budget_and_depth(self, make):
        drafter = make(max_depth=3, max_nodes=5)
        drafter.begin([])
        drafter.seed([1, 2], [[1, 2], [1, 2]], np.tile(logits(0.6, 0.4), (2, 1)))
        drafter.commit([1])
        assert [len(drafter.draft()), len(drafter.draft(0)), len(drafter.draft(1024))] == [6, 1, 15]
        assert drafter.draft(1024).depths.max() == 3

    def test_context_is_history_and_path(self, make):
        drafter = make()
        drafter.begin([])
        put(drafter, [1, 2, 3], {4: 0.9, 5: 0.1})
        put(drafter, [2, 3, 4], {6: 0.9, 7: 0.1})  # G of 2 3 4, C of 3 4
        put(drafter, [9, 9, 4], {8: 0.9, 7: 0.1})  # U of 4 would say 8
        tree = draft_after(drafter, [1, 2, 3])
        assert paths(tree)[:2] == [(4,), (4, 6)]
        assert tree.weights[2] == pytest.approx([0.7, 0.2, 0.1], abs=1e-6)  # all three are equally confident
        assert tree.shares[2] == pytest.approx([7 / 9, 2 / 9, 0], abs=1e-6)  # and U does not know 6

    def test_fields(self, make):
        drafter = make()
        drafter.begin([1, 2])
        drafter.seed([1, 2, 3], [[2, 3], [1, 3], [1, 2]], np.tile(logits(0.6, 0.4), (3, 1)))
        put(drafter, [1, 2, 3], {1: 0.7, 2: 0.3})
        tree = draft_after(drafter, [1, 2, 3])
        n = len(tree)
        assert n == 64 and tree.suffix_start == n and tree.tokens[0] == 3
        dtypes = {"tokens": "int64", "parents": "int32", "depths": "int32", "scores": "float64", "mask": "bool",
                  "weights": "float64", "shares": "float64"}
        assert {name: str(getattr(tree, name).dtype) for name in dtypes} == dtypes
        assert tree.mask.shape == (n, n) and tree.weights.shape == tree.shares.shape == (n, 3)
        for node in range(n):
            ancestors = {node}
            while tree.parents[min(ancestors)] >= 0:
                ancestors.add(int(tree.parents[min(ancestors)]))
            assert set(np.flatnonzero(tree.mask[node])) == ancestors
            assert tree.depths[node] == len(ancestors) - 1
        assert tree.shares[1:].sum(axis=1) == pytest.approx(1) and tree.weights[1:].sum(axis=1) == pytest.approx(1)
        assert not tree.shares[0].any() and not tree.weights[0].any()


class TestFixed:
    layers = [8, 21, 25, 15, 8, 3]

    def full(self, make, **settings):
        settings = {"top_k": 8, "width": 8, "search": "fixed", "max_nodes": 100} | settings
        drafter = make(**settings)
        drafter.begin([], banned=settings.pop("banned", ()))
        drafter.seed(range(8), np.tile(np.arange(8), (8, 1)), np.tile(-np.arange(8, dtype=np.float32), (8, 1)))
        return draft_after(drafter, [0])

    def test_the_static_tree(self, make):
        tree = self.full(make)
        assert np.bincount(tree.depths).tolist() == [1, *self.layers]
        found = paths(tree)  # ranks are ids here
        assert found[:8] == [(rank,) for rank in range(8)] and len(set(found)) == 80
        for ranks in [(0, 7), (1, 3), (2, 2), (3, 1), (7, 0), (0, 1, 2), (5, 0, 0), (0, 0, 1, 1), (3, 0, 0, 0),
                      (0, 0, 0, 0, 2), (1, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), (0, 0, 0, 1, 0, 0)]:
            assert ranks in found
        assert found == sorted(found, key=lambda ranks: (len(ranks), ranks))

    def test_scores_are_those_of_best_first(self, make):
        fixed, best = self.full(make), self.full(make, search="best_first", max_nodes=1024, max_depth=6)
        scores = dict(zip(paths(best), best.scores[1:]))
        for path, score in zip(paths(fixed), fixed.scores[1:]):
            if path in scores:
                assert score == scores[path]

    def test_cut_by_nodes_depth_and_width(self, make):
        assert paths(self.full(make, max_nodes=30)) == paths(self.full(make))[:30]
        assert np.bincount(self.full(make, max_depth=2).depths).tolist() == [1, 8, 21]
        narrow = self.full(make, width=2)
        assert paths(narrow) == [path for path in paths(self.full(make)) if max(path) < 2]

    def test_a_missing_rank_takes_its_subtree_along(self, make):
        drafter = make(top_k=8, width=8, search="fixed", max_nodes=80)
        drafter.begin([], banned=[1])
        drafter.seed(range(8), np.tile(np.arange(8), (8, 1)), np.tile(-np.arange(8, dtype=np.float32), (8, 1)))
        found = paths(draft_after(drafter, [0]))
        assert found == [path for path in paths(self.full(make)) if 1 not in path]


class TestSuffix:
    def suffix(self, make, prompt, root, *budget, banned=(), **settings):
        drafter = make(suffix=True, **settings)
        drafter.begin(prompt, banned)
        return draft_after(drafter, [root], *budget)

    def test_continuation_after_the_longest_repeated_suffix(self, make):
        tree = self.suffix(make, [1, 2, 3, 4, 9, 2, 5, 6, 1, 2], 3)
        assert paths(tree) == [(4,), (4, 9), (4, 9, 2), (4, 9, 2, 5)]
        assert tree.suffix_start == 1 and tree.scores.tolist() == [1, 0, 0, 0, 0]
        assert not tree.weights.any() and not tree.shares.any()

    def test_earliest_occurrence(self, make):
        assert paths(self.suffix(make, [1, 2, 7, 1, 2, 8, 1], 2, None, 1)) == [(7,)]

    def test_one_token_is_enough_and_none_is_nothing(self, make):
        assert paths(self.suffix(make, [5, 6], 5)) == [(6,), (6, 5)]
        assert paths(self.suffix(make, [5, 6], 7)) == []

    def test_the_occurrence_may_overlap_the_suffix(self, make):
        assert paths(self.suffix(make, [4, 4, 4], 4)) == [(4,)]
        assert paths(self.suffix(make, [1, 2, 1, 2, 1], 2)) == [(1,), (1, 2)]

    def test_at_most_ten_tokens_are_followed(self, make):
        text = list(range(100, 120))
        assert len(paths(self.suffix(make, [1, *text], 1, None, 10))) == 10
        drafter = make(suffix=True, top_k=1, width=1, max_depth=20)
        drafter.begin([1, *text])  # memory already drafts the first ten: nothing is left for the suffix to add
        drafter.seed([1, *text[:-1]], np.array(text)[:, None], np.zeros((20, 1), np.float32))
        tree = draft_after(drafter, [1], 10, 10)
        assert len(tree) == 11 and tree.suffix_start == 11

    def test_stops_before_a_banned_token(self, make):
        assert paths(self.suffix(make, [1, 2, 3, 9, 4], 1, banned=[9])) == [(2,), (2, 3)]

    def test_placeholders_never_match(self, make):
        assert paths(self.suffix(make, [9, 1, 9, 2], 9, banned=[9])) == []
        tree = self.suffix(make, [9, 9, 1, 5, 9, 9], 1, banned=[9])  # 9 9 1 is not a repetition, 1 is
        assert paths(tree) == [(5,)]
        assert paths(self.suffix(make, [7, 9, 1, 5, 8, 9, 9], 1, banned=[9])) == [(5,), (5, 8)]

    def test_without_the_placeholder_the_longer_match_would_win(self, make):
        prompt = [6, 1, 5, 9, 1, 7, 8, 9]
        assert paths(self.suffix(make, prompt, 1, None, 1)) == [(7,)]
        assert paths(self.suffix(make, prompt, 1, None, 1, banned=[9])) == [(5,)]

    def test_shares_memory_children_and_comes_last(self, make):
        drafter = make(suffix=True, max_nodes=3)
        drafter.begin([1, 2, 3, 4, 5])
        drafter.seed([1, 2], [[2, 8], [6, 7]], [logits(0.9, 0.1), logits(0.6, 0.4)])
        tree = draft_after(drafter, [1])
        assert paths(tree) == [(2,), (2, 6), (2, 7), (2, 3), (2, 3, 4), (2, 3, 4, 5), (2, 3, 4, 5, 1)]
        assert tree.suffix_start == 4 and tree.scores[1] > 0 and tree.shares[1].sum() == 1
        assert tree.parents.tolist() == [-1, 0, 1, 1, 1, 4, 5, 6]

    def test_budget_zero_and_switch(self, make):
        assert len(self.suffix(make, [1, 2], 1, 0, 0)) == 1
        assert len(self.suffix(make, [1, 2], 1, suffix_tokens=0)) == 1
        drafter = make(suffix=False)
        drafter.begin([1, 2])
        assert len(draft_after(drafter, [1], 63, 10)) == 1

    def test_a_new_request_forgets_the_text(self, make):
        drafter = make(suffix=True)
        drafter.begin([1, 2, 3])
        drafter.begin([7])
        assert len(draft_after(drafter, [1])) == 1

    def test_only_committed_tokens_enter(self, make):
        drafter = make(suffix=True)
        drafter.begin([])
        drafter.seed([1], [[2, 3]], [logits(0.5, 0.5)])
        tree = draft_after(drafter, [1])
        drafter.observe(np.tile([2, 3], (len(tree), 1)), np.zeros((len(tree), 2), np.float32))
        assert draft_after(drafter, [2], 0, 4).suffix_start == 1 == len(drafter.draft(0, 4))


class TestObserve:
    def test_every_node_under_its_own_path(self, make):
        drafter = make(max_nodes=3)
        drafter.begin([7])
        drafter.seed([1, 2], [[2, 3], [4, 5]], [logits(0.9, 0.1), logits(0.5, 0.5)])
        tree = draft_after(drafter, [1])
        assert paths(tree) == [(2,), (2, 4), (2, 5)]
        drafter.observe([[20, 9], [30, 9], [40, 9], [50, 9]], np.tile(logits(0.9, 0.1), (4, 1)))
        first = {name: int(row[0][0]) for name, row in drafter.lookup([1, 2, 4]).items()}
        assert first == {"G": 40, "C": 40, "U": 40}
        assert drafter.lookup([7, 1, 2])["G"][0][0] == 30 and drafter.lookup([7, 1])["C"][0][0] == 20
        stats = drafter.stats()
        assert (stats["G"], stats["C"]) == (3, 4)  # the root's context is 7 1, too short for G

    def test_first_in_pack_order_wins_inside_one_pass(self, make):
        drafter = make(max_nodes=4)
        drafter.begin([])
        drafter.seed([1, 2, 3], [[2, 3], [3, 9], [2, 8]], [logits(0.9, 0.1), logits(0.9, 0.1), logits(0.9, 0.1)])
        tree = draft_after(drafter, [1])
        assert paths(tree) == [(2,), (2, 3), (2, 3, 2), (3,)]
        rows = np.array([[10, 99], [20, 99], [30, 99], [40, 99], [50, 99]])
        drafter.observe(rows, np.tile(logits(0.9, 0.1), (5, 1)))
        assert drafter.lookup([2])["U"][0][0] == 20  # node 1, not node 3
        assert drafter.lookup([3])["U"][0][0] == 30  # node 2, not node 4
        assert drafter.lookup([3, 2])["C"][0][0] == 40 and drafter.lookup([1, 3])["C"][0][0] == 50

    def test_newest_wins_across_passes(self, make):
        drafter = make()
        drafter.begin([])
        drafter.seed([3], [[1, 2]], [logits(0.9, 0.1)])
        for first in (10, 20):
            put(drafter, [1, 2, 3], {first: 0.9, 5: 0.1})
            assert {int(row[0][0]) for row in drafter.lookup([1, 2, 3]).values()} == {first}

    def test_suffix_nodes_are_observed_too(self, make):
        drafter = make(suffix=True)
        drafter.begin([1, 2])
        tree = draft_after(drafter, [1])
        drafter.observe([[9, 8], [7, 6], [5, 4]], np.tile(logits(0.9, 0.1), (3, 1)))
        assert paths(tree) == [(2,), (2, 1)] and drafter.lookup([2, 1, 2])["G"][0][0] == 7

    def test_a_commit_voids_the_draft(self, make):
        drafter = make()
        drafter.begin([])
        drafter.commit([1])
        drafter.draft()
        drafter.commit([2])
        with pytest.raises(RuntimeError, match="draft"):
            drafter.observe([[1, 2]], [logits(0.5, 0.5)])


class TestExplain:
    def test_rows_and_fused_row_of_every_node(self, make):
        drafter = make()
        drafter.begin([])
        put(drafter, [1, 2, 3], {4: 0.9, 5: 0.1})
        put(drafter, [8, 9, 3], {6: 0.5, 7: 0.5})
        tree = draft_after(drafter, [1, 2, 3])
        seen = drafter.explain()
        n, r = len(tree), len(seen.ids)
        assert seen.rows.shape == (n, 3) and seen.fused.shape == (n,) and seen.probs.shape == (r, 2)
        assert [str(array.dtype) for array in (seen.rows, seen.fused, seen.ids, seen.probs, seen.confidences)] == [
            "int32", "int32", "int32", "float32", "float32"]
        found = [seen.ids[row].tolist() for row in seen.rows[0]]
        assert found == [[4, 5], [4, 5], [6, 7]]
        ids, probs, _ = drafter.fuse([1, 2, 3])
        assert seen.ids[seen.fused[0]].tolist() == ids.tolist()
        assert seen.probs[seen.fused[0]].tolist() == probs.astype(np.float32).tolist()
        assert seen.rows[1].tolist() == [-1, -1, -1] and seen.fused[1] == -1  # nothing is known after 3 4
