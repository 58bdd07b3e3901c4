"""The image lens as work for the device: beside an answer, refused, stopped."""

from __future__ import annotations

import pytest

import recap
from studio import looking
from studio.conversation import Conversation
from studio.jobs import Answer
from studio.worker import Worker

from . import tiny

QUESTION = "What is the woman carrying?"


@pytest.fixture
def worker(target):
    made = Worker(lambda: target("llava"))
    yield made
    made.close(10)


@pytest.fixture
def picture(tmp_path):
    tiny.picture(1).save(tmp_path / "picture.png")
    return str(tmp_path / "picture.png")


def over(job):
    for _ in job.follow(0.01):
        pass
    return job


def test_the_last_answer_gets_its_lens_and_others_their_turns(worker, picture, target):
    visitor, other = Conversation(), Conversation()
    trace = over(worker.ask(Answer(visitor, QUESTION, picture, "recap", 20))).trace
    job = worker.ask(looking.begin(visitor, trace))
    beside = worker.ask(Answer(other, "Why?", None, "recap", 20))
    assert over(job).state == "done" and looking.of(visitor, trace) is job and trace.lens is not None
    alone = recap.generate(target("llava"), QUESTION, [picture], max_new_tokens=20).trace
    assert recap.lens.look(target("llava"), alone, [picture]) == trace.lens
    assert over(beside).trace.token_ids == recap.generate(target("llava"), "Why?", max_new_tokens=20).token_ids


def test_without_the_picture_it_is_refused_in_a_sentence(worker, picture):
    visitor = Conversation()
    first = over(worker.ask(Answer(visitor, QUESTION, picture, "recap", 6))).trace
    second = over(worker.ask(Answer(visitor, "And?", None, "recap", 6))).trace
    with pytest.raises(ValueError, match="Only the last answer"):
        looking.begin(visitor, first)
    with pytest.raises(ValueError, match="brought no picture along"):
        looking.begin(visitor, second)
    assert looking.of(visitor, second) is None


def test_stopped_it_leaves_nothing_behind_and_can_be_asked_again(worker, picture):
    visitor = Conversation()
    trace = over(worker.ask(Answer(visitor, QUESTION, picture, "recap", 20))).trace
    job = looking.begin(visitor, trace)
    job.stop()
    assert over(worker.ask(job)).state == "done" and trace.lens is None
    assert over(worker.ask(looking.begin(visitor, trace))).trace.lens is not None
