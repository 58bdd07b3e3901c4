"""A session that takes turns back, changes its settings or forgets: every answer stays the target's own."""

from __future__ import annotations

import pytest

import recap

from . import tiny
from .test_session import FIRST, LENGTH, TURNS, encoder_calls, talk

families = pytest.mark.parametrize("family", ["qwen2_5_vl", "llava", "smolvlm"])
OTHER = ("Where is the man?", [])


def ask(loaded, session, turn, **settings):
    return recap.generate(loaded, *turn, session=session, **{"max_new_tokens": LENGTH, **settings})


@families
@pytest.mark.parametrize("method", ["recap", "ar", "token_recycling", "suffix_decoding"])
@pytest.mark.parametrize("number", [1, 3])
def test_a_turn_asked_again_gives_the_same_tokens(target, family, method, number):
    """The first turn brings a picture, the third another one; what is computed again is the same, shape by shape."""
    loaded = target(family)
    session = recap.Session(loaded, method=method)
    first = list(talk(loaded, session, TURNS[:number]))[-1]
    calls, hook = encoder_calls(loaded)
    for _ in range(2):
        session.undo()
        assert session.turns == number - 1
        again = ask(loaded, session, TURNS[number - 1])
        assert again.token_ids == first.token_ids and again.prompt_ids.tolist() == first.prompt_ids.tolist()
        assert again.trace.cached_tokens == first.trace.cached_tokens
    hook.remove()
    assert calls == [], "the picture stays encoded"


@families
def test_a_turn_taken_back_never_was(target, reference, family):
    """Another question in its place, and the conversation after it, equal those of a session without the turn."""
    loaded, side = target(family), reference(family)
    session, spared = recap.Session(loaded), recap.Session(loaded, method="ar")
    list(talk(loaded, session, TURNS[:3]))
    list(talk(loaded, spared, TURNS[:2]))
    session.undo()
    for turn in (OTHER, TURNS[4]):
        ours, theirs = ask(loaded, session, turn), ask(loaded, spared, turn)
        assert ours.prompt_ids.tolist() == theirs.prompt_ids.tolist()
        assert ours.trace.cached_tokens == theirs.trace.cached_tokens
        assert ours.token_ids == theirs.token_ids == side.answer(side.inputs_of_ids(ours.prompt_ids, [FIRST]), LENGTH)


@families
def test_several_turns_can_be_taken_back(target, family):
    loaded = target(family)
    session = recap.Session(loaded)
    answers = list(talk(loaded, session, TURNS))
    for left in range(len(TURNS) - 1, -1, -1):
        session.undo()
        assert session.turns == left
    with pytest.raises(RuntimeError, match="no turn"):
        session.undo()
    for first, again in zip(answers, talk(loaded, session, TURNS)):
        assert again.token_ids == first.token_ids and again.trace.cached_tokens == first.trace.cached_tokens


def test_memories_outlive_a_turn_taken_back(target):
    loaded = target("llava")
    session = recap.Session(loaded, config=recap.RecapConfig(budget="paper"))
    before = ask(loaded, session, TURNS[0])
    drafter, rows = session.drafter(), session.drafter().stats()["U"]
    session.undo()
    assert session.drafter() is drafter and drafter.stats()["U"] == rows == before.trace.steps[-1].sizes["U"]
    again = ask(loaded, session, TURNS[0])
    assert len(again.trace.steps) < len(before.trace.steps), "it has seen this answer before"
    assert again.token_ids == before.token_ids


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_cancelled_answer_is_a_turn_from_its_first_token_on(target, steps):
    loaded = target("llava")
    session, spared = recap.Session(loaded), recap.Session(loaded, method="ar")
    for one in (session, spared):
        ask(loaded, one, TURNS[0], max_new_tokens=12)
    with recap.stream(loaded, *TURNS[2], session=session, max_new_tokens=LENGTH) as stream:
        for _ in range(steps):
            next(stream)
    assert session.turns == (2 if steps else 1)
    if steps:
        session.undo()
    assert ask(loaded, session, OTHER).token_ids == ask(loaded, spared, OTHER).token_ids


def test_a_refused_question_is_no_turn(target):
    loaded = target("llava")
    session = recap.Session(loaded)
    first = ask(loaded, session, TURNS[0])
    with pytest.raises(ValueError):
        ask(loaded, session, ("the cat " * 900, []))
    assert session.turns == 1
    session.undo()
    assert ask(loaded, session, TURNS[0]).token_ids == first.token_ids


