"""The device's worker where no model is needed: loading that fails, waiting answers, examples, the policy."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from studio import inputs
from studio.conversation import Conversation
from studio.examples import QUESTION, examples
from studio.jobs import Answer
from studio.worker import BROKEN, Worker, sentence


def wait(answer: Answer) -> Answer:
    for _ in answer.follow(0.0):
        pass
    return answer


def test_failed_loading_is_a_sentence_and_the_next_question_tries_again() -> None:
    tries = []

    def load() -> None:
        tries.append(1)
        raise OSError("no space left on this disk")

    worker = Worker(load)
    worker.start()
    answer = wait(worker.ask(Answer(Conversation(), "Hello", None, "recap", 8)))
    assert answer.state == "failed" and answer.text == "" and answer.step is None
    assert answer.error == "The model could not be loaded: No space left on this disk."
    assert len(tries) == 2 and not worker.loading and worker.error
    assert worker.ahead(answer) == 0 and answer.conversation.answer is None


def test_waiting_answers_know_their_place_and_stop_at_once() -> None:
    gate = threading.Event()

    def load() -> None:
        gate.wait(30)
        raise ValueError("there is none")

    worker = Worker(load)
    worker.start()
    assert worker.loading
    first, second = (worker.ask(Answer(Conversation(), "Hello", None, "recap", 8)) for _ in range(2))
    assert (worker.ahead(first), worker.ahead(second)) == (0, 1)
    second.conversation.stop()
    assert second.ended and second.stopped and second.error == ""
    assert second.over(0.0) and not first.over(0.0)
    gate.set()
    assert wait(first).error.endswith("There is none.")


def test_a_stopped_answer_leaves_the_queue_and_the_visitor_may_ask_again() -> None:
    gate = threading.Event()
    worker = Worker(lambda: gate.wait(30) and None)
    first = worker.ask(Answer(Conversation(), "Hello", None, "recap", 8))
    visitor, last = Conversation(), Answer(Conversation(), "Hello", None, "recap", 8)
    for number in range(50):
        waiting = worker.ask(Answer(visitor, "Hello", None, "recap", 8))
        assert visitor.answer is waiting and worker.ahead(waiting) == 1
        visitor.clear() if number % 2 else visitor.stop()
        assert waiting.ended and visitor.answer is None
    worker.ask(last)
    assert worker.ahead(last) == 1 and len(worker._waiting) == 2 and worker._thread._work_queue.qsize() == 0
    gate.set()
    wait(first)
    wait(last)


def test_an_abandoned_answer_loads_nothing() -> None:
    gate, loads = threading.Event(), []
    worker = Worker(lambda: loads.append(1))
    worker._thread.submit(gate.wait, 30)
    answer = worker.ask(Answer(Conversation(), "Hello", None, "recap", 8))
    answer.conversation.close()
    gate.set()
    worker._thread.shutdown(wait=True)
    assert answer.state == "done" and loads == [] and worker._waiting == []


def test_a_mistake_outside_of_an_answer_ends_what_was_asked_and_not_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(lambda: object())
    with monkeypatch.context() as broken:
        broken.setattr(worker, "_admit", lambda: 1 / 0)
        first = wait(worker.ask(Answer(Conversation(), "Hello", None, "recap", 8)))
    assert first.state == "failed" and first.error == BROKEN and first.conversation.answer is None
    second = wait(worker.ask(Answer(Conversation(), "Hello", None, "recap", 8)))
    assert second.state == "failed" and second.error != BROKEN, "it is no model, but it had its turn"


def test_stop_and_start_never_disagree() -> None:
    """Stopping at the moment an answer's turn comes: it ends once, and nothing happens to it afterwards."""
    for _ in range(200):
        states: list[str] = []
        worker = Worker(lambda: None)
        answer = Answer(Conversation(), "Hello", None, "recap", 8)
        plain = answer._now
        answer._now = lambda state, plain=plain, states=states: (states.append(state), plain(state))[1]
        worker.error = "none"
        worker.ask(answer)
        answer.stop()
        worker._thread.shutdown(wait=True)
        assert states[-1] in ("done", "failed") and sum(state in ("done", "failed") for state in states) == 1
        assert worker._waiting == [] and answer.conversation.answer is None


def test_sentences_name_no_folder_of_this_machine() -> None:
    told = sentence(OSError(2, "No such file or directory", "/home/someone/.cache/a b/model.bin"))
    assert "/home" not in told and "someone" not in told and "No such file" in told
    assert sentence(ValueError("there is no file '/tmp/gradio/0af/cat.png'")) == "There is no file 'cat.png'."
    assert sentence(ValueError(r"bad C:\Users\me\cat.png")) == "Bad cat.png."
    kept = "See https://huggingface.co/models/x, 3/4 or and/or."
    assert sentence(ValueError(kept)) == kept


@pytest.mark.parametrize("most", [None, "8", True, 0, -1, 1.5, float("nan"), float("inf"), 10**400, 10**9, [8]])
def test_bad_numbers_of_tokens_get_a_short_sentence(most: object) -> None:
    with pytest.raises(ValueError, match="max_new_tokens must be a whole number") as refused:
        inputs.tokens(most)
    assert len(str(refused.value)) < 160
    assert inputs.tokens(8.0) == 8


def test_bad_questions_methods_and_pictures_get_a_sentence() -> None:
    for prompt in (None, 5, "", " \n", ["x"]):
        with pytest.raises(ValueError, match="question|prompt"):
            inputs.question(prompt)
    for name in (None, 5, [], "x" * 500):
        with pytest.raises(ValueError, match="method must be one of a, b") as refused:
            inputs.method(name, ["a", "b"])
        assert len(str(refused.value)) < 120
    for picture in ({}, "cat.png", 5, [], {"url": "http://h/x"}, {"path": "http://h/x"}, {"path": 5}, {"path": ""}):
        with pytest.raises(ValueError, match="image must be"):
            inputs.uploaded(picture)
    assert inputs.uploaded(None) is None and inputs.uploaded({"path": "/x"})["meta"] == {"_type": "gradio.FileData"}


def test_examples_tolerate_none_and_take_their_questions(tmp_path: Path) -> None:
    assert examples(tmp_path / "nowhere") == []
    for name in ("c.png", "b.png", "a.jpg", "draw.py"):
        (tmp_path / name).touch()
    listed = [["c.png", "How much is it?"], [None, "Why?"], ["a.jpg", "Who?"], ["gone.png", "What?"]]
    (tmp_path / "examples.json").write_text(json.dumps(listed))
    named = [(str(tmp_path / "c.png"), "How much is it?"), (None, "Why?"), (str(tmp_path / "a.jpg"), "Who?")]
    assert examples(tmp_path) == [*named, (str(tmp_path / "b.png"), QUESTION)]
