"""The suffix path from earlier answers: what it finds, when a draft takes it, what is forgotten; both backends alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap import Drafter, RecapConfig
from recap.drafter import earlier
from recap.drafter.earlier import Earlier

BACKENDS = ["python", pytest.param("c", marks=pytest.mark.skipif(Drafter().backend != "c", reason="no C core built"))]


def longest(text: list[int], answers: list[list[int]], banned: set[int]) -> int:
    """Of the suffixes of a text that occur in an answer, by trying all."""
    best = 0
    for length in range(1, len(text) + 1):
        end = text[-length:]
        if banned & set(end):
            break
        if any(answer[at : at + length] == end for answer in answers for at in range(len(answer) - length + 1)):
            best = length
    return best


TOKENS = st.lists(st.integers(0, 3), min_size=1, max_size=12)


@given(st.lists(TOKENS, max_size=4), TOKENS, TOKENS, st.sets(st.integers(0, 3), max_size=1))
def test_the_path_is_what_followed_the_longest_match(answers, prompt, said, banned):
    it = Earlier()
    for answer in answers:
        it.begin([9], [])
        it.commit(answer)
    it.begin(prompt, sorted(banned))
    it.commit(said)
    path, match = it.path()
    known = [[*answer] for answer in answers]
    assert match in (0, longest([*prompt, *said], known, banned))
    if match:
        end = [*prompt, *said][-match:]
        follows = [
            answer[at + match : at + match + 10] for answer in known for at in range(len(answer) - match + 1)
            if answer[at : at + match] == end
        ]  # fmt: skip
        assert path == follows[0][: len(path)] and 0 < len(path) == len(follows[0])


def request(drafter: Drafter, prompt: list[int], answer: list[int]) -> None:
    drafter.begin(prompt)
    drafter.commit(answer)


@pytest.mark.parametrize("backend", BACKENDS)
class TestDrafts:
    def test_the_longer_match_wins_and_only_when_asked(self, backend):
        drafter = Drafter(backend=backend)
        request(drafter, [50], [1, 2, 3, 4, 5, 6])
        request(drafter, [2, 3, 9], [7, 1, 2, 3])
        plain, more = drafter.draft(0, 4), drafter.draft(0, 4, earlier=True)
        assert plain.tokens.tolist() == [3, 9, 7, 1, 2] and plain.suffix_match == 2
        assert more.tokens.tolist() == [3, 4, 5, 6] and more.suffix_match == 3
        assert drafter.draft(0, 4).tokens.tolist() == plain.tokens.tolist()
        drafter.commit([9, 7, 1, 2, 3])  # now its own text agrees with more
        assert drafter.draft(0, 4, earlier=True).tokens.tolist()[:2] == [3, 9]

    def test_banned_ids_end_it_and_what_is_off_has_none(self, backend):
        drafter = Drafter(backend=backend)
        request(drafter, [50], [1, 2, 3, 4])
        drafter.begin([8], banned=[3])
        drafter.commit([1, 2])
        assert len(drafter.draft(0, 4, earlier=True)) == 1
        for config in (RecapConfig(persistent=False), RecapConfig(suffix=False)):
            off = Drafter(config, backend)
            assert not off.remembers
            request(off, [50], [1, 2, 3, 4])
            request(off, [8], [1, 2])
            assert len(off.draft(0, 4, earlier=True)) == 1

    def test_reset_forgets_and_bytes_count(self, backend):
        drafter = Drafter(backend=backend)
        before = drafter.stats()["bytes"]
        request(drafter, [50], [*range(1, 200)])
        request(drafter, [8], [1, 2])
        assert drafter.stats()["bytes"] > before + 199 * 50
        assert len(drafter.draft(0, 4, earlier=True)) == 5
        drafter.reset()
        request(drafter, [8], [1, 2])
        assert len(drafter.draft(0, 4, earlier=True)) == 1


def test_the_older_half_is_forgotten(monkeypatch):
    monkeypatch.setattr(earlier, "KEPT", 40)
    it = Earlier()
    for number in range(12):
        it.begin([900], [])
        it.commit(list(range(10 * number, 10 * number + 9)))
        assert len(it._text) <= 60
    it.begin([0, 1], [])
    assert it.path() == ([], 0)
    it.begin([100, 101], [])
    assert it.path() == (list(range(102, 109)), 2)
    it.begin([7], [])
    it.commit(np.arange(500, 700).tolist())
    it.begin([690], [])
    assert it.path() == (list(range(691, 700)), 1) and len(it._text) <= 240
