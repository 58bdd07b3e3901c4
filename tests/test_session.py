"""Conversations: every turn is transformers' answer to the session's own prompt, whatever the cache already held."""

from __future__ import annotations

import pytest

import recap

from . import tiny
from .tiny_reference import chat

FIRST, SECOND = tiny.picture(1), tiny.picture(2, 60, 120)
TURNS = [
    ("What is the woman carrying?", [FIRST]),
    ("And what colour are the doors?", []),
    ("Compare it with this <image> one.", [SECOND]),
    ("Read the sign.", [FIRST]),
    ("Why?", []),
]
LENGTH = 40

every_family = pytest.mark.parametrize("family", tiny.FAMILIES)


def talk(loaded, session, turns, length: int = LENGTH, **settings):
    for text, pictures in turns:
        yield recap.generate(loaded, text, pictures, session=session, max_new_tokens=length, **settings)


def encoder_calls(loaded):
    """Pictures' encoder forwards, counted: (calls, hook)."""
    calls: list[int] = []
    body = loaded.model.base_model
    tower = next(getattr(body, name) for name in ("visual", "vision_tower", "vision_model") if hasattr(body, name))
    return calls, tower.register_forward_hook(lambda *_: calls.append(1))


@pytest.mark.parametrize(
    ("family", "method"),
    [(one, way) for one in tiny.FAMILIES for way in recap.METHODS if way in ("recap", "ar") or one == "qwen2_5_vl"],
)
def test_every_turn_equals_transformers(target, reference, family, method):
    loaded, side = target(family), reference(family)
    session = recap.Session(loaded, method=method)
    shown: list = []
    before: list[int] = []
    accepted = []
    calls, hook = encoder_calls(loaded)
    for answer, (_, pictures) in zip(talk(loaded, session, TURNS), TURNS):
        shown += pictures
        ids = answer.prompt_ids
        assert ids[: len(before)].tolist() == before, "earlier turns keep their ids"
        assert answer.token_ids == side.answer(side.inputs_of_ids(ids, shown), LENGTH)
        if before:
            assert answer.trace.cached_tokens >= len(before) - 2
        ended = answer.token_ids[-1] in loaded.end_ids
        before = [*ids.tolist(), *(answer.token_ids[:-1] if ended else answer.token_ids)]
        accepted.append(answer.acceptance_length)
    hook.remove()
    assert len(calls) == 2, "each of the two pictures is encoded once"
    assert method == "ar" or max(accepted) > 1.2


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava_next", "smolvlm"])
def test_turns_that_end_by_themselves(tiny_folder, tmp_path, family):
    """After an end token the template ends the turn itself: the end token is in the answer, not in the history."""
    from .tiny_reference import Reference

    usual = Reference(tiny_folder(family)).model.generation_config.eos_token_id
    folder = tiny.with_end_tokens(tiny_folder(family), tmp_path / "ends", [usual, *range(0, 500, 5)])
    loaded, side = recap.load_target(folder, device="cpu", dtype="float32"), Reference(folder)
    session = recap.Session(loaded)
    shown: list = []
    stopped = 0
    for answer, (_, pictures) in zip(talk(loaded, session, TURNS), TURNS):
        shown += pictures
        assert answer.token_ids == side.answer(side.inputs_of_ids(answer.prompt_ids, shown), LENGTH)
        stopped += answer.finish_reason == "stop"
        assert (answer.finish_reason == "stop") == (answer.token_ids[-1] in loaded.end_ids)
    assert stopped >= 3


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
def test_methods_may_take_turns(target, reference, family):
    """One conversation, AR and RECAP in turn, on one cache."""
    loaded, side = target(family), reference(family)
    session = recap.Session(loaded)
    shown: list = []
    for (text, pictures), method in zip(TURNS, ("ar", "recap", "ar", "recap", "recap")):
        shown += pictures
        answer = recap.generate(loaded, text, pictures, session=session, method=method, max_new_tokens=LENGTH)
        assert answer.trace.method == method
        assert answer.token_ids == side.answer(side.inputs_of_ids(answer.prompt_ids, shown), LENGTH)


@every_family
def test_recap_and_ar_hold_the_same_conversation(target, family):
    loaded = target(family)
    sessions = [recap.Session(loaded, method=method) for method in ("recap", "ar")]
    for ours, theirs in zip(*(talk(loaded, session, TURNS) for session in sessions)):
        assert ours.prompt_ids.tolist() == theirs.prompt_ids.tolist()
        assert ours.token_ids == theirs.token_ids
        assert ours.trace.cached_tokens == theirs.trace.cached_tokens


