"""Text of a growing answer: at every length the same as decoding all of it at once."""

from __future__ import annotations

import numpy as np
import pytest

from recap.writing import HALF, Writing

SAID = "Größe 3 ✓ 漢字 🙂🙃 und naïve  spaces\n\n| a | b |"


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava_next", "llava"])
class TestEveryTokenizer:
    def grow(self, target, ids: list[int], most: int = 4) -> None:
        rng = np.random.default_rng(len(ids))
        writing, at = Writing(target.decode, target.settled), 0
        while at < len(ids):
            at = min(at + int(rng.integers(1, most + 1)), len(ids))
            assert writing.read(ids[:at]) == target.decode(target.settled(ids[:at])).rstrip(HALF)

    def test_real_text(self, target, family):
        one = target(family)
        self.grow(one, one.tokenizer(SAID * 3, add_special_tokens=False).input_ids)

    def test_any_tokens(self, target, family):
        one = target(family)
        rng = np.random.default_rng(7)
        for _ in range(20):
            self.grow(one, rng.integers(0, one.runtime.vocabulary, 80).tolist())


def test_the_work_does_not_grow_with_the_answer():
    asked: list[int] = []

    def decode(ids):
        asked.append(len(ids))
        return "".join(map(chr, ids))

    writing, ids = Writing(decode, list), []
    for token in range(97, 122):
        ids += [token, token]
        assert writing.read(ids) == "".join(map(chr, ids))
    assert max(asked) <= 4
