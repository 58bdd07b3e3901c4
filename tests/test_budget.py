"""The parts of the budget "auto" by themselves, with costs and chances given: no clock is read here."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

from recap.budget.acceptance import KINDS, Acceptance, kinds
from recap.budget.choice import choose, reach, suffix_path
from recap.budget.cost import NODES, PassCosts, measure
from recap.budget.seeding import Seeding
from recap.config import RecapConfig
from recap.drafter import Draft, Drafter


class Machine:
    """A target whose passes take what a formula says, on a clock of their own."""

    def __init__(self, ms, noise=0.0):
        self.now, self.ms, self.noise, self.length, self.rng = 0.0, ms, noise, 0, random.Random(3)
        self.sizes = []

    def new_cache(self):
        return self

    def keep(self, entries):
        self.length += len(entries)

    def verify(self, tokens, depths, mask, cache, rope_delta):
        assert len(tokens) == len(depths) == len(mask) and mask[-1].all() and set(tokens.tolist()) <= {5, 6, 7}
        self.sizes.append(len(tokens))
        spread = 1.0 + self.noise * self.rng.random() * (5.0 if self.rng.random() < 0.1 else 1.0)
        self.now += self.ms(len(tokens), self.length) * spread / 1000.0
        return self

    def top(self, k):
        return None


def curve(machine, **options):
    return measure(machine, [5, 6, 7], clock=lambda: machine.now, **options)


class TestCosts:
    def test_between_and_beyond_the_knots(self):
        costs = PassCosts([1, 8, 16], [10.0, 17.0, 33.0], prefix=100, per_pair=0.001)
        assert costs.ms(1, 0) == pytest.approx(10) and costs.ms(4, 100) == pytest.approx(13)
        assert costs.ms(12, 50) == pytest.approx(25) and costs.ms(20, 0) == pytest.approx(41)
        assert costs.ms(8, 600) == pytest.approx(17 + 8 * 500 * 0.001)
        assert costs.curve(3, 0).tolist() == pytest.approx([10, 11, 12])

    def test_a_dip_is_noise(self):
        costs = PassCosts([1, 2, 4, 8], [10.0, 14.0, 12.0, 20.0])
        assert (np.diff(costs.curve(12, 0)) >= 0).all() and costs.ms(2, 0) == costs.ms(4, 0) == pytest.approx(13)

    @pytest.mark.parametrize(
        "nodes, ms, prefix, per_pair",
        [([], [], 0, 0), ([2, 4], [1, 1], 0, 0), ([1, 4], [1], 0, 0), ([1, 1], [1, 1], 0, 0), ([1, 2], [1, 0], 0, 0),
         ([1, 2], [1, math.nan], 0, 0), ([1], [1], -1, 0), ([1], [1], 0, -1), ([1], [1], 0, math.inf)],
    )  # fmt: skip
    def test_what_is_no_curve(self, nodes, ms, prefix, per_pair):
        with pytest.raises(ValueError):
            PassCosts(nodes, ms, prefix, per_pair)

    def test_measured_as_it_is(self):
        machine = Machine(lambda n, length: 20 + 0.5 * n + 0.002 * n * length)
        told = []
        costs = curve(machine, seconds=60, progress=lambda text, fraction: told.append(fraction))
        assert costs.nodes == list(NODES) and costs.per_pair == pytest.approx(0.002)
        for nodes, length in itertools.product((1, 12, 40, 80), (200, 1000)):
            assert costs.ms(nodes, length) == pytest.approx(machine.ms(nodes, length), rel=0.05)
        assert told == sorted(told) and told[-1] == 1.0 and machine.now < 60

    def test_noise_hardly_matters(self):
        machine = Machine(lambda n, length: 20 + 0.5 * n, noise=0.3)
        costs = curve(machine, seconds=60)
        shape = [costs.ms(nodes, 100) / costs.ms(1, 100) for nodes in (8, 32, 64)]
        assert shape == pytest.approx([24 / 20.5, 36 / 20.5, 52 / 20.5], rel=0.15)

    def test_where_nodes_are_dear_large_trees_are_not_even_tried(self):
        machine = Machine(lambda n, length: 20.0 * n)
        assert 96 not in curve(machine, seconds=1000).nodes and max(machine.sizes) == 64

    def test_a_slow_machine_is_not_held_up(self):
        machine = Machine(lambda n, length: 1000.0 + 10 * n)
        costs = curve(machine, seconds=1.5)
        assert costs.nodes == [1, 16] and machine.now < 5
        assert costs.ms(64, 0) == pytest.approx(1640)

    def test_a_machine_that_slows_down(self):
        costs = PassCosts([1, 16, 64], [10.0, 20.0, 60.0])
        before = costs.curve(64, 0)
        for _ in range(60):
            for nodes in (1, 9, 16, 40):
                costs.learn(nodes, 0, 2.0 * before[nodes - 1])
        assert costs.curve(64, 0) == pytest.approx(2 * before, rel=0.05)

    def test_a_wrong_shape_is_put_right_where_passes_ran(self):
        costs, true = PassCosts([1, 16, 64], [10.0, 40.0, 80.0]), PassCosts([1, 16, 64], [10.0, 15.0, 80.0])
        for _ in range(300):
            for nodes in (1, 16):
                costs.learn(nodes, 0, true.ms(nodes, 0))
        assert costs.ms(16, 0) / costs.ms(1, 0) == pytest.approx(1.5, rel=0.05)

    def test_one_interrupted_pass_changes_little(self):
        costs = PassCosts([1, 16], [10.0, 20.0])
        costs.learn(16, 0, 5000.0)
        costs.learn(16, 0, 0.0)
        assert costs.ms(16, 0) < 22 and costs.ms(1, 0) < 11

    def test_the_same_measurements_give_the_same_curve(self):
        first, second = PassCosts([1, 16], [10.0, 20.0]), PassCosts([1, 16], [10.0, 20.0])
        for costs in (first, second):
            rng = random.Random(0)
            for _ in range(100):
                costs.learn(rng.randint(1, 30), rng.randint(0, 900), rng.uniform(5, 50))
        assert first.to_dict() == second.to_dict() and first.curve(40, 9).tolist() == second.curve(40, 9).tolist()
        again = PassCosts.from_dict(first.to_dict())
        assert again.curve(40, 0) == pytest.approx(first.curve(40, 0), rel=0.1) and again.pace == 1.0
        assert again.to_dict() == first.to_dict()


def draft(parents, scores, suffix_start=None, match=0, weights=None):
    n = len(parents)
    depths = [0]
    for parent in parents[1:]:
        depths.append(depths[parent] + 1)
    held = np.zeros((n, 3))
    if weights is not None:
        held[:] = weights
    return Draft(
        np.arange(n) + 100, np.array(parents, np.int32), np.array(depths, np.int32), np.array(scores, float),
        np.eye(n, dtype=bool), held, held, n if suffix_start is None else suffix_start, match,
    )  # fmt: skip


class TestAcceptance:
    def test_before_anything_was_seen(self):
        chances = Acceptance().chances()
        assert chances.shape == (KINDS,) and (chances > 0).all() and (chances < 1).all()
        likely = draft([-1, 0, 0, 0], [1, 0.5, 0.1, 0.01], weights=[0, 0, 1])
        falling = chances[kinds(likely, [])[1:]]
        assert falling[0] > 2 * falling[1] > 4 * falling[2]
        long, short = (chances[kinds(draft([-1, 0], [1, 0], 1, match), [1])[1]] for match in (12, 1))
        assert long > 0.7 and short < 0.1

    def test_kinds_tell_apart_what_matters(self):
        def kind(parents=(-1, 0), scores=(1, 0.3), suffix_start=None, match=0, weights=(0, 0, 1), path=()):
            return int(kinds(draft(parents, scores, suffix_start, match, weights), list(path))[1])

        seen = {
            kind(), kind(scores=(1, 0.1)), kind(weights=(1, 0, 1)), kind(weights=(0, 1, 1)), kind(weights=(0, 0, 0)),
            kind(match=1, path=[1]), kind(match=9, path=[1]), kind((-1, 0), (1, 0), 1, 9, (0, 0, 0), [1]),
            kind((-1, 0, 0), (1, 0.3, 0), 2, 3, path=[2]),
        }  # fmt: skip
        assert len(seen) == 9
        assert kind(scores=(1, 0.3)) == kind(scores=(1, 0.26))
        deep = kinds(draft([-1, 0, 1, 2, 3], [1, 0.5, 0.25, 0.125, 0.0625]), [])
        assert deep[1] != deep[2] != deep[3] == deep[4]

    def test_a_node_without_a_score_is_no_accident(self):
        odd = kinds(draft([-1, 0, 1, 2], [1, 0, 0, 0]), [])
        assert (odd[1:] >= 0).all() and (odd < KINDS).all()

    def test_deeper_on_the_suffix_path_the_match_is_longer(self):
        path = kinds(draft([-1, 0, 1, 2], [1, 0, 0, 0], 1, 2), [1, 2, 3])
        direct = [int(kinds(draft([-1, 0], [1, 0], 1, match), [1])[1]) for match in (2, 3, 4)]
        assert path[1:].tolist() == direct

    def test_calibration_converges(self):
        rng, table = np.random.default_rng(0), Acceptance()
        truth = rng.random(KINDS)
        for _ in range(400):
            table.learn(np.arange(KINDS), np.flatnonzero(rng.random(KINDS) < truth))
        assert np.abs(table.chances() - truth).mean() < 0.03

    def test_this_session_weighs_more_than_what_came_before(self):
        history = Acceptance()
        for _ in range(1000):
            history.learn(np.array([7]), np.array([], int))
        session = Acceptance(history)
        assert session.chances()[7] < 0.02
        for _ in range(60):
            session.learn([7], [7])
        assert session.chances()[7] > 0.6 and Acceptance(history).chances()[7] < 0.25
        assert session.chances()[8] == Acceptance().chances()[8]

    def test_kept_and_read_again(self):
        table = Acceptance()
        for _ in range(900):
            table.learn([1, 2, 3], [2])
        again = Acceptance.from_dict(table.to_dict())
        assert again.chances().tolist() == table.chances().tolist()
        for damage in ({}, {"seen": [1.0]}, {"seen": "x", "accepted": "y"}, {"seen": [2.0] * KINDS, "accepted": [3.0] * KINDS},
                       {"seen": [math.nan] * KINDS, "accepted": [0.0] * KINDS}, {"seen": [1e9] * KINDS, "accepted": [0.0] * KINDS}):  # fmt: skip
            with pytest.raises(ValueError):
                Acceptance.from_dict(damage)


def exhaustive(reached, parents, memory, path, costs, rate, limits):
    """Every choice there is, valued one by one."""
    best, answer = -math.inf, None
    for m in range(min(memory, limits[0]) + 1):
        for length in range(len(path) + 1):
            nodes = set(range(m + 1)) | set(path[:length])
            if len(nodes) - 1 > limits[1]:
                continue
            assert all(parents[node] in nodes for node in nodes if node), "every choice is a tree"
            expected = sum(reached[node] for node in nodes)
            value = expected - rate * costs[len(nodes) - 1]
            if value > best + 1e-9 or (value > best - 1e-9 and len(nodes) < answer[1]):
                best, answer = value, (expected, len(nodes))
    return best, answer


class TestChoice:
    def chain(self, n, chance):
        return np.array([chance**node for node in range(n + 1)])

    def test_cheap_nodes_are_all_taken_and_dear_ones_left(self):
        reached = self.chain(20, 0.8)
        free, dear = np.full(30, 10.0), 10.0 * np.arange(1, 31)
        assert choose(reached, 20, [], free, 0.1, (20, 24))[:2] == (20, 0)
        assert choose(reached, 20, [], dear, 0.1, (20, 24)) == (0, 0, 1.0)

    def test_only_what_is_worth_its_time(self):
        costs = 10.0 + 0.5 * np.arange(30)  # at 0.2 tokens a millisecond, a node must bring 0.1 tokens
        assert choose(self.chain(20, 0.5), 20, [], costs, 0.2, (20, 24))[:2] == (3, 0)
        assert choose(self.chain(20, 0.5), 20, [], costs, 0.02, (20, 24))[:2] == (6, 0)

    def test_a_step_in_the_costs_is_filled_or_not_begun(self):
        costs = np.array([10.0] * 4 + [14.0] * 26)
        assert choose(self.chain(20, 0.5), 20, [], costs, 0.1, (20, 24))[:2] == (3, 0)
        assert choose(self.chain(20, 0.9), 20, [], costs, 0.1, (20, 24))[:2] == (20, 0)

    def test_a_reliable_suffix_is_followed_far_and_a_weak_one_not(self):
        costs = 10.0 + 0.5 * np.arange(30)
        for chance, length in ((0.95, 10), (0.05, 0)):
            reached = np.concatenate([[1.0, 0.02, 0.01], self.chain(10, chance)[1:]])
            m, s, expected = choose(reached, 2, list(range(3, 13)), costs, 0.1, (63, 67))
            assert (m, s) == (0, length) and expected == pytest.approx(1 + sum(chance**d for d in range(1, length + 1)))

    def test_limits_hold(self):
        reached = np.concatenate([self.chain(8, 0.9), self.chain(10, 0.9)[1:]])
        free = np.full(40, 1.0)
        assert choose(reached, 8, list(range(9, 19)), free, 0.1, (3, 7))[:2] in ((3, 4), (0, 7), (1, 6), (2, 5))
        assert sum(choose(reached, 8, list(range(9, 19)), free, 0.1, (8, 10))[:2]) == 10
        assert choose(reached, 8, list(range(9, 19)), free, 0.1, (0, 0)) == (0, 0, 1.0)

    @pytest.mark.parametrize("seed", range(60))
    def test_no_better_choice_exists(self, seed):
        rng = random.Random(seed)
        memory, extra = rng.randint(0, 12), rng.randint(0, 6)
        parents = [-1] + [rng.randrange(node) for node in range(1, memory + 1)]
        shared = [0]  # the suffix path begins inside the memory tree and may leave it
        while children := [node for node in range(memory + 1) if parents[node] == shared[-1]]:
            if rng.random() < 0.4:
                break
            shared.append(rng.choice(children))
        path = shared[1:] + list(range(memory + 1, memory + 1 + extra))
        parents += [([0] + path)[path.index(node)] for node in path if node > memory]
        reached = [1.0]
        for node in range(1, len(parents)):
            reached.append(reached[parents[node]] * rng.random())
        costs = np.cumsum([rng.random() * rng.choice([0, 1, 10]) + 0.01 for _ in range(len(parents) + 3)])
        rate, limits = rng.choice([0.01, 0.1, 0.5]), (rng.randint(0, 12), rng.randint(0, 18))
        m, s, expected = choose(np.array(reached), memory, path, costs, rate, limits)
        value, (best, nodes) = exhaustive(reached, parents, memory, path, costs, rate, limits)
        assert expected - rate * costs[m + s] == pytest.approx(value) and expected == pytest.approx(best)
        assert m + s + 1 == nodes and m <= limits[0] and m + s <= limits[1]

    def test_chances_multiply_down_the_tree_and_stop_at_the_end(self):
        tree = draft([-1, 0, 0, 1, 3], [1] * 5)
        assert reach(tree, np.array([9, 0.5, 0.25, 0.5, 0.5]), 9).tolist() == [1, 0.5, 0.25, 0.25, 0.125]
        assert reach(tree, np.array([9, 0.5, 0.25, 0.5, 0.5]), 1).tolist() == [1, 0.5, 0.25, 0, 0]
        sure = reach(tree, np.array([9, 0.9, 0.9, 0.9, 0.9]), 9)
        assert sure[1:3].sum() == pytest.approx(0.98) and sure[3] == pytest.approx(0.49 * 0.9)


def busy(seed=0, **settings):
    """A drafter that knows some text, so that its tree and its suffix path overlap."""
    rng = np.random.default_rng(seed)
    drafter = Drafter(RecapConfig(**settings))
    text = rng.integers(0, 6, 60)
    drafter.begin(text)
    drafter.commit([int(text[3])])
    for _ in range(20):
        tree = drafter.draft(12, 4)
        ids = np.argsort(rng.random((len(tree), 9)), axis=1)[:, :8]
        drafter.observe(ids, np.sort(rng.normal(0, 2, (len(tree), 8)), axis=1)[:, ::-1].astype(np.float32))
        drafter.commit(text[rng.integers(0, 50) :][: rng.integers(1, 4)])
    return drafter


class TestSuffixPath:
    @pytest.mark.parametrize("nodes", [0, 1, 5, 30, 400])
    @pytest.mark.parametrize("seed", range(4))
    def test_what_is_chosen_is_what_is_drafted(self, seed, nodes):
        """Whatever prefix and length are taken, the smaller draft holds the nodes that the choice spoke of, in order."""
        drafter = busy(seed)
        alone, full = drafter.draft(0, 10), drafter.draft(nodes, 10)
        path = suffix_path(full, alone)
        assert full.tokens[path].tolist() == alone.tokens[1:].tolist() and len(path) > 0
        assert full.suffix_match == alone.suffix_match >= 1
        for m, length in itertools.product({0, 1, 3, full.suffix_start - 1} & set(range(full.suffix_start)), (0, 1, 4, 10)):
            extra = [node for node in path[:length] if node > m]
            small = drafter.draft(m, len(extra))
            kept = [*range(m + 1), *extra]
            assert small.tokens.tolist() == full.tokens[kept].tolist()
            assert [kept.index(parent) if parent >= 0 else -1 for parent in full.parents[kept]] == small.parents.tolist()


class TestSeeding:
    def test_as_long_as_it_pays(self):
        seeding = Seeding()
        assert seeding.rows(200, 100, 1e-3, 0.05) == 200
        assert seeding.rows(200, 100, 100.0, 0.05) == 0
        some = seeding.rows(200, 100, 0.2, 0.05)
        assert 0 < some < 200 and seeding.rows(200, 100, 0.4, 0.05) < some

    def test_a_short_answer_saves_little(self):
        seeding = Seeding()
        assert seeding.rows(200, 1, 1e-9, 0.05) == 0
        assert seeding.rows(200, 3, 0.3, 0.05) < seeding.rows(200, 100, 0.3, 0.05)
        for _ in range(5):
            seeding.passed(draft([-1], [1]), [0], 4)
            seeding.end()
        assert seeding.rows(200, 100, 0.3, 0.05) == seeding.rows(200, 4, 0.3, 0.05)

    @pytest.mark.parametrize("useful", [True, False])
    def test_learns_whether_it_helped(self, useful):
        seeding = Seeding()
        before = seeding.rows(10**6, 100, 0.3, 0.05)
        for _ in range(20):
            seeding.begin([100, 101] if useful else [7, 8])
            seeding.passed(draft([-1, 0, 1], [1, 0.5, 0.25], weights=[0, 0, 1]), [0, 1, 2], 100)
            seeding.end()
        after = seeding.rows(10**6, 100, 0.3, 0.05)
        assert after > before if useful else after < before

    def test_a_row_counts_until_a_pass_has_seen_its_token_again(self):
        seeding, tree = Seeding(), draft([-1, 0], [1, 0.5], weights=[0, 0, 1])
        seeding.begin([100])
        credits = []
        for _ in range(3):
            seeding.passed(tree, [0, 1], 2)
            credits.append(seeding._credits)
        assert credits[0] == credits[1] == credits[2] == Seeding()._credits + 1

    def test_longer_keys_and_the_suffix_path_take_no_help(self):
        for tree in (draft([-1, 0], [1, 0.5], weights=[0.5, 0, 0.5]), draft([-1, 0], [1, 0], 1, 3)):
            seeding = Seeding()
            seeding.begin([100])
            seeding.passed(tree, [0, 1], 2)
            assert seeding._credits == Seeding()._credits