def test_a_chat_given_as_a_list_has_no_turn_before_it(target):
    loaded = target("llava")
    session = recap.Session(loaded)
    list(talk(loaded, session, TURNS[:2], length=8))
    ask(loaded, session, ([{"role": "user", "content": "Hello"}], []), max_new_tokens=8)
    assert session.turns == 1
    ask(loaded, session, OTHER, max_new_tokens=8)
    assert session.turns == 2
    session.undo()
    session.undo()
    fresh = recap.generate(loaded, *OTHER, method="ar", max_new_tokens=LENGTH)
    answer = ask(loaded, session, OTHER)
    assert answer.prompt_ids.tolist() == fresh.prompt_ids.tolist() and answer.token_ids == fresh.token_ids


def test_a_new_conversation_has_no_turns(target):
    session = recap.Session(target("llava"))
    ask(target("llava"), session, TURNS[0], max_new_tokens=4)
    session.reset()
    assert session.turns == 0
    with pytest.raises(RuntimeError, match="empty"):
        session.undo()


@families
@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"max_nodes": 5, "suffix_tokens": 1}, True),
        ({"max_nodes": 0, "suffix_tokens": 0}, True),
        ({"top_k": 4, "width": 3}, False),
        ({"fusion": "uniform", "max_depth": 3}, False),
        ({"persistent": False}, False),
        ({"memories": "U"}, False),
    ],
)
def test_other_settings_from_the_next_answer_on(target, family, changes, kept):
    loaded = target(family)
    session, plain = recap.Session(loaded), recap.Session(loaded, method="ar")
    list(talk(loaded, session, TURNS[:2]))
    list(talk(loaded, plain, TURNS[:2]))
    drafter = session.drafter()
    config = recap.RecapConfig(**changes)
    assert session.keeps_memories(config) is kept
    session.configure(config)
    assert (session.drafter() is drafter) is kept
    assert session.drafter().stats()["U"] == (drafter.stats()["U"] if kept else 0)
    for turn in TURNS[2:]:
        ours, theirs = ask(loaded, session, turn), ask(loaded, plain, turn)
        assert ours.token_ids == theirs.token_ids and ours.trace.cached_tokens == theirs.trace.cached_tokens > 0
        assert ours.trace.config == config.to_dict()
        assert all(len(step) <= 1 + config.max_nodes + config.suffix_tokens for step in ours.trace.steps)
        assert all(step.max_nodes <= config.max_nodes for step in ours.trace.steps)


def test_the_budget_of_a_pass_really_changes(target):
    loaded = target("llava")
    session = recap.Session(loaded)
    before = ask(loaded, session, TURNS[0])
    session.configure(recap.RecapConfig(budget="paper", max_nodes=5, suffix_tokens=0))
    after = ask(loaded, session, TURNS[1])
    assert max(map(len, before.trace.steps)) > 6 and max(map(len, after.trace.steps)) == 6


@families
def test_a_forgetful_moment_keeps_the_conversation(target, family):
    loaded = target(family)
    session, plain = recap.Session(loaded), recap.Session(loaded, method="ar")
    list(talk(loaded, session, TURNS[:2]))
    list(talk(loaded, plain, TURNS[:2]))
    assert session.drafter().stats()["U"] > 0
    session.forget()
    assert session.drafter().stats()["U"] == 0 and session.turns == 2
    for turn in TURNS[2:4]:
        ours, theirs = ask(loaded, session, turn), ask(loaded, plain, turn)
        assert ours.token_ids == theirs.token_ids and ours.trace.cached_tokens == theirs.trace.cached_tokens > 0


def test_nothing_of_this_while_an_answer_is_decoded(target):
    loaded = target("llava")
    session = recap.Session(loaded)
    with recap.stream(loaded, "Why?", [tiny.picture(1)], session=session, max_new_tokens=LENGTH) as stream:
        next(stream)
        drafter, config = session.drafter(), session.config
        for change in (session.undo, session.forget, lambda: session.configure(recap.RecapConfig(top_k=3, width=3))):
            with pytest.raises(RuntimeError, match="still answering"):
                change()
        assert session.turns == 1 and session.drafter() is drafter and session.config is config
    with pytest.raises(TypeError, match="config"):
        session.configure({"top_k": 3})
