"""Losslessness at the edges: half precision, other attention functions, threads, streamed text, recorded traces."""

from __future__ import annotations

import threading

import pytest
import torch
import transformers

import recap

from . import tiny
from .tiny_reference import Reference, chat, load_processor

QUESTION = "What is the woman carrying?"
PICTURES = [tiny.picture(1), tiny.picture(2, 60, 120)]
FIXED = recap.RecapConfig(budget="paper")
"""Trees of the same size in every pass, whatever this machine's clock says."""

every_family = pytest.mark.parametrize("family", tiny.FAMILIES)


@every_family
def test_bfloat16_is_exact_where_the_target_says_so(tiny_folder, target, family):
    """`exact` is a promise about AR on the same runtime: tokens of every turn, and logits bit for bit."""
    loaded = recap.load_target(tiny_folder(family), device="cpu", dtype="bfloat16")
    assert loaded.dtype == "bfloat16"
    if not loaded.exact:
        pytest.skip("this machine's kernels are not row-invariant, and the target says so")
    sessions = [recap.Session(loaded, method=method, config=FIXED) for method in ("recap", "ar")]
    for text, pictures in ((QUESTION, PICTURES), ("Why?", []), ("And this?", PICTURES[:1])):
        ours, theirs = (
            recap.generate(loaded, text, pictures, session=session, max_new_tokens=60) for session in sessions
        )
        assert ours.token_ids == theirs.token_ids
    assert ours.acceptance_length > 1.0
    length = sessions[0].cache.length
    assert length == sessions[1].cache.length
    for name in ("keys", "values"):
        mine, theirs = (getattr(session.cache, name)[..., :length, :] for session in sessions)
        assert torch.equal(mine, theirs)


def test_exact_asked_for_in_float32(tiny_folder, reference):
    """Either it is lossless, or the sentence says something else than to use what was asked for."""
    side = reference("qwen2_5_vl")
    try:
        loaded = recap.load_target(tiny_folder("qwen2_5_vl"), device="cpu", dtype="float32", exact=True)
    except ValueError as error:
        assert 'use dtype="float32"' not in str(error)
        return
    expected = side.answer(side.inputs(chat(QUESTION, PICTURES)), 60)
    assert recap.generate(loaded, QUESTION, PICTURES, max_new_tokens=60).token_ids == expected


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava_next"])
def test_a_model_with_eager_attention(tiny_folder, family):
    folder = tiny_folder(family)
    model = transformers.AutoModelForImageTextToText.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager"
    )
    side = Reference(folder)
    side.model = model.eval()
    inputs = side.inputs(chat(QUESTION, PICTURES))
    expected = side.answer(inputs, 60)
    answer = recap.generate(recap.wrap(model, load_processor(folder)), QUESTION, PICTURES, max_new_tokens=60,
                            config=FIXED)  # fmt: skip
    assert answer.token_ids == expected and answer.acceptance_length > 1.0
    out = model.generate(
        **inputs, do_sample=False, max_new_tokens=60, repetition_penalty=1.0, custom_generate=recap.custom_generate
    )
    assert out[0, inputs["input_ids"].shape[1] :].tolist() == expected
    assert model.config.get_text_config()._attn_implementation == "eager"


def test_threads_share_one_target(target):
    """Conversations in several threads at once: each answer is the one it would be alone."""
    loaded = target("qwen2_5_vl")
    asked = [(f"{word}?", PICTURES[: number % 3]) for number, word in enumerate(["Who", "Why", "When", "Where"])]
    alone = [recap.generate(loaded, text, pictures, max_new_tokens=40).token_ids for text, pictures in asked]
    together: list = [None] * len(asked)

    def answer(number: int) -> None:
        together[number] = recap.generate(loaded, *asked[number], max_new_tokens=40).token_ids

    threads = [threading.Thread(target=answer, args=(number,)) for number in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


@every_family
def test_streamed_text_only_grows(target, family):
    """What a person has read never changes, though a character's bytes may come in several tokens."""
    stream = recap.stream(target(family), QUESTION, PICTURES, max_new_tokens=80)
    texts = []
    for _ in stream:
        texts.append(stream.trace.text)
    assert len(texts) > 5
    for before, after in zip(texts, texts[1:]):
        assert after.startswith(before)
    assert stream.trace.text == target(family).tokenizer.decode(stream.trace.token_ids, skip_special_tokens=True)


@every_family
def test_a_recorded_trace_survives_json(target, family):
    trace = recap.generate(target(family), QUESTION, PICTURES, max_new_tokens=40).trace
    assert recap.Trace.from_json(trace.to_json()) == trace
    assert trace.prompt_tokens > 0 and trace.cached_tokens == 0 and len(trace.pictures) == 2
    for step in trace.steps:
        for node in range(len(step)):
            assert step.table.rows[step.target[node]].ids[0] == step.choices[node]
            if step.origins[node] == "memory":
                assert sum(step.shares[node]) == pytest.approx(1.0, abs=1e-5)
                fused = step.table.rows[step.fused[step.parents[node]]]
                assert step.tokens[node] in fused.ids
    assert trace.prefill_seconds > 0 and trace.decode_seconds > 0 and trace.encode_seconds > 0


def test_a_long_prompt_is_seeded_in_chunks(target, reference):
    """More distinct tokens than one chunk of rows holds."""
    loaded, side = target("llava"), reference("llava")
    pieces = [loaded.tokenizer.decode([token]) for token in range(500)]
    words = [piece for piece in pieces if piece[:1] == " "]
    signs = [piece for piece in pieces if piece.isprintable() and piece[:1] not in ("", " ", "\ufffd")]
    text = "".join(words) + "\n" + "\n".join(signs)
    answer = recap.generate(loaded, text, PICTURES[:1], max_new_tokens=40, config=FIXED)
    distinct = set(answer.prompt_ids.tolist()) - set(loaded.banned)
    assert len(distinct) > 256
    assert answer.trace.steps[0].sizes["U"] >= len(distinct)
    assert answer.token_ids == side.answer(side.inputs_of_ids(answer.prompt_ids, PICTURES[:1]), 40)


@every_family
def test_first_rows_come_from_the_prompt(target, family):
    """Seeding: before any pass, U already knows what followed in the target's eyes after the prompt's tokens."""
    answer = recap.generate(target(family), QUESTION, PICTURES, max_new_tokens=2, config=FIXED)
    ids = set(answer.prompt_ids.tolist()) - set(target(family).banned)
    first = answer.trace.steps[0].sizes
    assert len(ids) <= first["U"] <= len(ids) + 1 + len(answer.trace.steps[0])
