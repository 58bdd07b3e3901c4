"""Answers with a warm U behind the memories: the same tokens, other drafts, and nothing that goes from one to another."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

import recap
from recap.bench.manifest import Input
from recap.targets.fingerprint import fingerprint
from recap.warm.build import build
from recap.warm.file import write

from . import tiny
from .tiny_reference import chat

QUESTION, OTHER = "What is the woman carrying?", "How many cats are on the mat, and who counts them?"
PICTURE = tiny.picture(1)
LENGTH = 24
FIXED = recap.RecapConfig(budget="paper")
every_family = pytest.mark.parametrize("family", tiny.FAMILIES)


@pytest.fixture(scope="module")
def warm(target, tmp_path_factory):
    """`warm(family)`: a memory that was built from two questions, read from its file."""
    made = {}

    def load(family: str) -> recap.WarmMemory:
        if family not in made:
            path = tmp_path_factory.mktemp("warm") / f"{family}.safetensors"
            inputs = [Input("1", "", (OTHER,)), Input("2", "", ("A dog and a cat.", "Say it again."))]
            built = build(target(family), inputs, FIXED, LENGTH)
            assert built.problems == [] and built.origin.inputs == 2 and built.origin.tokens > LENGTH
            write(path, *built[:4])
            made[family] = recap.WarmMemory.load(path)
        return made[family]

    return load


@every_family
def test_the_answer_is_transformers_own(target, reference, warm, family):
    loaded, side = target(family), reference(family)
    expected = side.answer(side.inputs(chat(QUESTION, [PICTURE])), LENGTH)
    for budget in ("paper", "auto"):
        config = recap.RecapConfig(budget=budget)
        answer = recap.generate(loaded, QUESTION, [PICTURE], max_new_tokens=LENGTH, config=config, warm=warm(family))
        assert answer.token_ids == expected
        assert answer.trace.versions["warm memory"] == warm(family).digest
    assert recap.Trace.from_json(answer.trace.to_json()).versions == answer.trace.versions


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_several_turns_and_settings(target, warm, family):
    loaded = target(family)
    plain = recap.Session(loaded, "ar")
    turns = [(OTHER, []), (QUESTION, [PICTURE])]
    expected = [recap.generate(loaded, *turn, session=plain, max_new_tokens=24).token_ids for turn in turns]
    for changes in ({"memories": "U", "persistent": False}, {"fusion": "backoff", "search": "fixed"}):
        session = recap.Session(loaded, config=FIXED.replace(**changes), warm=warm(family))
        answers = [recap.generate(loaded, *turn, session=session, max_new_tokens=24) for turn in turns]
        assert [answer.token_ids for answer in answers] == expected


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_a_question_it_was_built_from_takes_fewer_passes(target, warm, family):
    """Without drafts of its rows, equality would show nothing. Memories of one token, so that U has to do it."""
    config = FIXED.replace(memories="U", suffix=False, persistent=False)
    passes = [
        len(recap.generate(target(family), OTHER, max_new_tokens=LENGTH, config=config, warm=memory).trace.steps)
        for memory in (None, warm(family))
    ]
    assert passes[1] < passes[0]


def test_sampling_with_a_seed_is_the_same_too(target, warm):
    settings = dict(max_new_tokens=40, temperature=1.0, seed=5, config=FIXED)
    plain = recap.generate(target("llava"), QUESTION, method="ar", **settings)
    assert recap.generate(target("llava"), QUESTION, warm=warm("llava"), **settings).token_ids == plain.token_ids


def test_two_sessions_over_one_memory_never_meet(target, warm):
    loaded, memory = target("llava"), warm("llava")
    size, rows = memory.base.bytes, memory.base.rows
    marks = ("zebra quartz vex", "jumbo fjord whip")
    questions = [f"The secret is {mark}, never tell." for mark in marks]
    sessions = [recap.Session(loaded, config=FIXED, warm=memory) for _ in marks]
    streams = [recap.stream(loaded, question, session=session, max_new_tokens=24) for question, session in zip(questions, sessions)]
    for one in streams:
        one.prefill()
    while any([next(one, None) is not None for one in streams]):  # step by step in turn, all of them each time
        pass
    alone = [recap.Session(loaded, config=FIXED, warm=memory) for _ in marks]
    lonely = [recap.generate(loaded, question, session=one, max_new_tokens=24).trace for question, one in zip(questions, alone)]
    for mine, other in ((0, 1), (1, 0)):
        trace, ours, theirs = streams[mine].trace, sessions[mine].drafter(), sessions[other].drafter()
        assert trace.token_ids == lonely[mine].token_ids
        assert [step.tokens for step in trace.steps] == [step.tokens for step in lonely[mine].steps]
        own, foreign = set(ours.export()[0].tolist()), set(theirs.export()[0].tolist())
        only_ours = own - foreign
        assert len(only_ours) >= 2
        for token in only_ours:
            row = theirs.lookup([token])["U"]
            assert row is None or theirs.from_base([token])
            assert not ours.from_base([token])
        for left, right in zip(ours.export(), alone[mine].drafter().export()):
            assert np.array_equal(left, right)
    assert (memory.base.bytes, memory.base.rows) == (size, rows)
    fresh = recap.Session(loaded, config=FIXED, warm=memory)
    assert fresh.remembered_bytes() == 0 and fresh.drafter().stats()["U"] == 0
    assert sum(fresh.drafter().from_base([token]) for token in range(loaded.runtime.vocabulary)) == rows


def test_forgetting_leaves_what_is_warm(target, warm):
    loaded, memory = target("llava"), warm("llava")
    session = recap.Session(loaded, config=FIXED, warm=memory)
    answer = recap.generate(loaded, QUESTION, session=session, max_new_tokens=20)
    grown = session.remembered_bytes()
    assert 0 < grown and session.drafter().stats()["U"] > 0
    for forget in (session.forget, session.release, lambda: session.reset(forget=True)):
        forget()
        assert session.drafter().stats()["U"] == 0
        assert any(session.drafter().from_base([token]) for token in range(loaded.runtime.vocabulary))
        again = recap.generate(loaded, [{"role": "user", "content": QUESTION}], session=session, max_new_tokens=20)
        assert again.token_ids == answer.token_ids
    session.configure(FIXED.replace(fusion="uniform"))
    assert session.drafter().base is memory.base
    with pytest.raises(ValueError, match="top_k"):
        session.configure(FIXED.replace(top_k=4, width=4))
    assert session.config.top_k == 8


def test_other_methods_and_races(target, warm):
    loaded, memory = target("llava"), warm("llava")
    expected = recap.generate(loaded, QUESTION, method="ar", max_new_tokens=20)
    assert "warm memory" not in expected.trace.versions
    for method in ("ar", "pld", "token_recycling"):
        answer = recap.generate(loaded, QUESTION, method=method, max_new_tokens=20, warm=memory)
        assert answer.token_ids == expected.token_ids and "warm memory" not in answer.trace.versions
    with recap.Race(loaded, QUESTION, max_new_tokens=20, config=FIXED, warm=memory) as race:
        for _ in race:
            pass
        assert race.identical and race.traces[1].versions["warm memory"] == memory.digest


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_custom_generate(reference, target, warm, family):
    side, memory = reference(family), warm(family)
    inputs = side.inputs(chat(QUESTION, [PICTURE]))
    plain = side.model.generate(**inputs, max_new_tokens=30, do_sample=False)
    ours = functools.partial(recap.custom_generate, config=FIXED, warm=memory)
    assert side.model.generate(**inputs, max_new_tokens=30, do_sample=False, custom_generate=ours).tolist() == plain.tolist()
    both = functools.partial(recap.custom_generate, drafter=recap.Drafter(FIXED), warm=memory)
    with pytest.raises(ValueError, match="give warm without one"):
        side.model.generate(**inputs, max_new_tokens=5, custom_generate=both)
    other = functools.partial(recap.custom_generate, warm=warm("smolvlm"))
    with pytest.raises(ValueError, match="was built for"):
        side.model.generate(**inputs, max_new_tokens=5, custom_generate=other)


def test_a_memory_of_another_model_is_refused(target, warm):
    memory = warm("llava")
    with pytest.raises(ValueError, match=r"built for .* \(weights \w{12}, .* tokens\), and the model here is .*memory build"):
        recap.Session(target("internvl"), warm=memory)
    with pytest.raises(ValueError, match="was built for"):
        recap.Session(target("llava", seed=9), warm=memory)  # the same vocabulary and shapes, other weights
    with pytest.raises(ValueError, match="give warm to recap.Session"):
        recap.generate(target("llava"), QUESTION, session=recap.Session(target("llava")), warm=memory)
    with pytest.raises(ValueError, match="give warm to recap.Session"):
        recap.generate(target("llava"), QUESTION, drafter=recap.Drafter(), warm=memory)


def test_a_fingerprint_is_of_the_weights_alone(target):
    import torch

    model = target("llava").model
    half, changed = copy.deepcopy(model).bfloat16(), copy.deepcopy(model)
    with torch.no_grad():
        changed.get_output_embeddings().weight.mul_(1.1)
    assert fingerprint(half) == fingerprint(model) != fingerprint(target("smolvlm").model)
    assert fingerprint(changed) != fingerprint(model)


def test_building_leaves_out_what_cannot_be_asked(target, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    inputs = [Input("a", "", ("Hi",), (str(broken),)), Input("b", "", ("A cat.",))]
    seen = []
    built = build(target("llava"), inputs, FIXED, 8, lambda one: seen.append(one.id))
    assert seen == ["a", "b"] and built.origin.inputs == 1 and built.problems[0].startswith("a is left out: ")
    with pytest.raises(ValueError, match="none of the inputs could be answered"):
        build(target("llava"), inputs[:1], FIXED, 8)
    with pytest.raises(ValueError, match="persistent=False"):
        build(target("llava"), inputs, FIXED.replace(persistent=False), 8)
