"""The device's worker where no model is needed: loading that fails, waiting answers, examples, the policy."""

from __future__ import annotations

import threading
from pathlib import Path

from studio.examples import QUESTION, examples
from studio.worker import Answer, Conversation, Worker


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
    gate.set()
    assert wait(first).error.endswith("There is none.")


def test_examples_tolerate_none_and_take_their_questions(tmp_path: Path) -> None:
    assert examples(tmp_path / "nowhere") == []
    for name in ("b.png", "a.jpg", "draw.py"):
        (tmp_path / name).touch()
    (tmp_path / "examples.json").write_text('{"b.png": "How much is it?"}')
    assert examples(tmp_path) == [(str(tmp_path / "a.jpg"), QUESTION), (str(tmp_path / "b.png"), "How much is it?")]
