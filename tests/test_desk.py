"""What happens when a visitor does something, without a page: the desk around a tiny model, or around none."""

from __future__ import annotations

import json
import queue
import random
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from recap.trace import Trace
from studio import settings
from studio.conversation import Conversation
from studio.desk import BUSY, NOTHING, Desk
from studio.jobs import Answer
from studio.worker import Worker
from visual import text

from . import synthetic, tiny

STEER = settings.defaults()
BUTTONS = ("send", "stop", "retry", "race")


@pytest.fixture
def desk(target: Any) -> Iterator[Desk]:
    worker = Worker(lambda: target("llava"))
    worker.start()
    yield Desk(
        worker, [("first", synthetic.trace(random.Random(0), 3)), ("second", synthetic.trace(random.Random(1), 2))]
    )
    worker._thread.shutdown(wait=True)


@pytest.fixture
def empty() -> Desk:
    """A desk whose model cannot be loaded."""
    worker = Worker(lambda: None)
    worker.error = "there is none"
    return Desk(worker)


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "blocks.png"
    tiny.picture(1).save(path)
    return str(path)


def arrived(desk: Desk, page: str = "a", key: str | None = None) -> Conversation:
    list(desk.arrive(page, key))
    return desk.visitors.of(page)


def ask(
    desk: Desk, mine: Conversation, question: str = "What is it?", path: str | None = None, **more: Any
) -> list[Any]:
    """All changes of a question asked, the chats as they were at that moment."""
    steer = more.get("steer", STEER)
    return copied(desk.ask(mine, question, path, more.get("way", "recap"), more.get("most", 12), *steer))


def race(desk: Desk, mine: Conversation, question: str = "", path: str | None = None, most: int = 8) -> list[Any]:
    return copied(desk.race(mine, question, path, "ar", "recap", most, *STEER))


def copied(changes: Iterable[dict[str, Any]]) -> list[Any]:
    return [
        {**change, "chat": [dict(one) for one in change["chat"]]} if "chat" in change else change for change in changes
    ]


def player(change: dict[str, Any]) -> dict[str, Any]:
    return json.loads(change["player"])


def active(change: dict[str, Any]) -> dict[str, bool]:
    return {name: change[name]["interactive"] for name in BUTTONS}


IDLE = {"send": True, "stop": False, "retry": True, "race": True}
AT_WORK = {"send": False, "stop": True, "retry": False, "race": False}


def test_a_first_visit_shows_the_first_recording(desk: Desk) -> None:
    changes = list(desk.arrive("a", ""))
    mine = desk.visitors.of("a")
    news = player(changes[0])
    assert (news["id"], news["live"], news["kind"]) == ("first", False, "recording")
    assert (news["key"], news["race"], news["racing"]) == (mine.key, None, False)
    assert changes[0]["chat"] == [] and changes[0]["image"] is None
    assert active(changes[0]) == {**IDLE, "retry": False}
    assert json.loads(desk.first()) == {"id": "first", "live": False, "kind": "recording"}
    assert "float32" in changes[-2]["status"] and player(changes[-1]) == news


def test_without_recordings_nothing_is_on_show(empty: Desk) -> None:
    changes = list(empty.arrive("a", None))
    assert player(changes[0])["id"] is None and json.loads(empty.first())["id"] is None
    assert "No model" in changes[0]["status"]


def test_a_question_from_its_first_change_to_its_last(desk: Desk, picture: str) -> None:
    mine = arrived(desk)
    changes = ask(desk, mine, "What *is* <b>it</b>?", picture)
    first, last = changes[0], changes[-1]
    assert first["prompt"] == "" and first["notice"] == "" and active(first) == AT_WORK
    assert player(first)["live"] is True and player(first)["id"] is None
    assert [one["role"] for one in first["chat"]] == ["user", "user", "assistant"]
    assert first["chat"][0]["content"] == {"path": picture}
    assert first["chat"][1]["content"] == text.literal("What *is* <b>it</b>?")
    answer = mine.latest
    assert last["chat"][-1]["content"] == text.answer(answer.text) and len(answer.trace.token_ids) == 12
    assert "reached the limit of 12 tokens" in last["notice"] and active(last) == IDLE
    news = player(last)
    assert (news["live"], news["kind"]) == (False, "answer")
    assert desk.shelf.get(news["id"]) is answer.trace and mine.shown == [news["id"]] and mine.picture == picture
    assert {player(change)["id"] for change in changes if "player" in change} == {None, news["id"]}
    grown = [content for change in changes if not (content := change["chat"][-1]["content"]).startswith("*")]
    assert grown and all(len(one) <= len(two) for one, two in zip(grown, grown[1:]))
    again = ask(desk, mine, "And now?", picture)
    assert [one["role"] for one in again[0]["chat"][3:]] == ["user", "assistant"], "the same picture is not sent twice"
    assert mine.latest.picture is None


