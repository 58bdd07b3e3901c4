"""The built-in model in the compiled passes: the same bits in every pass, and transformers' answers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import recap
from recap.targets.builtin import store
from recap.targets.builtin.language_model import load_language_model
from recap.targets.cpu import available

from . import llamas

FOLDER = store.cache_folder() / "smollm2-135m-instruct-1"
pytestmark = [
    pytest.mark.skipif(not available(), reason="the C extension of the passes is not built"),
    pytest.mark.skipif(
        store.fault(FOLDER) is not None,
        reason="the built-in model is not set up: python -m recap.targets.builtin.assets",
    ),
]
PROMPTS = [
    "Write the numbers from one to twelve in words, separated by commas.",
    "Repeat this sentence three times: the cat sat on the mat.",
    "Explain in two sentences why the sky is blue.",
    "List five fruits and their colours.",
]


@pytest.fixture(scope="module")
def loaded():
    targets = {}

    def load(dtype: str, threads: int = 2):
        if (dtype, threads) not in targets:
            before = torch.get_num_threads()
            targets[dtype, threads] = recap.load_target("builtin", device="cpu", dtype=dtype, threads=threads)
            torch.set_num_threads(before)
        return targets[dtype, threads]

    return load


def ids_of(target, text: str) -> np.ndarray:
    return target.prompt(text).ids


def test_it_says_what_it_runs_on(loaded):
    described = loaded("auto").describe()
    assert described["passes"].startswith("compiled (") and "2 threads" in described["passes"]
    assert (described["dtype"], described["exact"], described["device"]) == ("float32", True, "cpu")
    assert loaded("bfloat16").describe()["dtype"] == "bfloat16" and loaded("bfloat16").exact


def test_logits_are_transformers(loaded):
    target = loaded("auto")
    model, _ = load_language_model(torch.float32)  # with the same reader merged
    for text in PROMPTS[:2]:
        ids = ids_of(target, text)
        with torch.inference_mode():
            expected = model(torch.from_numpy(ids)[None]).logits[0].numpy()
        hidden = target.runtime.prefill(ids, target.new_cache())
        logits = target.predict(hidden).logits.numpy()
        np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)
        assert (logits.argmax(1) == expected.argmax(1)).all()
        assert target.predict(hidden).choices().tolist() == expected.argmax(1).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_node_has_the_bits_of_plain_decoding(loaded, threads):
    target = loaded("auto", threads)
    random = np.random.default_rng(threads)
    prompt = ids_of(target, PROMPTS[2])
    cache = target.new_cache()
    target.runtime.prefill(prompt, cache)
    for n in (2, 3, 5, 8, 17, 33, 64):
        tokens, _, depths, mask = llamas.random_tree(random, n, 49152)
        together = target.verify(tokens, depths, mask, cache, 0)
        ids, values = together.top(8)
        for node in {1, n // 2, n - 1}:
            for step in np.flatnonzero(mask[node]):
                alone = target.verify(tokens[[step]], depths[:1], mask[:1, :1], cache, 0)
                cache.keep([0])
            assert torch.equal(alone.row(0), together.row(node))
            best = alone.top(8)
            assert best[0][0].tolist() == ids[node].tolist() and best[1][0].tolist() == values[node].tolist()
            cache.truncate(len(prompt))


def test_threads_and_parts_change_nothing(loaded):
    one, two = loaded("auto", 1), loaded("auto", 2)
    ids = np.random.default_rng(9).integers(3, 49152, 230)
    whole = one.runtime.prefill(ids, one.new_cache())
    cache = two.new_cache()
    parts = [two.runtime.prefill(ids[begin:end], cache) for begin, end in ((0, 1), (1, 100), (100, 230))]
    assert torch.equal(torch.cat(parts), whole)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_drafting_changes_no_token(loaded, dtype):
    target = loaded(dtype)
    session = recap.Session(target)
    accepted = []
    for text in PROMPTS:
        session.reset()
        ours = recap.generate(target, text, session=session, max_new_tokens=40)
        plain = recap.generate(target, text, method="ar", max_new_tokens=40)
        assert ours.token_ids == plain.token_ids
        accepted.append(ours.acceptance_length)
    assert max(accepted) > 1.5


def test_drafting_changes_no_drawn_token(loaded):
    target = loaded("auto")
    answers = [
        recap.generate(target, PROMPTS[1], method=method, max_new_tokens=24, temperature=0.7, seed=11)
        for method in ("recap", "ar")
    ]
    assert answers[0].token_ids == answers[1].token_ids


def test_torch_can_be_asked_for(monkeypatch):
    monkeypatch.setenv("RECAP_PASSES", "torch")
    target = recap.load_target("builtin", device="cpu", dtype="float32")
    assert target.describe()["passes"].startswith("torch")
    compiled = recap.load_target("builtin", device="cpu", dtype="float32", passes="compiled")
    ours, theirs = (recap.generate(one, PROMPTS[0], method="ar", max_new_tokens=12) for one in (compiled, target))
    assert ours.token_ids == theirs.token_ids
    for wrong in (dict(passes="fast"), dict(passes="compiled", dtype="float16")):
        with pytest.raises(ValueError, match="passes"):
            recap.load_target("builtin", device="cpu", **wrong)
