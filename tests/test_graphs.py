"""Passes in fixed shapes, uncaptured: what a CUDA graph would replay gives what eager passes give."""

from __future__ import annotations

import gc
from contextlib import contextmanager

import numpy as np
import pytest
import torch
import transformers

import recap
from recap.__main__ import main
from recap.targets.graphs import BUCKETS, StaticPasses, bucket

from . import tiny
from .tiny_reference import load_processor

QUESTION = "What is the woman carrying?"
PICTURE = tiny.picture(1)


@contextmanager
def static(target):
    """The target's passes in fixed shapes for a while."""
    target.runtime.static = StaticPasses(target.runtime, capture=False)
    try:
        yield target.runtime.static
    finally:
        target.runtime.static = None


def tree(rng: np.random.Generator, nodes: int, vocabulary: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens, depths and ancestor-or-self mask of a random tree."""
    depths, mask = np.zeros(nodes, dtype=np.int64), np.eye(nodes, dtype=bool)
    for node in range(1, nodes):
        parent = rng.integers(node)
        depths[node] = depths[parent] + 1
        mask[node] |= mask[parent]
    return rng.integers(0, vocabulary, nodes), depths, mask


def test_a_bucket_holds_the_nodes_and_is_one_of_few():
    assert [bucket(nodes) for nodes in (1, 2, 3, 9, 64, 65, 128, 129, 300)] == [1, 2, 4, 16, 64, 128, 128, 256, 384]
    assert {bucket(nodes) for nodes in range(1, 129)} == set(BUCKETS)


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_answers_are_those_of_eager_passes(target, family):
    loaded = target(family)
    request = dict(images=[PICTURE], max_new_tokens=60)
    for method in ("recap", "ar"):
        eager = recap.generate(loaded, QUESTION, method=method, **request)
        with static(loaded):
            fixed = recap.generate(loaded, QUESTION, method=method, **request)
        assert fixed.token_ids == eager.token_ids


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_logits_and_cache_are_those_of_eager_passes(target, family):
    """Over passes of every bucket, with some entries kept, and a cache that grows in between."""
    runtime = target(family).runtime
    rng = np.random.default_rng(3)
    prefix = rng.integers(0, runtime.vocabulary, 380)
    eager, fixed = runtime.new_cache(), runtime.new_cache()
    for cache in (eager, fixed):
        runtime.prefill(prefix, cache)
    before = fixed.capacity
    for nodes in (1, 3, 8, 13, 40, 70, 2, 1, 90, 5):
        tokens, depths, mask = tree(rng, nodes, runtime.vocabulary)
        expected = runtime.verify(tokens, depths, mask, eager, rope_delta=-7).logits
        with static(target(family)):
            found = runtime.verify(tokens, depths, mask, fixed, rope_delta=-7).logits
        assert found.shape == expected.shape
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        path = np.nonzero(mask[rng.integers(nodes)])[0].tolist()
        for cache in (eager, fixed):
            cache.keep(path)
    assert fixed.capacity > before and fixed.length == eager.length
    torch.testing.assert_close(fixed.keys[..., : fixed.length, :], eager.keys[..., : eager.length, :], rtol=1e-4, atol=1e-4)


def test_shapes_are_kept_and_go_with_the_buffers(target):
    loaded = target("llava")
    cache = loaded.runtime.new_cache()
    loaded.runtime.prefill(np.arange(20), cache)
    one = np.array([1]), np.array([0]), np.ones((1, 1), dtype=bool)
    with static(loaded) as passes:
        loaded.runtime.verify(*one, cache)
        known = dict(passes._shapes[cache])
        loaded.runtime.verify(*one, cache)
        assert dict(passes._shapes[cache]) == known and len(known) == 1
        cache.reserve(2 * cache.capacity)
        loaded.runtime.verify(*one, cache)
        assert len(passes._shapes[cache]) == 1 and not set(passes._shapes[cache]) & set(known)
        del cache
        gc.collect()  # a cache and its layers know each other
        assert not len(passes._shapes)


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava_next"])
def test_half_precision_stays_exact(tiny_folder, family):
    folder = tiny_folder(family)
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.bfloat16)
    loaded = recap.wrap(model, load_processor(folder), name=family)
    if not loaded.exact:
        pytest.skip(loaded.exactness)
    config = recap.RecapConfig(budget="paper")
    with static(loaded):
        assert loaded.runtime.check_exact()
        plain, drafted = (
            recap.generate(loaded, QUESTION, [PICTURE], method=method, config=config, max_new_tokens=60)
            for method in ("ar", "recap")
        )
    assert drafted.token_ids == plain.token_ids and drafted.acceptance_length > 1


def test_a_capture_that_fails_is_told_and_harms_nothing(target, monkeypatch):
    loaded = target("llava")
    expected = recap.generate(loaded, QUESTION, max_new_tokens=12).token_ids
    with static(loaded) as passes:
        passes.capture = True

        def refuse(*_):
            raise RuntimeError("operation not permitted when stream is capturing\nmore")

        monkeypatch.setattr(passes, "_record", refuse)
        assert recap.generate(loaded, QUESTION, max_new_tokens=12).token_ids == expected
        assert loaded.describe()["passes"].endswith("not permitted when stream is capturing)")


def test_without_cuda_graphs_are_refused_in_a_sentence(tiny_folder, capsys):
    folder = str(tiny_folder("llava"))
    with pytest.raises(ValueError, match="need a CUDA device"):
        recap.load_target(folder, device="cpu", graphs=True)
    assert main(["generate", "--model", folder, "--device", "cpu", "--graphs", "--prompt", "Hi"]) == 2
    assert "need a CUDA device" in capsys.readouterr().err
