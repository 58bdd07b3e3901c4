"""Several visitors on one device: turns, whose time is whose, who waits, and that nobody's tokens depend on the others."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import recap
from studio.conversation import Conversation
from studio.jobs import Answer, Contest, Job
from studio.limits import Limits
from studio.turns import Turns
from studio.worker import SHORTAGE, Refused, Worker

from . import tiny
from .test_worker import wait

QUESTIONS = ("What is it?", "Count the cats, the dogs and the birds.", "Why is the sky blue?", "Tell me a story.")
PAPER = recap.RecapConfig(budget="paper")


def used(costs: dict[str, float], rounds: int) -> tuple[dict[str, float], list[str]]:
    """Seconds that each had after so many pieces of work, and in which order."""
    turns: Turns[str] = Turns(0.02, 0.04)
    for name in costs:
        turns.add(name)
    spent, order = dict.fromkeys(costs, 0.0), []
    for _ in range(rounds):
        one = turns.next()
        order.append(one)
        spent[one] += costs[one]
        turns.took(one, costs[one])
    return spent, order


def test_equal_shares_of_time_whatever_a_piece_takes() -> None:
    spent, order = used({"small": 0.005, "large": 0.05, "even": 0.02}, 4000)
    assert max(spent.values()) < 1.05 * min(spent.values())
    longest = max(len(list(run)) for name, run in itertools.groupby(order) if name == "small")
    assert longest <= 5, "about a quantum at a time"


def test_one_huge_piece_is_not_paid_back_in_full() -> None:
    turns: Turns[str] = Turns(0.02, 0.04)
    turns.add("reader")
    turns.add("writer")
    assert turns.next() == "reader"
    turns.took("reader", 60.0)
    between = 0
    while (one := turns.next()) == "writer":
        turns.took(one, 0.02)
        between += 1
    assert one == "reader" and between == 3
    turns.remove("reader")
    assert len(turns) == 1 and "reader" not in turns and turns.next() == "writer"
    turns.remove("writer")
    assert turns.next() is None


@pytest.fixture
def made() -> Iterator[Callable[..., Worker]]:
    """`made(target, **limits)`: a worker that is ended with the test."""
    workers: list[Worker] = []

    def make(target: Any, ended: Callable[[Job], None] = lambda job: None, **limits: Any) -> Worker:
        workers.append(worker := Worker(lambda: target, Limits(**limits), ended))
        return worker

    yield make
    for worker in workers:
        worker.close(10)
        worker._thread.shutdown(wait=True)


def together(worker: Worker, jobs: list[Any]) -> list[Any]:
    """Ask all of them while the device is held, so that they run at the same time, and wait for their ends."""
    gate = threading.Event()
    worker._thread.submit(gate.wait, 30)
    for job in jobs:
        worker.ask(job)
    gate.set()
    return [wait(job) for job in jobs]


def shown(answer: Answer) -> list[Any]:
    """All that a trace says but what the clock said."""
    def timeless(step: Any) -> dict[str, Any]:
        return {key: value for key, value in vars(step).items() if not key.endswith("_ms") and key != "table"}

    trace = answer.trace
    return [trace.token_ids, trace.text, trace.seeded_rows, trace.table.rows, [timeless(step) for step in trace.steps]]


@pytest.mark.parametrize("method", ["recap", "token_recycling", "suffix_decoding"])
def test_answers_side_by_side_are_those_of_alone(target: Any, made: Any, method: str, tmp_path: Any) -> None:
    """Tokens, drafts, memories and traces: nothing of one visitor reaches another."""
    one = target("llava")
    tiny.picture(3).save(tmp_path / "blocks.png")

    def asked(visitors: list[Conversation], turn: int) -> list[Answer]:
        pictures = [str(tmp_path / "blocks.png") if number == turn else None for number in range(4)]
        return [
            Answer(visitor, QUESTIONS[(number + turn) % 4], picture, method, 40 + 8 * number, config=PAPER)
            for number, (visitor, picture) in enumerate(zip(visitors, pictures))
        ]

    crowd, hermits = [Conversation() for _ in range(4)], [Conversation() for _ in range(4)]
    for turn in range(2):
        shared, quiet = made(one, running=4), made(one)
        side_by_side = together(shared, asked(crowd, turn))
        alone = [wait(quiet.ask(answer)) for answer in asked(hermits, turn)]
        for here, there in zip(side_by_side, alone):
            assert here.state == "done" and len(here.trace.steps) > 3
            assert shown(here) == shown(there)
            if method == "recap":
                assert here.conversation.drafter().stats() == there.conversation.drafter().stats()


def test_marked_words_stay_with_their_visitor(target: Any, made: Any) -> None:
    """Each visitor's prompt holds tokens that no other prompt and no answer holds; as keys of memories they are found
    with that visitor alone."""
    one = target("llava")
    marks = ["zebra quartz", "MAUVE 7391"]
    visitors = [Conversation() for _ in marks]
    worker = made(one)
    answers = together(worker, [
        Answer(visitor, f"The secret is {mark}, never tell.", None, "recap", 48, config=PAPER)
        for visitor, mark in zip(visitors, marks)
    ])  # fmt: skip
    prompts = [set(one.prompt(f"The secret is {mark}, never tell.").ids.tolist()) for mark in marks]
    for mine, other in ((0, 1), (1, 0)):
        seen_by_other = prompts[other] | set(answers[other].trace.token_ids)
        evaluated = {token for step in answers[other].trace.steps for token in step.tokens}
        secret = prompts[mine] - prompts[other]
        unseen = [token for token in secret if token not in seen_by_other and token not in evaluated]
        assert len(unseen) >= 2
        ours, theirs = visitors[mine].drafter(), visitors[other].drafter()
        found = [ours.lookup([token])["U"] is not None for token in unseen]
        assert all(found)
        assert not any(any(theirs.lookup([token]).values()) for token in unseen)
        spelled = answers[other].trace.to_json()
        assert marks[mine] not in spelled and marks[other] in spelled


def test_a_short_answer_ends_before_a_long_one_that_came_first(target: Any, made: Any) -> None:
    ended: list[Job] = []
    worker = made(target("llava"), ended.append)
    long, short = Answer(Conversation(), "Hello", None, "ar", 600), Answer(Conversation(), "Hello", None, "ar", 6)
    together(worker, [long, short])
    assert ended == [short, long] and long.trace.token_ids[:6] == short.trace.token_ids
    assert short.first_word < long.asked + 60 and short.waited >= 0 and long.used > short.used > 0


class Slow(Answer):
    """Its pieces take a while."""

    def _pieces(self, target: Any) -> Iterator[None]:
        for _ in range(12):
            time.sleep(0.03)
            yield


def test_every_clock_counts_its_own_time(target: Any, made: Any) -> None:
    worker = made(target("llava"))
    answer = Answer(Conversation(), "Hello", None, "recap", 60)
    race = Contest(Conversation(), "Hello", None, max_new_tokens=40)
    slow = Slow(Conversation(), "", None, "ar", 1)
    begun = time.perf_counter()
    together(worker, [answer, slow, race])
    wall = time.perf_counter() - begun
    assert slow.used >= 12 * 0.03 and answer.trace.seconds <= answer.used and answer.used + slow.used + race.used <= wall
    assert sum(trace.seconds for trace in race.traces) <= race.used
    passes = sum(step.draft_ms + step.verify_ms + step.update_ms for step in answer.trace.steps)
    assert passes <= 1000 * answer.trace.decode_seconds
    assert race.race.finished and race.race.identical is True
    clocks = [trace.seconds for trace in race.traces]
    assert abs(clocks[0] - clocks[1]) < max(clocks), "lanes took turns"


def test_passes_are_learned_from_as_if_alone(target: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the budget is told of a pass is that pass, however long others had the device meanwhile."""
    told: list[float] = []
    one = target("llava")
    learn = type(one.learned.costs).learn

    def listen(self: Any, nodes: int, prefix: int, ms: float) -> None:
        told.append(ms)
        learn(self, nodes, prefix, ms)

    monkeypatch.setattr(type(one.learned.costs), "learn", listen)
    answer = Answer(Conversation(), "Hello", None, "recap", 60, config=recap.RecapConfig(budget="auto"))
    together(made(one), [answer, Slow(Conversation(), "", None, "ar", 1)])
    assert len(told) == len(answer.trace.steps) and sum(told) <= 1000 * answer.trace.decode_seconds


