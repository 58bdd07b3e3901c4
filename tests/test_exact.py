"""The exact mode: how it is asked for, what the self-test finds, and that its word holds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

import recap
from recap.__main__ import main
from recap.targets import selftest
from recap.targets.exact import NAME, exact_attention, padded, read_mode

from . import tiny
from .tiny_reference import load_processor

QUESTION = "What is the woman carrying?"
PICTURE = tiny.picture(1)


def test_modes():
    assert [read_mode(mode) for mode in ("auto", "off", True, False)] == ["auto", False, True, False]
    for mode in ("on", 1, 0, None):
        with pytest.raises(ValueError, match="exact must be"):
            read_mode(mode)


def test_padding_adds_nodes_that_nobody_sees():
    mask = np.array([[1, 0], [1, 1]], dtype=bool)
    tokens, depths, wider = padded(np.array([5, 6]), np.array([0, 1]), mask, 4)
    assert tokens.tolist() == [5, 6, 6, 6] and depths.tolist() == [0, 1, 1, 1]
    assert wider[:2, :2].tolist() == mask.tolist() and wider.diagonal().all()
    assert not wider[:2, 2:].any() and wider.sum() == mask.sum() + 2


@pytest.mark.parametrize("mode", ["off", False])
def test_off_is_reported(tiny_folder, mode):
    loaded = recap.load_target(tiny_folder("llava"), device="cpu", dtype="bfloat16", exact=mode)
    assert not loaded.exact and loaded.runtime.rows == 1
    assert loaded.describe()["exactness"] == loaded.exactness and loaded.exactness.startswith("off")
    trace = recap.generate(loaded, QUESTION, max_new_tokens=3).trace
    assert (trace.exact, trace.exactness) == (False, loaded.exactness)
    assert recap.Trace.from_json(trace.to_json()) == trace


def test_the_command_line_asks_and_tells(tiny_folder, capsys):
    asked = ["info", "--load", "--model", str(tiny_folder("llava")), "--device", "cpu", "--dtype", "bfloat16"]
    assert main([*asked, "--exact", "off"]) == 0
    assert "off: passes of different sizes" in capsys.readouterr().out
    assert main(asked) == 0
    assert "off: passes" not in capsys.readouterr().out


def half(folder, change=lambda model: None, exact="auto"):
    """A tiny model in bfloat16, changed before it becomes a target."""
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.bfloat16)
    change(model)
    return recap.wrap(model, load_processor(folder), exact=exact)


def fickle(module, below):
    """Make a module's result depend on the number of rows when there are fewer than `below`."""
    forward = module.forward
    module.forward = lambda x: forward(x) * (1.125 if x.shape[-2] < below else 1.0)


def middle(model):
    return model.get_decoder().layers[1].mlp.down_proj


def test_the_least_padding_that_works_is_taken_and_its_word_holds(tiny_folder):
    folder = tiny_folder("llava")
    if not half(folder).exact:
        pytest.skip("this machine's kernels are not row-invariant, and the target says so")
    loaded = half(folder, lambda model: [fickle(middle(model), 4), fickle(model.get_output_embeddings(), 3)])
    assert loaded.exact and loaded.runtime.rows == 4 and "at least 4 rows" in loaded.exactness
    sessions = [recap.Session(loaded, method=method) for method in ("recap", "ar")]
    for text, pictures in ((QUESTION, [PICTURE]), ("Why?", [])):
        ours, theirs = (recap.generate(loaded, text, pictures, session=one, max_new_tokens=60) for one in sessions)
        assert ours.token_ids == theirs.token_ids
    assert ours.acceptance_length > 1.0


def _norm(model):
    fickle(model.get_decoder().layers[0].input_layernorm, 12)


@pytest.mark.parametrize(("change", "words"), [
    (lambda model: fickle(model.get_output_embeddings(), 12), ["the head"]),
    (lambda model: fickle(model.get_output_embeddings(), 200), ["the head"]),
    (_norm, ["neither a linear nor attention"]),
])  # fmt: skip
def test_what_cannot_be_had_is_named(tiny_folder, change, words):
    folder = tiny_folder("llava")
    if not half(folder).exact:
        pytest.skip("this machine's kernels are not row-invariant, and the target says so")
    loaded = half(folder, change)
    assert not loaded.exact and loaded.runtime.rows == 1
    assert all(word in loaded.exactness for word in ["cannot be had", *words])
    with pytest.raises(ValueError, match="exact=True cannot be had .*float32"):
        half(folder, change, exact=True)
    assert recap.generate(loaded, QUESTION, max_new_tokens=4).trace.exactness == loaded.exactness


def test_a_linear_is_named_with_its_shape(tiny_folder):
    """Only the first module of a shape is multiplied, so the first is changed."""
    loaded = half(tiny_folder("llava"), lambda model: fickle(model.get_decoder().layers[0].mlp.down_proj, 12))
    assert not loaded.exact and "mlp.down_proj (48 x 64)" in loaded.exactness


def test_attention_is_named(tiny_folder, monkeypatch):
    folder = tiny_folder("llava")
    if not half(folder).exact:
        pytest.skip("this machine's kernels are not row-invariant, and the target says so")

    def rounded(module, query, *rest, **settings):
        output, weights = exact_attention(module, query, *rest, **settings)
        return output * (1.125 if query.shape[2] < 12 else 1.0), weights

    monkeypatch.setattr(selftest, "exact_attention", rounded)
    ALL_ATTENTION_FUNCTIONS.register(NAME, rounded)
    try:
        assert "attention gives" in half(folder).exactness
    finally:
        ALL_ATTENTION_FUNCTIONS.register(NAME, exact_attention)


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava_next"])
def test_sampling_in_bfloat16_equals_ar_with_the_same_seed(tiny_folder, family):
    loaded = recap.load_target(tiny_folder(family), device="cpu", dtype="bfloat16")
    if not loaded.exact:
        pytest.skip("this machine's kernels are not row-invariant, and the target says so")
    accepted = []
    for seed in range(3):
        ours, theirs = (
            recap.generate(
                loaded, QUESTION, [PICTURE], method=method, temperature=0.3, seed=seed, max_new_tokens=40,
                config=recap.RecapConfig(budget="paper"),
            )
            for method in ("recap", "ar")
        )  # fmt: skip
        assert ours.token_ids == theirs.token_ids
        accepted.append(ours.acceptance_length)
    assert max(accepted) > 1.0, "no draft was accepted, so equality shows nothing"