def test_sessions_on_one_target_do_not_meet(target):
    """Turn by turn, two conversations with different pictures: each goes on as if it were alone (rope deltas too)."""
    loaded = target("qwen2_5_vl")
    other = [
        ("Describe it.", [SECOND, FIRST]), ("Where is the man?", []), ("Is it raining?", []), ("Who?", [FIRST]),
        ("When?", []),
    ]
    alone = [[answer.token_ids for answer in talk(loaded, recap.Session(loaded), turns)] for turns in (TURNS, other)]
    sessions = [recap.Session(loaded), recap.Session(loaded)]
    together = zip(*(talk(loaded, session, turns) for session, turns in zip(sessions, (TURNS, other))))
    assert [list(ids) for ids in zip(*[[answer.token_ids for answer in pair] for pair in together])] == alone


def test_streams_of_two_sessions_interleave(target):
    """Two answers in the making on one target, step by step in turn."""
    loaded = target("qwen2_5_vl")
    alone = [recap.generate(loaded, *TURNS[0], max_new_tokens=LENGTH).token_ids,
             recap.generate(loaded, "Describe it.", [SECOND], max_new_tokens=LENGTH).token_ids]
    streams = [recap.stream(loaded, *TURNS[0], max_new_tokens=LENGTH),
               recap.stream(loaded, "Describe it.", [SECOND], max_new_tokens=LENGTH)]
    tokens: list[list[int]] = [[], []]
    waiting = [0, 1]
    while waiting:
        for side in list(waiting):
            step = next(streams[side], None)
            if step is None:
                waiting.remove(side)
            else:
                tokens[side] += step.committed
    assert tokens == [ids[1:] for ids in alone]


@every_family
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_cancelled_answer_leaves_the_session_usable(target, reference, family, steps):
    loaded, side = target(family), reference(family)
    session = recap.Session(loaded)
    recap.generate(loaded, *TURNS[0], session=session, max_new_tokens=12)
    stream = recap.stream(loaded, *TURNS[2], session=session, max_new_tokens=LENGTH)
    for _ in range(steps):
        next(stream)
    stream.close()
    assert next(stream, None) is None
    shown = [FIRST, SECOND] if steps else [FIRST]
    answer = recap.generate(loaded, *TURNS[1], session=session, max_new_tokens=LENGTH)
    assert answer.token_ids == side.answer(side.inputs_of_ids(answer.prompt_ids, shown), LENGTH)
    plain = recap.Session(loaded, method="ar")
    messages = [{"role": "user", "content": TURNS[1][0]}]
    again = recap.generate(loaded, messages, session=session, max_new_tokens=LENGTH)
    assert again.token_ids == recap.generate(loaded, messages, session=plain, max_new_tokens=LENGTH).token_ids


def test_a_cancelled_stream_says_so(target):
    session = recap.Session(target("llava"))
    stream = recap.stream(target("llava"), *TURNS[0], session=session, max_new_tokens=LENGTH)
    steps = [next(stream), next(stream)]
    stream.close()
    stream.close()
    assert stream.trace.finish_reason == "cancelled"
    assert stream.trace.steps == steps
    assert stream.trace.token_ids[1:] == [token for step in steps for token in step.committed]


def test_an_abandoned_stream_frees_its_session(target):
    """Dropping the generator is as good as closing it."""
    session = recap.Session(target("llava"))
    stream = recap.stream(target("llava"), *TURNS[0], session=session, max_new_tokens=LENGTH)
    next(stream)
    del stream
    assert recap.generate(target("llava"), "Why?", session=session, max_new_tokens=3).token_ids


def test_one_answer_at_a_time(target):
    session = recap.Session(target("llava"))
    stream = recap.stream(target("llava"), *TURNS[0], session=session, max_new_tokens=LENGTH)
    next(stream)
    with pytest.raises(RuntimeError, match="close"):
        recap.generate(target("llava"), "Why?", session=session)
    stream.close()