def test_only_so_many_run_and_wait_and_the_rest_are_told(target: Any, made: Any) -> None:
    worker = made(target("llava"), running=2, waiting=3)
    gate = threading.Event()
    worker._thread.submit(gate.wait, 30)
    jobs = [Answer(Conversation(), "Hello", None, "ar", 8) for _ in range(6)]
    for job in jobs[:5]:
        worker.ask(job)
    with pytest.raises(Refused, match="Too many people are asking"):
        worker.ask(jobs[5])
    assert jobs[5].conversation.answer is None and jobs[5].state == "waiting"
    most, places, told = [], [], []

    def look() -> None:
        most.append(worker.counts[0])
        places.append([worker.ahead(job) for job in jobs[:5]])
        told.append(worker.wait(jobs[4]))

    for job in jobs[:5]:
        job._passed = look
    gate.set()
    tokens = [wait(job).trace.token_ids for job in jobs[:5]]
    assert max(most) == 2 and all(one == tokens[0] for one in tokens)
    assert places[0] == [0, 0, 2, 3, 4] and [0, 0, 0, 0, 2] in places
    assert told[0] == "" and "about 5 s" in told, "an estimate, once something has ended"
    wait(worker.ask(jobs[5]))


def test_one_owner_has_one_answer_at_a_time(target: Any, made: Any) -> None:
    worker = made(target("llava"))
    gate, order = threading.Event(), []
    worker._ended = order.append
    worker._thread.submit(gate.wait, 30)
    greedy = [worker.ask(Answer(Conversation("client"), "Hello", None, "ar", 60)) for _ in range(8)]
    with pytest.raises(Refused, match="8 questions waiting already"):
        worker.ask(Answer(Conversation("client"), "Hello", None, "ar", 60))
    other = worker.ask(Answer(Conversation(), "Hello", None, "ar", 8))
    gate.set()
    for job in (*greedy, other):
        wait(job)
    assert order[0] is other and order[1:] == greedy


