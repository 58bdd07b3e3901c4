"""`model.generate(custom_generate=recap.custom_generate)` gives what `model.generate` gives with the same arguments."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import pytest
import torch
import transformers
from transformers import LogitsProcessor, StoppingCriteria, StopStringCriteria

import recap

from . import tiny
from .tiny_reference import Reference, chat

QUESTION = "What is the woman carrying?"
LENGTH = 60
every_family = pytest.mark.parametrize("family", tiny.FAMILIES)


def inputs_of(side: Reference, count: int = 1) -> dict[str, torch.Tensor]:
    return side.inputs(chat(QUESTION, [tiny.picture(seed + 1, 90 - 20 * seed) for seed in range(count)]))


def both(
    side: Reference, inputs: dict[str, Any], custom: Any = recap.custom_generate, **settings: Any
) -> tuple[Any, Any]:
    """transformers' own output and ours. Processors and criteria are given as a function, and made anew for each."""
    made = ("logits_processor", "stopping_criteria")
    plain, ours = (
        {name: value() if name in made else value for name, value in settings.items()} for _ in range(2)
    )
    return side.model.generate(**inputs, **plain), side.model.generate(**inputs, custom_generate=custom, **ours)


class passes:
    """Counts the decoder's forward passes: fewer than tokens means that drafts were accepted."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model, self.count = model, 0

    def __enter__(self) -> passes:
        def add(*_: Any) -> None:
            self.count += 1

        self._hook = self.model.get_decoder().register_forward_hook(add)
        return self

    def __exit__(self, *_: object) -> None:
        self._hook.remove()


class EvenAfterOdd(LogitsProcessor):
    """Depends on the path: after an odd id only even ones, and ids used already lose a little."""

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        scores = scores.clone()
        if int(input_ids[0, -1]) % 2:
            scores[:, 1::2] = -float("inf")
        return scores - 0.05 * torch.bincount(input_ids[0], minlength=scores.shape[1]).clamp(max=3)


class Counting(LogitsProcessor):
    """Has a state: its k-th call favours another part of the vocabulary. Any extra call would shift all that follow."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        self.calls += 1
        return scores + 2.0 * ((torch.arange(scores.shape[1]) + self.calls // 9) % 2 == 0)


class SumOfIds(StoppingCriteria):
    """Stops when the new ids add up to a multiple of eleven, after the twentieth."""

    def __init__(self, prompt_length: int) -> None:
        self.prompt_length = prompt_length

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        new = input_ids[:, self.prompt_length :]
        assert new.shape[0] == 1 and new.shape[1] > 0
        return torch.tensor([new.shape[1] > 20 and int(new.sum()) % 11 == 0])


SETTINGS: dict[str, dict[str, Any]] = {
    "shipped": {},
    "plain": {"repetition_penalty": 1.0},
    "repetition penalty": {"repetition_penalty": 1.3},
    "no repeated pairs": {"no_repeat_ngram_size": 2},
    "no repeated triples": {"no_repeat_ngram_size": 3, "repetition_penalty": 1.0},
    "min new tokens": {"min_new_tokens": 30, "eos_token_id": list(range(0, 300))},
    "exponential decay": {"exponential_decay_length_penalty": (5, 1.3)},
    "bad words": {"bad_words_ids": [[40], [41, 42], [100]], "suppress_tokens": list(range(300, 330))},
    "forced ends": {"forced_eos_token_id": 7, "begin_suppress_tokens": [5]},
    "own processor": {"logits_processor": lambda: transformers.LogitsProcessorList([EvenAfterOdd()])},
    "processor with a state": {"logits_processor": lambda: transformers.LogitsProcessorList([Counting()])},
    "max length": {"max_length": 150, "max_new_tokens": None},
    "one token": {"max_new_tokens": 1},
    "two tokens": {"max_new_tokens": 2},
    "time is up": {"max_time": 0.0},
    "time enough": {"max_time": 600.0},
}


@every_family
@pytest.mark.parametrize("name", SETTINGS)
def test_equals_generate(reference, family, name):
    side = reference(family)
    settings = {"do_sample": False, "max_new_tokens": LENGTH, **SETTINGS[name]}
    plain, ours = both(side, inputs_of(side), **settings)
    assert ours.dtype == torch.int64
    assert ours.tolist() == plain.tolist()


@every_family
@pytest.mark.parametrize("count", [0, 2])
def test_without_and_with_several_pictures(reference, family, count):
    side = reference(family)
    plain, ours = both(side, inputs_of(side, count), do_sample=False, max_new_tokens=LENGTH, repetition_penalty=1.1)
    assert ours.tolist() == plain.tolist()


@every_family
def test_drafts_are_accepted(reference, family):
    """Plain and under a repetition penalty: fewer passes than tokens."""
    side = reference(family)
    inputs = inputs_of(side)
    recap_config = recap.RecapConfig(budget="paper")
    for penalty, least in ((1.0, 1.2), (1.02, 1.02)):
        with passes(side.model) as counted:
            out = side.model.generate(
                **inputs, do_sample=False, max_new_tokens=120, repetition_penalty=penalty,
                custom_generate=functools.partial(recap.custom_generate, config=recap_config),
            )
        tokens = out.shape[1] - inputs["input_ids"].shape[1]
        assert (tokens - 1) / (counted.count - 1) > least


def test_end_token_list(reference):
    """Every token of a plain answer in turn as one of the end tokens."""
    side = reference("qwen2_5_vl")
    inputs = inputs_of(side)
    answer = side.answer(inputs, 40)
    for end in dict.fromkeys(answer):
        plain, ours = both(
            side, inputs, do_sample=False, max_new_tokens=40, repetition_penalty=1.0, eos_token_id=[519, end]
        )
        assert ours.tolist() == plain.tolist() and int(ours[0, -1]) == end


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_own_stopping_criteria(reference, family):
    side = reference(family)
    inputs = inputs_of(side)
    start = inputs["input_ids"].shape[1]
    plain, ours = both(
        side, inputs, do_sample=False, max_new_tokens=200, repetition_penalty=1.05,
        stopping_criteria=lambda: transformers.StoppingCriteriaList([SumOfIds(start)]),
    )
    assert ours.tolist() == plain.tolist()
    assert 20 < ours.shape[1] - start < 200


def test_stop_strings(reference):
    """A string that the answer holds, across tokens."""
    side = reference("llava")
    inputs = inputs_of(side)
    tokenizer = side.processor.tokenizer
    ids = side.answer(inputs, 40)
    text = tokenizer.decode(ids)
    stop = text[len(text) // 2 : len(text) // 2 + 3]
    assert stop.strip("\ufffd")
    plain, ours = both(
        side, inputs, do_sample=False, max_new_tokens=40,
        stopping_criteria=lambda: transformers.StoppingCriteriaList([StopStringCriteria(tokenizer, [stop])]),
    )
    assert ours.tolist() == plain.tolist()


@every_family
def test_output_object(reference, family):
    side = reference(family)
    plain, ours = both(
        side, inputs_of(side), do_sample=False, max_new_tokens=30, repetition_penalty=1.2, return_dict_in_generate=True,
        output_scores=True, output_logits=True,
    )
    assert type(ours) is type(plain)
    assert ours.sequences.tolist() == plain.sequences.tolist()
    for name in ("scores", "logits"):
        mine, theirs = getattr(ours, name), getattr(plain, name)
        assert len(mine) == len(theirs)
        torch.testing.assert_close(torch.cat(mine), torch.cat(theirs), rtol=0, atol=1e-4)
    assert ours.cache.get_seq_length() == plain.cache.get_seq_length()


def test_sampling_draws_what_generate_draws(reference):
    """One number per token from torch's generator, as plain sampling takes it; warpers included."""
    side = reference("llava")
    inputs = inputs_of(side)
    answers = set()
    for seed in range(6):
        for warp in ({"temperature": 0.6}, {"top_k": 5}, {"top_p": 0.8, "temperature": 1.5}):
            outputs = []
            for custom in (None, recap.custom_generate):
                torch.manual_seed(seed)
                out = side.model.generate(
                    **inputs, do_sample=True, max_new_tokens=30, custom_generate=custom, **warp
                )
                outputs.append(out.tolist())
            assert outputs[0] == outputs[1]
            answers.add(tuple(outputs[0][0]))
    assert len(answers) > 12


def test_drafter_and_config_are_steered_with_partial(reference):
    """A drafter keeps its memories from call to call; without one, calls share nothing."""
    side = reference("llava")
    inputs = inputs_of(side)
    counts = []
    config = recap.RecapConfig(budget="paper")  # what is counted must not depend on how fast this machine is
    warm = functools.partial(recap.custom_generate, drafter=recap.Drafter(config))
    fresh = functools.partial(recap.custom_generate, config=config)
    narrow = functools.partial(recap.custom_generate, config=config.replace(max_nodes=1, suffix_tokens=0))
    for custom in (warm, warm, fresh, fresh, narrow):
        with passes(side.model) as counted:
            plain, ours = both(side, inputs, custom, do_sample=False, max_new_tokens=LENGTH)
        assert ours.tolist() == plain.tolist()
        counts.append(counted.count - LENGTH)
    assert counts[1] < counts[0], "the second call drafts from what the first one left"
    assert counts[2] == counts[3], "no hidden memory is shared between calls"
    assert counts[4] > counts[3], "one node drafts less than 63"


def test_passed_by_keyword_to_generate(reference):
    """generate hands a callable's own keywords through."""
    side = reference("llava")
    inputs = inputs_of(side)
    drafter = recap.Drafter(recap.RecapConfig())
    ours = side.model.generate(
        **inputs, do_sample=False, max_new_tokens=20, custom_generate=recap.custom_generate, drafter=drafter
    )
    assert ours.tolist() == side.model.generate(**inputs, do_sample=False, max_new_tokens=20).tolist()
    assert drafter.stats()["U"] > 0


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "beams": ({"num_beams": 2}, "beam"),
    "sampled beams": ({"num_beams": 2, "do_sample": True}, "beam"),
    "several answers": ({"num_return_sequences": 2, "do_sample": True}, "sequence|batch"),
    "attentions": ({"output_attentions": True, "return_dict_in_generate": True}, "output_attentions"),
    "hidden states": ({"output_hidden_states": True, "return_dict_in_generate": True}, "output_hidden_states"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(reference, name):
    side = reference("llava")
    changes, word = REFUSED[name]
    settings = {"do_sample": False, "max_new_tokens": 5, **changes}
    with pytest.raises(ValueError, match=f"(?i){word}"):
        side.model.generate(**inputs_of(side), custom_generate=recap.custom_generate, **settings)


def test_batches_and_padding_are_refused(reference):
    side = reference("llava")
    inputs = side.inputs(chat(QUESTION))
    two = {name: value.repeat(2, 1) for name, value in inputs.items()}
    with pytest.raises(ValueError, match="batch"):
        side.model.generate(**two, do_sample=False, max_new_tokens=5, custom_generate=recap.custom_generate)
    inputs["attention_mask"] = inputs["attention_mask"].clone()
    inputs["attention_mask"][0, 0] = 0
    with pytest.raises(ValueError, match="attention_mask|padding"):
        side.model.generate(**inputs, do_sample=False, max_new_tokens=5, custom_generate=recap.custom_generate)


def test_a_filled_cache_is_refused(reference):
    side = reference("llava")
    inputs = side.inputs(chat(QUESTION))
    out = side.model.generate(**inputs, do_sample=False, max_new_tokens=5, return_dict_in_generate=True)
    with pytest.raises(ValueError, match="cache"):
        side.model.generate(
            input_ids=out.sequences, cache=out.cache, do_sample=False, max_new_tokens=5,
            custom_generate=recap.custom_generate,
        )


def test_unsupported_models_are_refused(tmp_path):
    from .tiny_refused import REFUSED as models

    make, word = models["sliding_window"]
    model = transformers.AutoModelForImageTextToText.from_pretrained(make(tmp_path))
    with pytest.raises(ValueError, match=f"(?i){word}"):
        model.generate(torch.arange(5)[None], max_new_tokens=5, custom_generate=recap.custom_generate)


def test_the_model_is_left_as_it_was(tiny_folder, reference):
    """Training mode, attention function and generate's own answers are untouched, also after an error."""
    side = Reference(tiny_folder("qwen2_5_vl"))
    inputs = inputs_of(side)
    before = side.answer(inputs, 30)
    implementation = side.model.config.get_text_config()._attn_implementation
    side.model.generate(**inputs, do_sample=False, max_new_tokens=30, custom_generate=recap.custom_generate)
    other = side.inputs(chat("Who?", [tiny.picture(5, 120, 60)]))
    side.model.generate(**other, do_sample=False, max_new_tokens=30, custom_generate=recap.custom_generate)

    def failing(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        side.model.generate(**inputs, do_sample=False, max_new_tokens=30, custom_generate=recap.custom_generate,
                            logits_processor=transformers.LogitsProcessorList([failing]))
    assert side.answer(inputs, 30) == before
    assert side.model.config.get_text_config()._attn_implementation == implementation


def test_a_model_is_freed_when_its_owner_drops_it(tiny_folder):
    """What is kept per model must not keep the model."""
    side = Reference(tiny_folder("llava"))
    side.model.generate(**side.inputs(chat(QUESTION)), max_new_tokens=3, custom_generate=recap.custom_generate)
    gone = weakref.ref(side.model)
    del side
    gc.collect()
    assert gone() is None
