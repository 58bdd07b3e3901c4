"""RECAP's greedy answers are transformers' own, token for token, in float32."""

from __future__ import annotations

import json

import numpy as np
import pytest

import recap

from . import tiny
from .tiny_reference import Reference, chat

QUESTION = "What is the woman carrying?"
PICTURES = {0: [], 1: [tiny.picture(1)], 3: [tiny.picture(1), tiny.picture(2, 60, 120), tiny.picture(3, 31, 29)]}
LENGTH = 90
FIXED = recap.RecapConfig(budget="paper")
"""Trees of the same size in every pass, whatever this machine's clock says."""

OURS = ("recap", "ar")
RIVALS = [method for method in recap.METHODS if method not in OURS]

every_family = pytest.mark.parametrize("family", tiny.FAMILIES)


@pytest.fixture(scope="module")
def expected(reference):
    """`expected(family, pictures)`: ids of the prompt and of transformers' answer to QUESTION."""
    known = {}

    def answer(family: str, count: int) -> tuple[list[int], list[int]]:
        if (family, count) not in known:
            side = reference(family)
            inputs = side.inputs(chat(QUESTION, PICTURES[count]))
            known[family, count] = (inputs["input_ids"][0].tolist(), side.answer(inputs, LENGTH))
        return known[family, count]

    return answer


def check_trace(answer) -> None:
    """A trace tells how its tokens came about; equality alone could not show a broken account."""
    trace = answer.trace
    assert trace.token_ids == [trace.first_token, *(token for step in trace.steps for token in step.committed)]
    for step in trace.steps:
        path = step.accepted_nodes
        assert step.accepted[0] and step.parents[0] == -1
        assert all(step.parents[node] < node for node in range(1, len(step)))
        assert [step.tokens[node] for node in path] == step.committed[: len(path)]
        assert len(step.committed) - len(path) in (0, 1)
        for parent, node in zip([0, *path], path):
            assert step.parents[node] == parent and step.choices[parent] == step.tokens[node]
        if len(step.committed) > len(path):
            assert step.committed[-1] == step.choices[([0] + path)[-1]]
    passes = len(trace.steps)
    drafts = sum(len(step.accepted_nodes) for step in trace.steps)
    assert answer.acceptance_length == pytest.approx(1 + drafts / passes if passes else 1.0)


@every_family
@pytest.mark.parametrize(
    ("method", "count"), [(one, count) for one in recap.METHODS for count in PICTURES if one in OURS or count == 1]
)
def test_equals_transformers(target, expected, family, count, method):
    prompt_ids, ids = expected(family, count)
    answer = recap.generate(target(family), QUESTION, PICTURES[count], method=method, max_new_tokens=LENGTH)
    assert answer.prompt_ids.dtype == np.int64 and answer.prompt_ids.tolist() == prompt_ids
    assert answer.token_ids == ids
    assert answer.finish_reason == ("length" if len(ids) == LENGTH else "stop")
    assert answer.text == target(family).tokenizer.decode(ids, skip_special_tokens=True)
    check_trace(answer)
    if method == "ar":
        assert answer.acceptance_length == 1.0 and len(answer.trace.steps) == len(ids) - 1


@pytest.mark.parametrize("method", RIVALS)
@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_every_method_has_drafts_accepted(target, expected, family, method):
    """With its own numbers, in trees no larger than these; without accepted drafts, equality would show nothing."""
    session = recap.Session(target(family), method, FIXED)
    sizes = session.drafter().sizes
    answers = [recap.generate(target(family), QUESTION, PICTURES[1], max_new_tokens=LENGTH, session=session)]
    session.reset()
    answers.append(recap.generate(target(family), QUESTION, PICTURES[0], max_new_tokens=LENGTH, session=session))
    assert [answer.token_ids for answer in answers] == [expected(family, count)[1] for count in (1, 0)]
    assert max(answer.acceptance_length for answer in answers) > 1.1
    for answer in answers:
        check_trace(answer)
        for step in answer.trace.steps[:-1]:
            assert (step.max_nodes, step.suffix_tokens) == sizes and len(step) <= 1 + sum(sizes)


@pytest.mark.parametrize("method", RIVALS)
def test_every_budget_of_every_method(target, expected, method):
    for nodes, suffix in [(0, 0), (0, 4), (1, 0), (7, 10), (127, 10)]:
        config = recap.RecapConfig(budget="paper", max_nodes=nodes, suffix_tokens=suffix)
        answer = recap.generate(target("llava"), QUESTION, max_new_tokens=LENGTH, method=method, config=config)
        assert answer.token_ids == expected("llava", 0)[1]
        check_trace(answer)
        assert all(len(step) <= 1 + nodes + suffix for step in answer.trace.steps)
        assert max(len(step) for step in answer.trace.steps) > min(nodes, 1)