def test_an_error_inside_a_pass_frees_the_session(target, reference, monkeypatch):
    """A device that fails once must not lock the conversation nor leave a wrong cache behind."""
    loaded, side = target("llava"), reference("llava")
    session = recap.Session(loaded)
    decoder = loaded.model.get_decoder()
    forward, calls = decoder.forward, []

    def failing(*args, **kwargs):
        calls.append(1)
        if len(calls) == 5:
            raise RuntimeError("out of memory")
        return forward(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(decoder, "forward", failing)
        with pytest.raises(RuntimeError, match="out of memory"):
            recap.generate(loaded, *TURNS[0], session=session, max_new_tokens=LENGTH)
    answer = recap.generate(loaded, *TURNS[1], session=session, max_new_tokens=LENGTH)
    assert answer.token_ids == side.answer(side.inputs_of_ids(answer.prompt_ids, [FIRST]), LENGTH)


@every_family
def test_a_refused_turn_changes_nothing(target, family):
    loaded = target(family)
    spared, disturbed = recap.Session(loaded), recap.Session(loaded)
    for session in (spared, disturbed):
        recap.generate(loaded, *TURNS[0], session=session, max_new_tokens=12)
    with pytest.raises(ValueError):
        recap.generate(loaded, "the cat " * 900, session=disturbed)
    with pytest.raises(ValueError):
        recap.generate(loaded, "What?", [b"no picture"], session=disturbed)
    answers = [
        recap.generate(loaded, *TURNS[2], session=session, max_new_tokens=LENGTH) for session in (spared, disturbed)
    ]
    assert answers[0].prompt_ids.tolist() == answers[1].prompt_ids.tolist()
    assert answers[0].token_ids == answers[1].token_ids
    assert answers[0].trace.cached_tokens == answers[1].trace.cached_tokens


def test_a_changed_picture_is_not_taken_from_the_cache(target, reference):
    """Same words, same placeholders, another picture: the cached entries are of no use."""
    loaded, side = target("llava"), reference("llava")
    session = recap.Session(loaded)
    for picture in (FIRST, SECOND, FIRST):
        messages = chat("What is it?", [picture])
        answer = recap.generate(loaded, messages, session=session, max_new_tokens=LENGTH)
        assert answer.token_ids == side.answer(side.inputs(messages), LENGTH)


def test_an_edited_chat_reuses_its_common_beginning(target, reference):
    loaded, side = target("qwen2_5_vl"), reference("qwen2_5_vl")
    session = recap.Session(loaded)
    for ending, cached in (("What is it?", False), ("What is that?", True), ("What is it?", True)):
        messages = chat(ending, [FIRST])
        answer = recap.generate(loaded, messages, session=session, max_new_tokens=LENGTH)
        assert answer.token_ids == side.answer(side.inputs(messages), LENGTH)
        assert (answer.trace.cached_tokens > 0) is cached


def test_the_same_chat_again_costs_one_token(target):
    """The last prompt token must be evaluated anew, and only that one."""
    session = recap.Session(target("llava"))
    messages = chat("What is it?", [FIRST])
    first = recap.generate(target("llava"), messages, session=session, max_new_tokens=LENGTH)
    again = recap.generate(target("llava"), messages, session=session, max_new_tokens=LENGTH)
    assert again.token_ids == first.token_ids
    assert again.trace.cached_tokens == len(first.prompt_ids) - 1


def test_memories_live_as_design_says(target):
    """U outlives a turn; C and G begin anew; another session begins with nothing."""
    loaded = target("llava")
    session = recap.Session(loaded)
    sizes = [answer.trace.steps[-1].sizes for answer in talk(loaded, session, TURNS[:2])]
    first_step = recap.generate(loaded, *TURNS[2], session=session, max_new_tokens=4).trace.steps[0].sizes
    assert sizes[1]["U"] >= sizes[0]["U"]
    assert first_step["U"] >= sizes[1]["U"] and first_step["G"] < sizes[1]["G"]
    fresh = recap.generate(loaded, *TURNS[0], max_new_tokens=4).trace.steps[0].sizes
    assert fresh["U"] < first_step["U"]


def test_a_forgetful_session_keeps_no_u(target):
    loaded = target("llava")
    config = recap.RecapConfig(persistent=False)
    session = recap.Session(loaded, config=config)
    answers = list(talk(loaded, session, TURNS[:2]))
    assert answers[1].trace.steps[0].sizes["U"] < answers[0].trace.steps[-1].sizes["U"]


def test_session_of_another_target_is_refused(target):
    with pytest.raises(ValueError, match="target"):
        recap.generate(target("llava"), "What?", session=recap.Session(target("smolvlm")))
    with pytest.raises(ValueError, match="(?i)method"):
        recap.Session(target("llava"), method="magic")
    with pytest.raises((TypeError, ValueError), match="config"):
        recap.Session(target("llava"), config={"top_k": 3})


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava", "smolvlm"])
def test_a_model_that_says_its_own_placeholder(tmp_path, family):
    """Such an answer is like any other, and in the next turn its placeholder is no picture, even as the last word."""
    from safetensors.torch import load_file, save_file

    from .tiny_reference import Reference

    folder = tiny.write(family, tmp_path / "model")
    placeholder = Reference(folder).placeholder
    weights = load_file(folder / "model.safetensors")
    name = next(key for key in weights if "lm_head" in key)
    weights[name][placeholder] = 6 * weights[name][40]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    loaded = recap.load_target(folder, device="cpu", dtype="float32")
    side = Reference(folder)
    for text, pictures in (TURNS[0], TURNS[1]):
        expected = side.answer(side.inputs(chat(text, pictures)), 30)
        if placeholder in expected:
            break
    assert placeholder in expected, "this model was made to say its placeholder"
    length = expected.index(placeholder) + 1
    sessions = [recap.Session(loaded, method=method) for method in ("recap", "ar")]
    turns = [(text, pictures, length), ("And this?", [SECOND], 20), ("Why?", [], 20)]
    for number, (text, pictures, room) in enumerate(turns):
        ours, theirs = (
            recap.generate(loaded, text, pictures, session=session, max_new_tokens=room) for session in sessions
        )
        assert ours.token_ids == theirs.token_ids
        if number == 0:
            assert ours.token_ids == expected[:length] and ours.token_ids[-1] == placeholder