def test_settings_hold_for_the_answer(desk: Desk) -> None:
    mine = arrived(desk)
    ask(desk, mine, steer=[0.0, "paper", 5, 2, 0.5, 0.3, 0.2, "uniform", False])
    config = mine.latest.trace.config
    assert (config["max_nodes"], config["max_depth"], config["fusion"], config["persistent"]) == (
        5,
        2,
        "uniform",
        False,
    )
    assert config["priors"] == [0.5, 0.3, 0.2] and max(len(step) for step in mine.latest.trace.steps) <= 1 + 5 + 4


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({"question": " \n"}, "Type a question first."),
        ({"question": None}, "prompt must be text"),
        ({"most": 0}, "max_new_tokens must be a whole number"),
        ({"most": None}, "max_new_tokens must be a whole number"),
        ({"steer": [None, *STEER[1:]]}, "Temperature is empty"),
        ({"steer": [*STEER[:4], 0.1, 0.2, 0.1, *STEER[7:]]}, "priors must not rise"),
    ],
)
def test_what_does_not_fit_is_told_and_nothing_else_happens(desk: Desk, given: dict[str, Any], sentence: str) -> None:
    mine = arrived(desk)
    (only,) = ask(desk, mine, **given)
    assert set(only) == {"notice"} and sentence in only["notice"] and 'role="alert"' in only["notice"]
    assert mine.messages == [] and mine.latest is None and not mine.busy


def test_two_questions_at_once_are_one_question_and_a_sentence(desk: Desk) -> None:
    mine = arrived(desk)
    gate, ready, found = threading.Event(), threading.Barrier(4), queue.Queue()
    desk.worker._thread.submit(gate.wait, 30)

    def click() -> None:
        ready.wait(30)
        found.put(ask(desk, mine, "Hello"))

    clicks = [threading.Thread(target=click) for _ in range(4)]
    [one.start() for one in clicks]
    refused = [found.get(timeout=30) for _ in range(3)]
    assert refused == [[NOTHING]] * 3 and list(ask(desk, mine, "")) == [NOTHING], "a double click is no mistake"
    (told,) = ask(desk, mine, "Something else")
    assert set(told) == {"notice"} and BUSY in told["notice"]
    assert list(desk.race(mine, "Hello", None, "ar", "recap", 8, *STEER)) == [told]
    assert list(desk.again(mine, "recap", 8, *STEER)) == [told]
    gate.set()
    [one.join(30) for one in clicks]
    assert [one["role"] for one in mine.messages] == ["user", "assistant"] and len(mine.shown) == 1


def test_retry_takes_the_question_back_and_asks_it_anew(desk: Desk, picture: str) -> None:
    mine = arrived(desk)
    (nothing,) = list(desk.again(mine, "recap", 8, *STEER))
    assert "no question to ask again" in nothing["notice"]
    ask(desk, mine, "Hello")
    ask(desk, mine, "What is it?", picture)
    first, messages = mine.latest, [dict(one) for one in mine.messages]
    changes = copied(desk.again(mine, "ar", 12, *STEER))
    assert mine.messages == messages == changes[-1]["chat"], "plain decoding says the same"
    assert mine.latest is not first and mine.latest.trace.method == "ar" and mine.picture == picture
    assert mine.latest.trace.token_ids == first.trace.token_ids and mine.latest.trace.messages == first.trace.messages
    assert len(changes[0]["chat"]) == len(messages) and active(changes[-1]) == IDLE