@every_family
def test_drafts_are_accepted(target, expected, family):
    """Without accepted drafts, equality would show nothing."""
    answers = [
        recap.generate(target(family), QUESTION, pictures, max_new_tokens=LENGTH, config=FIXED)
        for pictures in PICTURES.values()
    ]
    assert max(answer.acceptance_length for answer in answers) > 1.2
    origins = {origin for answer in answers for step in answer.trace.steps for origin in step.origin_of_committed()}
    assert origins == {"memory", "suffix", "bonus"} or origins == {"memory", "bonus"}
    assert max(len(step.accepted_nodes) for answer in answers for step in answer.trace.steps) >= 3


@every_family
@pytest.mark.parametrize("budget", [(0, 0), (0, 4), (1, 0), (2, 4), (7, 10), (63, 0), (127, 10)])
def test_every_budget(target, expected, family, budget):
    nodes, suffix = budget
    config = recap.RecapConfig(budget="paper", max_nodes=nodes, suffix_tokens=suffix)
    answer = recap.generate(target(family), QUESTION, PICTURES[1], max_new_tokens=LENGTH, config=config)
    assert answer.token_ids == expected(family, 1)[1]
    check_trace(answer)
    assert all(len(step) <= 1 + nodes + suffix for step in answer.trace.steps)
    assert max(len(step) for step in answer.trace.steps) > min(nodes, 1)


CONFIGS = [
    {"max_depth": 1}, {"max_depth": 2}, {"max_depth": 64, "depth_priors": (1.0,)}, {"width": 1},
    {"top_k": 1, "width": 1}, {"top_k": 64, "width": 64},
    {"fusion": "prior"}, {"fusion": "confidence"}, {"fusion": "uniform"}, {"fusion": "gate"}, {"fusion": "backoff"},
    {"memories": "CU"}, {"memories": "U"}, {"persistent": False}, {"suffix": False}, {"search": "fixed"},
    {"priors": (0.4, 0.3, 0.3)},
]


@pytest.mark.parametrize("changes", CONFIGS, ids=[json.dumps(changes) for changes in CONFIGS])
@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_every_setting(target, expected, family, changes):
    config = recap.RecapConfig().replace(**changes)
    answer = recap.generate(target(family), QUESTION, PICTURES[1], max_new_tokens=LENGTH, config=config)
    assert answer.token_ids == expected(family, 1)[1]
    assert max(step.depths[-1] for step in answer.trace.steps) >= 1
    if changes.get("max_depth"):
        steps = answer.trace.steps
        memory = [depth for step in steps for depth, kind in zip(step.depths, step.origins) if kind == "memory"]
        assert max(memory) <= changes["max_depth"]


@pytest.mark.parametrize(
    ("family", "method"),
    [(one, method) for one in tiny.FAMILIES for method in recap.METHODS if method in OURS or one == "llava_next"],
)
@pytest.mark.parametrize("length", [1, 2, 3, 50])
def test_length_limit(target, expected, family, length, method):
    answer = recap.generate(target(family), QUESTION, PICTURES[1], method=method, max_new_tokens=length)
    ids = expected(family, 1)[1][:length]
    assert answer.token_ids == ids and answer.finish_reason == "length"
    check_trace(answer)


def test_length_limit_inside_an_accepted_path(target, expected):
    """Some limit must fall on a draft in the middle of a path that the target would have followed further."""
    cut = 0
    ids = expected("llava", 3)[1]
    whole = recap.generate(target("llava"), QUESTION, PICTURES[3], max_new_tokens=LENGTH)
    done = 1
    for step in whole.trace.steps:
        path = len(step.accepted_nodes)
        for inside in range(1, path):
            answer = recap.generate(target("llava"), QUESTION, PICTURES[3], max_new_tokens=done + inside)
            assert answer.token_ids == ids[: done + inside] and answer.finish_reason == "length"
            check_trace(answer)
            cut += 1
        done += len(step.committed)
        if cut > 12:
            break
    assert cut > 3


@pytest.mark.parametrize(
    ("family", "method"),
    [*((one, "recap") for one in tiny.FAMILIES), ("llava", "token_recycling"), ("llava", "tree_recycling"),
     ("llava", "lookahead")],
)
def test_end_token_inside_an_accepted_path(target, expected, tiny_folder, tmp_path, family, method):
    """The answer stops at an end token that a draft holds, though more of the path would have been accepted. Methods
    that copy text draft no token for the first time: tests/test_methods.py has their end tokens."""
    most = 3 if method == "recap" else 1
    ways = {"method": method, "max_new_tokens": LENGTH, "config": FIXED}
    answers = {count: recap.generate(target(family), QUESTION, shown, **ways) for count, shown in PICTURES.items()}
    count, whole = max(answers.items(), key=lambda pair: pair[1].acceptance_length)
    tried = 0
    done = 1
    for step in whole.trace.steps:
        path = len(step.accepted_nodes)
        for inside in range(path - 1):
            position = done + inside
            token = whole.token_ids[position]
            if token in whole.token_ids[:position] or tried == most:
                continue
            tried += 1
            usual = target(family).model.generation_config.eos_token_id
            folder = tiny.with_end_tokens(tiny_folder(family), tmp_path / "ends", [usual, token])
            side = Reference(folder)
            ids = side.answer(side.inputs(chat(QUESTION, PICTURES[count])), LENGTH)
            ending = recap.load_target(folder, device="cpu", dtype="float32")
            answer = recap.generate(ending, QUESTION, PICTURES[count], **ways)
            assert answer.token_ids == ids == whole.token_ids[: position + 1]
            assert answer.finish_reason == "stop"
            assert answer.trace.steps[-1].accepted_nodes, "the end token was meant to be a draft"
            check_trace(answer)
        done += len(step.committed)
    assert tried > 0


