"""Rows that many drafters share: who finds them, who may not change them, what is refused; both backends alike."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from recap import Drafter, RecapConfig
from recap.drafter import Base

from .test_drafter_rules import _built, logits

BACKENDS = [pytest.param("c", marks=pytest.mark.skipif(not _built(), reason="no C core built")), "python"]
CONFIG = RecapConfig(top_k=2, width=2, suffix=False)
TOKENS, IDS = [5, 6, 7], [[6, 9], [7, 9], [5, 9]]
PROBS = np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]], np.float32)


def observed(drafter: Drafter, token: int, row: dict[int, float]) -> None:
    """The target predicts `row` after `token`, which becomes the text's last one."""
    drafter.commit([token])
    drafter.draft(0, 0)
    drafter.observe([list(row)], [logits(*row.values())])


def u_row(drafter: Drafter, token: int) -> tuple[list[int], list[float]] | None:
    found = drafter.lookup([token])["U"]
    return found and (found[0].tolist(), [round(float(prob), 6) for prob in found[1]])


@pytest.mark.parametrize("backend", BACKENDS)
class TestBase:
    def make(self, backend: str, config: RecapConfig = CONFIG, count: int = 1) -> list[Drafter]:
        base = Base(TOKENS, IDS, PROBS, backend)
        made = [Drafter(config, backend, base) for _ in range(count)]
        for drafter in made:
            drafter.begin([1])
        return made

    def test_it_answers_where_u_has_nothing_of_its_own(self, backend):
        [drafter] = self.make(backend)
        assert u_row(drafter, 5) == ([6, 9], [0.75, 0.25]) and drafter.from_base([5])
        assert u_row(drafter, 8) is None and not drafter.from_base([8]) and not drafter.from_base([])
        drafter.commit([5])
        tree = drafter.draft(3, 0)
        assert tree.tokens.tolist() == [5, 6, 9, 7] and tree.weights[1:].tolist() == [[0.0, 0.0, 1.0]] * 3
        assert [drafter.explain().rows[node].tolist()[:2] for node in range(4)] == [[-1, -1]] * 4
        drafter.observe(np.tile([3, 4], (4, 1)), np.tile(logits(0.9, 0.1), (4, 1)))
        assert u_row(drafter, 5) == ([3, 4], [0.9, 0.1]) and not drafter.from_base([5])

    def test_a_drafter_with_it_drafts_as_one_whose_own_u_holds_its_rows(self, backend):
        [drafter], own = self.make(backend), Drafter(CONFIG, backend)
        own.begin([1])
        own.seed([5, 6], IDS[:2], np.stack([logits(*PROBS[0]), logits(*PROBS[1])]))
        for one in (drafter, own):
            one.commit([5])
        first, second = drafter.draft(2, 0), own.draft(2, 0)
        assert first.tokens.tolist() == second.tokens.tolist() and first.scores.tolist() == second.scores.tolist()

    def test_the_base_is_left_as_it_is_and_nobody_sees_anothers_rows(self, backend):
        first, second = self.make(backend, count=2)
        observed(first, 5, {41: 0.6, 42: 0.4})
        observed(first, 40, {43: 0.6, 44: 0.4})
        assert u_row(first, 5) == ([41, 42], [0.6, 0.4]) and u_row(second, 5) == ([6, 9], [0.75, 0.25])
        assert u_row(second, 40) is None and second.stats()["U"] == 0 and len(second.export()[0]) == 0
        assert u_row(Drafter(CONFIG, backend, first.base), 5) == ([6, 9], [0.75, 0.25])

    def test_forgetting_empties_the_own_rows_alone(self, backend):
        [drafter] = self.make(backend)
        observed(drafter, 5, {41: 0.6, 42: 0.4})
        drafter.begin([1])
        assert u_row(drafter, 5) == ([41, 42], [0.6, 0.4])
        drafter.reset()
        assert u_row(drafter, 5) == ([6, 9], [0.75, 0.25]) and drafter.stats()["U"] == 0
        [drafter] = self.make(backend, CONFIG.replace(persistent=False))
        observed(drafter, 5, {41: 0.6, 42: 0.4})
        drafter.begin([1])
        assert u_row(drafter, 5) == ([6, 9], [0.75, 0.25]) and drafter.from_base([5])

    def test_banned_ids_are_not_drafted_from_it(self, backend):
        [drafter] = self.make(backend)
        drafter.begin([1], banned=[6])
        drafter.commit([5])
        assert drafter.draft(5, 0).tokens.tolist() == [5, 9]

    def test_bytes_are_counted_once_and_not_for_each_drafter(self, backend):
        numbers = np.arange(20_000)
        base = Base(numbers, np.stack([numbers, numbers + 1], 1), np.tile([0.5, 0.5], (20_000, 1)), backend)
        assert base.rows == 20_000 and base.bytes > 20_000 * 5 * 4
        plain, with_base = Drafter(CONFIG, backend), Drafter(CONFIG, backend, base)
        assert plain.stats() == with_base.stats() and with_base.stats()["bytes"] < base.bytes / 10
        for one in (plain, with_base):
            one.begin([1])
            observed(one, 7, {1: 0.5, 2: 0.5})
        assert plain.stats() == with_base.stats()

    def test_it_lives_as_long_as_a_drafter_and_no_longer(self, backend):
        base = Base(TOKENS, IDS, PROBS, backend)
        handle, before = base.handle, sys.getrefcount(base.handle)
        made = [Drafter(CONFIG, backend, base) for _ in range(5)]
        assert sys.getrefcount(handle) == before + 5
        gone = weakref.ref(base)
        del base
        assert u_row(made[0], 5) is not None
        made.clear()
        gc.collect()
        assert gone() is None and sys.getrefcount(handle) == before - 1  # the Base's own

    def test_what_was_exported_comes_back(self, backend):
        drafter = Drafter(CONFIG, backend)
        drafter.begin([1])
        observed(drafter, 8, {3: 0.7, 2: 0.3})
        observed(drafter, 4, {8: 0.5, 1: 0.5})
        observed(drafter, 8, {4: 0.9, 2: 0.1})
        tokens, ids, probs = drafter.export()
        assert tokens.tolist() == [8, 4] and ids.tolist() == [[4, 2], [1, 8]] and probs.dtype == np.float32
        again = Drafter(CONFIG, backend, Base(tokens, ids, probs, backend))
        for token in (8, 4):
            for left, right in zip(drafter.lookup([token])["U"], again.lookup([token])["U"]):
                assert left.tolist() == right.tolist()
        assert again.fuse([8])[1].tolist() == drafter.fuse([0, 0, 8])[1].tolist()
        empty = Drafter(CONFIG, backend).export()
        assert [part.shape for part in empty] == [(0,), (0, 2), (0, 2)]
        assert u_row(Drafter(CONFIG, backend, Base(*empty, backend)), 8) is None

    @pytest.mark.parametrize(
        "tokens, ids, probs, error, words",
        [
            ([5, -1, 7], IDS, PROBS, ValueError, "token_ids must lie between"),
            ([5, 2**31, 7], IDS, PROBS, ValueError, "token_ids must lie between"),
            ([5, 6, 5], IDS, PROBS, ValueError, "token_ids must differ; row 2"),
            ([5.0, 6.0, 7.0], IDS, PROBS, TypeError, "token_ids"),
            (TOKENS, [[6, 9], [7, -1], [5, 9]], PROBS, ValueError, "ids must lie between .* row 1"),
            (TOKENS, [[6, 9], [7, 2**31], [5, 9]], PROBS, ValueError, "ids must lie between .* row 1"),
            (TOKENS, [[6, 9], [7, 7], [5, 9]], PROBS, ValueError, "ids must differ within a row; row 1"),
            (TOKENS, IDS[:2], PROBS, ValueError, r"ids must have shape \(n, K\) = \(3, K\)"),
            (TOKENS, [[], [], []], PROBS[:, :0], ValueError, "with K from 1 to 64"),
            (TOKENS, np.tile(np.arange(65), (3, 1)), np.full((3, 65), 1 / 65), ValueError, "with K from 1 to 64"),
            (TOKENS, [6, 7, 5], PROBS, ValueError, "ids must have shape"),
            (TOKENS, IDS, PROBS[:2], ValueError, "probs must have shape"),
            (TOKENS, IDS, PROBS[:, :1], ValueError, "probs must have shape"),
            (TOKENS, IDS, [[1, 0], [1, 0], [1, 0]], TypeError, "probs must hold floating-point"),
            (TOKENS, IDS, PROBS * [[1], [np.nan], [1]], ValueError, "probs must fall .* row 1"),
            (TOKENS, IDS, PROBS * [[1], [np.inf], [1]], ValueError, "probs must fall .* row 1"),
            (TOKENS, IDS, PROBS[:, ::-1], ValueError, "probs must fall .* row 0"),
            (TOKENS, IDS, PROBS * [[1], [1], [0.9]], ValueError, "probs must fall .* row 2"),
            (TOKENS, IDS, [[0.75, 0.25], [1.25, -0.25], [1.0, 0.0]], ValueError, "probs must fall .* row 1"),
        ],
    )
    def test_wrong_rows_are_refused(self, backend, tokens, ids, probs, error, words):
        with pytest.raises(error, match=words):
            Base(tokens, ids, probs, backend)

    def test_a_drafter_of_another_kind_is_refused(self, backend):
        base = Base(TOKENS, IDS, PROBS, backend)
        with pytest.raises(ValueError, match="the base has rows of 2 ids, and top_k is 8"):
            Drafter(RecapConfig(), backend, base)
        with pytest.raises(ValueError, match="the base was made for"):
            Drafter(CONFIG, "python" if backend == "c" else "c", base)
        assert Drafter(CONFIG, base=base).backend == backend

    def test_many_threads_read_one_base(self, backend):
        numbers = np.arange(5000)
        rows = np.stack([(numbers + 1) % 5000, (numbers + 7) % 5000], 1)
        base = Base(numbers, rows, np.tile([0.75, 0.25], (5000, 1)), backend)
        trees: list[list[int]] = []

        def decode() -> None:
            drafter = Drafter(CONFIG, backend, base)
            drafter.begin(numbers)
            drafter.commit([3])
            for _ in range(5):
                tree = drafter.draft(100, 0)
            drafter.observe(np.tile([1, 2], (101, 1)), np.tile(logits(0.5, 0.5), (101, 1)))
            trees.append(tree.tokens.tolist())

        threads = [threading.Thread(target=decode) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(trees) == 6 and all(tree == trees[0] for tree in trees) and len(trees[0]) == 101
