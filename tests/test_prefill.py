"""Long prompts are evaluated part by part, and can be left off between two parts."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import recap
from recap.choosing import Sampler
from recap.targets.predictions import Predictions

from .tiny_reference import chat

FAMILIES = ("qwen2_5_vl", "llava_next", "smolvlm")


def pictures() -> list[Image.Image]:
    random = np.random.default_rng(5)
    return [Image.fromarray(random.integers(0, 256, (24, 30, 3), dtype=np.uint8)) for _ in range(2)]


@pytest.mark.parametrize("family", FAMILIES)
def test_parts_of_a_prompt_give_the_answer_of_the_whole(family, target, reference, monkeypatch):
    monkeypatch.setattr("recap.targets.base._PREFILL_TOKENS", 7)
    shown = pictures()
    question = "The quick brown fox jumps over the lazy dog, and the dog sleeps on. What do you see?"
    expected = reference(family).answer(reference(family).inputs(chat(question, shown)), 20)
    for method in recap.METHODS:
        answer = recap.generate(target(family), question, shown, method=method, max_new_tokens=20)
        assert answer.token_ids == expected


def test_a_long_prompt_can_be_left_off_and_the_session_goes_on(target, monkeypatch):
    monkeypatch.setattr("recap.targets.base._PREFILL_TOKENS", 5)
    session = recap.Session(target("llava"))
    asked = []
    with recap.stream(target("llava"), "word " * 30, session=session) as answer:
        answer.prefill(lambda: len(asked) < 2 and not asked.append(1))
        assert list(answer) == [] and answer.trace.finish_reason == "cancelled" and not answer.trace.token_ids
    after = recap.generate(target("llava"), "Hello", session=session, max_new_tokens=12)
    fresh = recap.generate(target("llava"), "Hello", max_new_tokens=12)
    assert after.token_ids == fresh.token_ids


def test_a_drafter_full_of_another_models_tokens_is_refused(target):
    drafter = recap.Drafter()
    small, large = sorted((target("llava"), target("qwen2_5_vl")), key=lambda one: one.runtime.vocabulary)
    last = large.runtime.vocabulary - 1
    assert last >= small.runtime.vocabulary
    drafter.begin([1])
    known = np.arange(small.runtime.vocabulary)
    rows = np.tile(np.arange(last - 7, last + 1), (len(known), 1))
    drafter.seed(known, rows, np.zeros(rows.shape, np.float32))
    drafter.commit([1])
    with pytest.raises(ValueError, match="another model's tokens"):
        # seeding replaces the rows of the prompt's tokens, so the foreign ones show up after some steps
        recap.generate(small, "Hello", max_new_tokens=60, drafter=drafter)


@pytest.mark.parametrize("wrong", [{"drafter": 5}, {"target": "builtin"}])
def test_wrong_kinds_are_named(wrong, target):
    with pytest.raises(TypeError, match="drafter must be|target must come"):
        recap.generate(**{"target": target("llava"), "prompt": "Hello", **wrong})


@pytest.mark.parametrize("temperature", [1e-9, 1e-300, 5e-324])
def test_a_tiny_temperature_is_argmax(temperature):
    import torch

    predictions = Predictions(torch.tensor([[0.0, 3.0, float("-inf"), 2.999, -50.0, 1.0, 1.0, 1.0]]))
    sampler = Sampler(temperature, seed=3)
    sampler.read(predictions, None)
    assert [sampler.at(0) for _ in range(5)] == [1] * 5


def test_a_prefill_that_fails_frees_the_session(target, monkeypatch):
    one = target("llava")
    session = recap.Session(one)
    answer = recap.stream(one, "Hello", session=session)
    with monkeypatch.context() as broken, pytest.raises(RuntimeError, match="out of memory"):
        broken.setattr(one.runtime, "prefill", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("out of memory")))
        answer.prefill()
    again = recap.generate(one, "Hello", session=session, max_new_tokens=8)
    assert again.token_ids == recap.generate(one, "Hello", max_new_tokens=8).token_ids
    assert answer.trace.finish_reason == "cancelled"
