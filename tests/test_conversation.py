"""Answers, races and looks aside on the device's thread, with a tiny model: what each of them leaves to the next."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recap
from studio.conversation import Conversation
from studio.jobs import Answer, Contest
from studio.worker import Worker

from . import tiny
from .test_worker import wait


def asked(worker: Worker, visitor: Conversation, prompt: str = "What is it?", **settings: Any) -> Answer:
    return wait(worker.ask(Answer(visitor, prompt, settings.pop("picture", None), settings.pop("method", "recap"),
                                  settings.pop("most", 16), **settings)))  # fmt: skip


@pytest.fixture
def worker(target: Any) -> Iterator[Worker]:
    ready = Worker(lambda: target("llava"))
    ready.start()
    yield ready
    ready._thread.shutdown(wait=True)


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "blocks.png"
    tiny.picture(1).save(path)
    return str(path)


def plain(target: Any, turns: list[str], session: recap.Session | None = None) -> list[int]:
    """Tokens that plain decoding gives to the last of these questions."""
    session = session or recap.Session(target, method="ar")
    return [recap.generate(target, turn, session=session, max_new_tokens=16).token_ids for turn in turns][-1]


def test_answers_take_settings_and_write_down_how_memories_grow(target: Any, worker: Worker) -> None:
    visitor, config = Conversation(), recap.RecapConfig(max_nodes=5)
    first = asked(worker, visitor)
    second = asked(worker, visitor, config=config, temperature=0.7, seed=5)
    assert first.trace.config["max_nodes"] == 63 and second.trace.config == config.to_dict()
    assert (first.trace.temperature, second.trace.temperature, second.trace.seed) == (0.0, 0.7, 5)
    assert visitor.growth == [[step.sizes for step in answer.trace.steps] for answer in (first, second)]
    assert visitor.growth[1][0]["U"] >= visitor.growth[0][-1]["U"], "the budget may change and U stays"
    asked(worker, visitor, method="ar")
    assert visitor.growth[2] == [] and asked(worker, visitor).trace.config == config.to_dict()
    visitor.clear()
    assert len(visitor.growth) == 4
    other = asked(worker, visitor, config=recap.RecapConfig(top_k=4, width=4))
    assert visitor.growth == [[step.sizes for step in other.trace.steps]], "other rules begin with empty memories"


def test_memories_are_forgotten_with_the_next_answer_and_the_chat_goes_on(target: Any, worker: Worker) -> None:
    visitor = Conversation()
    assert visitor.drafter() is None
    before = asked(worker, visitor, "What is it?")
    assert visitor.drafter().stats()["U"] == before.trace.steps[-1].sizes["U"]
    visitor.forget()
    assert visitor.growth == [] and visitor.drafter() is None
    after = asked(worker, visitor, "Why?")
    assert after.trace.token_ids == plain(target("llava"), ["What is it?", "Why?"])
    fresh = recap.Session(target("llava"), method="ar")
    recap.generate(target("llava"), "What is it?", session=fresh, max_new_tokens=16)
    alone = recap.generate(target("llava"), "Why?", session=fresh, max_new_tokens=16, method="recap")
    assert after.trace.steps[0].sizes["U"] == alone.trace.steps[0].sizes["U"]
    assert len(visitor.growth) == 1


def chatted(visitor: Conversation, answer: Answer) -> None:
    """What the page writes."""
    visitor.messages += [{"role": "user", "content": {"path": answer.picture}}] if answer.picture else []
    visitor.messages += [{"role": "user", "content": answer.prompt}, {"role": "assistant", "content": answer.text}]
    if answer.said:
        visitor.picture = answer.picture or visitor.picture


def test_the_last_question_again(target: Any, worker: Worker, picture: str) -> None:
    visitor = Conversation()
    nothing = pytest.raises(RuntimeError, match="no question")
    with nothing:
        visitor.again()
    chatted(visitor, asked(worker, visitor, "Hello"))
    kept = list(visitor.messages)
    first = asked(worker, visitor, "What is it?", picture=picture)
    chatted(visitor, first)
    assert len(visitor.messages) == 5 and visitor.picture == picture
    assert visitor.again() is first and (first.prompt, first.picture) == ("What is it?", picture)
    assert visitor.messages == kept and visitor.picture is None and visitor.latest is None
    with nothing:
        visitor.again()
    assert visitor.messages == kept
    second = asked(worker, visitor, first.prompt, picture=first.picture)
    assert second.trace.token_ids == first.trace.token_ids and second.trace.messages == first.trace.messages
    assert visitor._session.turns == 2 and visitor.latest is second


@pytest.mark.parametrize("way", ["withdrawn", "refused", "failed late", "stopped early", "stopped late", "cleared"])
def test_again_takes_back_what_the_engine_holds_and_nothing_else(
    target: Any, worker: Worker, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    visitor = Conversation()
    asked(worker, visitor, "Hello")
    gate, entered = threading.Event(), threading.Event()
    turns, held = ["Hello", "Why?"], False
    if way == "withdrawn":
        worker._thread.submit(gate.wait, 30)
        answer = worker.ask(Answer(visitor, "What?", None, "recap", 16))
        answer.stop()
        gate.set()
    elif way == "refused":
        answer = asked(worker, visitor, "the cat " * 900)
        assert answer.state == "failed"
    else:
        answer = Answer(visitor, "What?", None, "recap", 16)
        held = way != "stopped early"

        def hold() -> None:
            entered.set()
            gate.wait(30)
            if way == "failed late":
                raise OSError("the device is gone")

        if way == "stopped early":
            prepare = recap.Session.prepare

            def slow(*args: Any) -> Any:
                entered.set()
                gate.wait(30)
                return prepare(*args)

            monkeypatch.setattr(recap.Session, "prepare", slow)
        else:
            answer._passed = hold
        worker.ask(answer)
        assert entered.wait(30)
        with pytest.raises(RuntimeError, match="still being written"):
            visitor.again()
        if way == "cleared":
            visitor.clear()
            turns = ["Why?"]
        elif way != "failed late":
            answer.stop()
        gate.set()
        wait(answer)
        monkeypatch.undo()
    assert answer.said is held and answer.state == ("failed" if way in ("refused", "failed late") else "done")
    if way != "cleared":
        assert visitor.again() is answer
    after = asked(worker, visitor, "Why?")
    assert after.trace.token_ids == plain(target("llava"), turns)
    assert after.trace.messages[::2] == [{"role": "user", "content": turn} for turn in turns]


def test_again_and_again_before_anything_is_answered(target: Any, worker: Worker) -> None:
    """A question taken back once and then withdrawn twice is taken back once."""
    visitor = Conversation()
    asked(worker, visitor, "Hello")
    asked(worker, visitor, "What?")
    for _ in range(2):
        gate = threading.Event()
        assert visitor.again() is not None
        worker._thread.submit(gate.wait, 30)
        worker.ask(Answer(visitor, "What?", None, "recap", 16)).stop()
        gate.set()
    assert visitor.again() is not None
    assert asked(worker, visitor, "Why?").trace.token_ids == plain(target("llava"), ["Hello", "Why?"])


def test_a_race_is_a_job_like_any_other(target: Any, worker: Worker, picture: str) -> None:
    visitor = Conversation()
    contest = Contest(visitor, "What is it?", picture, ("ar", "recap"), 16, config=recap.RecapConfig(max_nodes=7))
    assert contest.traces == (None, None)
    assert worker.ask(contest) is contest and visitor.contest is contest and visitor.busy and visitor.latest is None
    for _ in contest.follow(0.0):
        pass
    assert contest.state == "done" and contest.race.finished and contest.race.identical is True
    assert contest.traces[1].comparison.identical and contest.traces[1].config["max_nodes"] == 7
    alone = recap.generate(target("llava"), "What is it?", [tiny.picture(1)], method="ar", max_new_tokens=16)
    assert contest.traces[0].token_ids == alone.token_ids
    assert not visitor.busy and visitor.latest_contest is contest
    assert visitor._session is None, "a race leaves the conversation alone"
    failed = Contest(visitor, "What is it?", None, ("ar", "magic"))
    worker.ask(failed)
    for _ in failed.follow(0.0):
        pass
    assert failed.state == "failed" and failed.error.startswith("Methods must be two of")


def test_a_race_stops_within_a_pass(worker: Worker) -> None:
    visitor, entered, gate = Conversation(), threading.Event(), threading.Event()
    contest = Contest(visitor, "What is it?", None, max_new_tokens=200)
    contest._passed = lambda: (entered.set(), gate.wait(30))
    worker.ask(contest)
    assert entered.wait(30)
    visitor.stop()
    gate.set()
    for _ in contest.follow(0.0):
        pass
    assert contest.state == "done" and contest.stopped and not contest.race.finished
    assert [trace and trace.finish_reason for trace in contest.traces] == ["cancelled", None]


def test_aside_looks_between_two_passes_and_off_the_clock(worker: Worker) -> None:
    visitor = Conversation()
    answer, slow = Answer(visitor, "What is it?", None, "recap", 60), 0.05
    looks: list[Any] = []
    names: list[str] = []
    passed = answer._passed

    def look(target: Any) -> int:
        names.append(threading.current_thread().name)
        threading.Event().wait(slow)
        return visitor.drafter().stats()["U"]

    def ask_aside() -> None:
        looks.append((len(answer.trace.steps), worker.aside(look)))
        passed()

    answer._passed = ask_aside
    begun = time.perf_counter()
    wait(worker.ask(answer))
    wall = time.perf_counter() - begun
    assert len(looks) == len(answer.trace.steps) > 5
    for number, future in looks:
        assert future.done() and future.result() == answer.trace.steps[number - 1].sizes["U"]
    assert answer.trace.seconds <= wall - slow * len(looks)
    assert worker.aside(look).result(30) == answer.trace.steps[-1].sizes["U"], "and at once when idle"
    assert all(name.startswith("device") for name in names)


def test_aside_fails_with_what_went_wrong(worker: Worker) -> None:
    asked(worker, Conversation())
    with pytest.raises(ZeroDivisionError):
        worker.aside(lambda target: 1 / 0).result(30)
    assert worker.aside(lambda target: target is worker.target).result(30) is True


def test_aside_is_refused_without_a_model_and_when_too_many_wait(target: Any) -> None:
    gate = threading.Event()
    worker = Worker(lambda: gate.wait(30) and target("llava"))
    worker.start()
    with pytest.raises(RuntimeError, match="still loading"):
        worker.aside(lambda target: 1).result(0)
    gate.set()
    asked(worker, Conversation())
    hold = threading.Event()
    worker._thread.submit(hold.wait, 30)
    waiting = [worker.aside(lambda target, number=number: number) for number in range(32)]
    with pytest.raises(RuntimeError, match="32 other look-ups"):
        worker.aside(lambda target: 1).result(0)
    assert waiting[3].cancel()
    hold.set()
    results = [future.result(30) for number, future in enumerate(waiting) if number != 3]
    assert results == [number for number in range(32) if number != 3]
    worker._thread.shutdown(wait=True)
    assert not worker._at_work and not worker._asides
    empty = Worker(lambda: None)
    empty.error = "none"
    with pytest.raises(RuntimeError, match="No model is loaded"):
        empty.aside(lambda target: 1).result(0)