def test_out_of_memory_ends_one_answer_and_no_other(target: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = target("llava")
    worker = made(one)
    poor, rich = Answer(Conversation(), "Hello", None, "ar", 60), Answer(Conversation(), "What is it?", None, "ar", 60)
    verify = type(one).verify

    def short(self: Any, *given: Any) -> Any:
        if poor.trace is not None and len(poor.trace.steps) == 5 and given[3] is poor.conversation._session.cache:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried")
        return verify(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(type(one), "verify", short)
        together(worker, [poor, rich])
    assert (poor.state, poor.error) == ("failed", SHORTAGE) and poor.said and not poor.conversation.holds
    alone = recap.generate(one, "What is it?", method="ar", max_new_tokens=60)
    assert rich.state == "done" and rich.trace.token_ids == alone.token_ids
    after = wait(worker.ask(Answer(poor.conversation, "Why?", None, "recap", 12)))
    assert after.state == "done" and poor.conversation.holds
    assert [message["content"] for message in after.trace.messages][:1] == ["Hello"], "the chat goes on"


def test_a_released_conversation_goes_on_as_if_nothing_had_been(target: Any, made: Any) -> None:
    one, visitor = target("llava"), Conversation()
    worker = made(one)
    wait(worker.ask(Answer(visitor, "Hello", None, "recap", 12)))
    assert visitor.holds and visitor._session.cache.length > 0
    worker.aside(lambda target: visitor.release()).result(30)
    assert not visitor.holds and visitor._session.cache.length == 0 and visitor._session.remembered_bytes() == 0
    after = wait(worker.ask(Answer(visitor, "Why?", None, "recap", 12)))
    plain = recap.Session(one, method="ar")
    expected = [recap.generate(one, turn, session=plain, max_new_tokens=12).token_ids for turn in ("Hello", "Why?")][1]
    assert after.trace.token_ids == expected and after.trace.cached_tokens == 0


def test_memories_are_bounded_in_bytes(target: Any, made: Any) -> None:
    visitor = Conversation()
    worker = made(target("llava"), memory_megabytes=1)
    answer = wait(worker.ask(Answer(visitor, "Hello", None, "recap", 12)))
    assert visitor.drafter().stats()["U"] > 0 and answer.state == "done"
    visitor.tidy(10.0)
    assert visitor.drafter().stats()["U"] == 0 and visitor.growth == []


def test_stop_frees_the_device_within_a_pass_and_closing_ends_all(target: Any, made: Any) -> None:
    worker = made(target("llava"))
    one, two = (Answer(Conversation(), "Hello", None, "ar", 800) for _ in range(2))
    entered, gate = threading.Event(), threading.Event()
    one._passed = lambda: (entered.set(), gate.wait(30))
    worker.ask(one)
    worker.ask(two)
    assert entered.wait(30)
    one.stop()
    passes = len(one.trace.steps)
    gate.set()
    wait(one)
    assert one.state == "done" and one.trace.finish_reason == "cancelled" and len(one.trace.steps) == passes
    assert not two.ended and worker.close(10) and two.ended and two.trace.finish_reason == "cancelled"
    with pytest.raises(Refused, match="closing"):
        worker.ask(Answer(Conversation(), "Hello", None, "ar", 8))


def test_those_with_something_left_may_share_a_piece() -> None:
    turns: Turns[str] = Turns(0.02, 0.04)
    for name in "abc":
        turns.add(name)
    turns.took("b", 0.05)
    assert turns.next() == "a" and turns.able() == ["a", "c"]
    for name in "ac":
        turns.took(name, 0.03)
    assert turns.next() in "ac" and "b" not in turns.able()


def test_visitors_share_passes_where_the_target_packs(target: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answers, in as many passes as the longest of them has; a race has its own."""
    one = target("llava")
    shared: list[int] = []

    def verify_all(runtime: Any, trees: Any) -> list[Any]:
        shared.append(len(trees))
        return [runtime.verify(*tree) for tree in trees]

    alone = [wait(made(one).ask(Answer(Conversation(), question, None, "recap", 40, config=PAPER))) for question in QUESTIONS]
    monkeypatch.setattr(type(one.runtime), "verify_all", verify_all, raising=False)
    answers = [Answer(Conversation(), question, None, "recap", 40, config=PAPER) for question in QUESTIONS]
    race = Contest(Conversation(), "Hello", None, max_new_tokens=12)
    together(made(one), [*answers, race])
    assert [shown(answer) for answer in answers] == [shown(answer) for answer in alone]
    assert max(shared) >= 3 and race.race.identical is True
    assert all(answer.trace.seconds <= answer.used for answer in answers)