def test_end_token_right_after_prefill(target, expected, tiny_folder, tmp_path):
    first = expected("llava", 1)[1][0]
    folder = tiny.with_end_tokens(tiny_folder("llava"), tmp_path / "ends", [first])
    answer = recap.generate(recap.load_target(folder, dtype="float32"), QUESTION, PICTURES[1], max_new_tokens=9)
    assert answer.token_ids == [first] and answer.finish_reason == "stop" and answer.trace.steps == []


def test_cache_grows_beyond_its_first_capacity(target, reference):
    side, loaded = reference("qwen2_5_vl"), target("qwen2_5_vl")
    inputs = side.inputs(chat(QUESTION, PICTURES[1]))
    session = recap.Session(loaded, config=FIXED)
    recap.generate(loaded, QUESTION, PICTURES[1], max_new_tokens=1, session=session)
    first, length = session.cache.capacity, 560
    session.reset()
    answer = recap.generate(loaded, QUESTION, PICTURES[1], max_new_tokens=length, session=session)
    assert session.cache.capacity > first
    assert answer.token_ids == side.answer(inputs, length)
    assert answer.acceptance_length > 1.2


@pytest.mark.parametrize("method", recap.METHODS)
def test_context_overflow_is_refused_before_any_work(target, method):
    loaded = target("llava")
    calls = []
    hook = loaded.model.get_decoder().register_forward_hook(lambda *_: calls.append(1))
    try:
        with pytest.raises(ValueError, match="1024"):
            recap.generate(loaded, QUESTION, PICTURES[1], method=method, max_new_tokens=1024)
        with pytest.raises(ValueError, match="1024"):
            recap.stream(loaded, "the cat and the dog " * 400, method=method, max_new_tokens=1)
    finally:
        hook.remove()
    assert not calls


def test_the_whole_context_can_be_used(target, reference):
    """The last position that fits is decoded like any other, drafts near the edge included."""
    loaded, side = target("llava"), reference("llava")
    inputs = side.inputs(chat(QUESTION))
    length = 1024 - inputs["input_ids"].shape[1]
    assert recap.generate(loaded, QUESTION, max_new_tokens=length).token_ids == side.answer(inputs, length)


@pytest.mark.parametrize(("settings", "word"), [
    ({"max_new_tokens": 0}, "max_new_tokens"), ({"max_new_tokens": -1}, "max_new_tokens"),
    ({"max_new_tokens": 2.5}, "max_new_tokens"), ({"temperature": -0.1}, "temperature"),
    ({"temperature": float("nan")}, "temperature"), ({"method": "magic"}, "method"),
    ({"seed": -1, "temperature": 1.0}, "seed"), ({"images": ["/no/such/file.png"]}, "file.png"),
])
def test_bad_arguments_are_named(target, settings, word):
    with pytest.raises((ValueError, TypeError, OSError), match=word):
        recap.generate(target("llava"), QUESTION, **settings)


def test_a_drafter_brings_its_memories(target, expected):
    """The second answer to the same question drafts from what the first one left, and is the same answer."""
    drafter = recap.drafter("recap")
    settings = {"max_new_tokens": LENGTH, "config": FIXED}
    answers = [recap.generate(target("llava"), QUESTION, PICTURES[1], drafter=drafter, **settings) for _ in range(2)]
    assert answers[0].token_ids == answers[1].token_ids == expected("llava", 1)[1]
    assert len(answers[1].trace.steps) < len(answers[0].trace.steps)
    fresh = recap.generate(target("llava"), QUESTION, PICTURES[1], **settings)
    assert len(fresh.trace.steps) == len(answers[0].trace.steps), "there must be no hidden shared memory"


def test_both_backends_decode_alike(target, expected):
    """C core and Python twin: same steps, same trees."""
    answers = []
    for backend in ("c", "python"):
        drafter = recap.Drafter(FIXED, backend=backend)
        settings = {"max_new_tokens": 60, "config": FIXED}
        answers.append(recap.generate(target("llava"), QUESTION, PICTURES[1], drafter=drafter, **settings))
    first, second = (answer.trace for answer in answers)
    assert first.token_ids == second.token_ids == expected("llava", 1)[1][:60]
    for ours, theirs in zip(first.steps, second.steps, strict=True):
        for name in ("tokens", "parents", "depths", "origins", "choices", "accepted", "committed"):
            assert getattr(ours, name) == getattr(theirs, name)