def test_a_question_that_fails_comes_back_to_be_changed(desk: Desk) -> None:
    mine = arrived(desk)
    ask(desk, mine, "Hello")
    messages, shown = [dict(one) for one in mine.messages], mine.on_show
    long = "the cat " * 900
    last = ask(desk, mine, long)[-1]
    assert last["prompt"] == long and "tokens" in last["notice"] and last["chat"] == messages == mine.messages
    assert mine.latest is None and player(last)["id"] == shown and active(last)["send"] is True


def test_a_model_that_does_not_load_is_told_and_the_question_comes_back(empty: Desk) -> None:
    def load() -> None:
        raise OSError("no space left on this disk")

    empty.worker._load = load
    mine = arrived(empty)
    last = ask(empty, mine, "Hello")[-1]
    assert "The model could not be loaded: No space left on this disk." in last["notice"]
    assert last["prompt"] == "Hello" and last["chat"] == [] and "No model" in last["status"]


def test_a_picture_that_cannot_be_read_is_told(desk: Desk, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    mine = arrived(desk)
    last = ask(desk, mine, "What is it?", str(broken))[-1]
    assert "broken.png" in last["notice"] and str(tmp_path) not in last["notice"] and last["chat"] == []
    assert mine.picture is None


def test_a_race_before_anything_was_asked_is_about_an_example(desk: Desk, picture: str) -> None:
    """The one that the recording on show answered, else one without a picture."""
    desk._cards = [(picture, "What is it?"), (None, "Say five words.")]
    mine = arrived(desk)
    race(desk, mine)
    assert (mine.latest_contest.prompt, mine.latest_contest.picture) == ("Say five words.", None)
    trace = synthetic.trace(random.Random(0), steps=2)
    trace.messages = [{"role": "user", "content": "[picture]\nWhat is it?"}]
    desk.shelf.pin(trace, "shown", note="recording")
    mine.on_show = "shown"
    race(desk, mine)
    assert (mine.latest_contest.prompt, mine.latest_contest.picture) == ("What is it?", picture)


def test_a_race_without_a_question_repeats_the_last_one_and_its_picture(desk: Desk, picture: str) -> None:
    mine = arrived(desk)
    assert "Type a question to race on" in race(desk, mine, "", picture)[0]["notice"]
    ask(desk, mine, "What is it?", picture)
    ask(desk, mine, "Why?", picture)
    messages = [dict(one) for one in mine.messages]
    changes = race(desk, mine)
    contest = mine.latest_contest
    assert (contest.prompt, contest.picture, contest.methods) == ("Why?", picture, ("ar", "recap"))
    assert contest.race.identical is True and mine.messages == messages
    assert player(changes[0])["racing"] is True and active(changes[0]) == AT_WORK
    last = player(changes[-1])
    assert (last["race"], last["racing"], last["live"], last["kind"]) == (contest.name, False, False, "race")
    assert desk.shelf.get(last["id"]) is contest.traces[1] and contest.traces[1].comparison.identical
    assert changes[-1]["notice"] == "" and active(changes[-1]) == IDLE
    race(desk, mine, "Where?")
    assert (mine.latest_contest.prompt, mine.latest_contest.picture) == ("Where?", None)


def test_a_race_can_be_stopped(desk: Desk) -> None:
    mine = arrived(desk)
    changes = desk.race(mine, "Hello", None, "ar", "recap", 400, *STEER)
    next(changes)
    contest, following = mine.contest, ThreadPoolExecutor(1).submit(list, changes)
    while not all(trace and trace.token_ids for trace in contest.traces):
        assert not contest.ended
    assert desk.stop(mine) == NOTHING == {"notice": gr.skip()}
    last = following.result(30)[-1]
    assert [trace.finish_reason for trace in contest.traces] == ["cancelled", "cancelled"]
    assert "The race was stopped" in last["notice"] and active(last)["send"] is True and player(last)["racing"] is False


def test_stop_keeps_what_was_said(desk: Desk) -> None:
    mine = arrived(desk)
    changes = desk.ask(mine, "Hello", None, "recap", 400, *STEER)
    while not (mine.answer and mine.answer.trace and len(mine.answer.trace.steps) > 1):
        next(changes)
    desk.stop(mine)
    last = list(changes)[-1]
    said = len(mine.latest.trace.token_ids)
    assert f"Stopped after {said} tokens; what was said is kept." in last["notice"] and said < 400
    assert mine.messages[-1]["content"] == text.answer(mine.latest.text)


def test_clear_in_the_middle_leaves_an_empty_page(desk: Desk, picture: str) -> None:
    mine = arrived(desk)
    changes = desk.ask(mine, "Hello", picture, "recap", 400, *STEER)
    while not (mine.answer and mine.answer.trace and mine.answer.trace.steps):
        next(changes)
    cleared = desk.clear(mine)
    for change in (cleared, list(changes)[-1]):
        assert change["chat"] == [] and player(change)["id"] is None and player(change)["live"] is False
    assert (mine.messages, mine.picture, mine.busy) == ([], None, False)
    assert ask(desk, mine, "Hello")[-1]["chat"][0]["content"] == "Hello"


def test_forget_empties_the_memories_when_nobody_uses_them(desk: Desk) -> None:
    mine = arrived(desk)
    ask(desk, mine)
    assert mine.growth and mine.drafter() is not None
    gate = threading.Event()
    desk.worker._thread.submit(gate.wait, 30)
    desk.worker.ask(waiting := Answer(mine, "Hello", None, "recap", 8))
    assert "in use" in desk.forget(mine)["notice"] and mine.growth
    waiting.stop()
    gate.set()
    before, told = player({"player": desk._player(mine)}), desk.forget(mine)
    assert "G, C and U are empty" in told["notice"] and mine.growth == [] and mine.drafter() is None
    assert player(told) == {**before, "remembered": 0} != before, "so the page looks at the memories again"
    ask(desk, mine, "Why?")
    assert len(mine.growth) == 1


def test_a_trace_file_is_opened_without_a_model(empty: Desk, tmp_path: Path) -> None:
    made = synthetic.trace(random.Random(5), 2)
    (tmp_path / "trace.json").write_text(made.to_json())
    mine = arrived(empty)
    told = empty.upload(mine, str(tmp_path / "trace.json"))
    news = player(told)
    assert told["trace-notice"] == "" and (news["kind"], news["live"]) == ("file", False)
    assert empty.shelf.get(news["id"]) == made and mine.shown == [news["id"]]
    assert empty.upload(mine, None) == NOTHING


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\x00\xff\xfe", b"{}", b'{"version": 99, "steps": []}', b"\x1f\x8bxx", b"[" * 9999]
)
def test_a_file_that_is_no_trace_is_told(empty: Desk, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "trace.json").write_bytes(content)
    mine = arrived(empty)
    told = empty.upload(mine, str(tmp_path / "trace.json"))
    assert set(told) == {"trace-notice"} and "This file cannot be opened: " in told["trace-notice"]
    assert str(tmp_path) not in told["trace-notice"] and len(told["trace-notice"]) < 400
    assert mine.shown == [] and mine.on_show is None


def test_a_file_that_is_gone_is_told_without_its_folder(empty: Desk, tmp_path: Path) -> None:
    told = empty.upload(arrived(empty), str(tmp_path / "gone.json"))["trace-notice"]
    assert "This file cannot be opened: No such file" in told and str(tmp_path) not in told


def test_a_reload_finds_chat_picture_and_answer_again(desk: Desk, picture: str) -> None:
    mine = arrived(desk)
    ask(desk, mine, "Hello", picture)
    desk.visitors.leave("a")
    first = next(desk.arrive("b", mine.key))
    assert desk.visitors.of("b") is mine and first["chat"] == mine.messages and first["image"] == picture
    assert player(first)["id"] == mine.on_show and player(first)["key"] == mine.key and active(first) == IDLE


def test_a_reload_in_the_middle_of_an_answer_shows_it_to_its_end(desk: Desk) -> None:
    mine = arrived(desk)
    changes = desk.ask(mine, "Hello", None, "recap", 400, *STEER)
    while not (mine.answer and mine.answer.trace and mine.answer.trace.steps):
        next(changes)
    desk.visitors.leave("a")
    after = list(desk.arrive("b", mine.key))
    list(changes)
    trace: Trace = mine.latest.trace
    assert desk.visitors.of("b") is mine and 0 < len(trace.token_ids) < 400 and trace.finish_reason == "cancelled"
    assert active(after[-1]) == IDLE and player(after[-1])["live"] is False
    assert mine.messages[-1]["content"] == text.answer(trace.text)
