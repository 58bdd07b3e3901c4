"""Who is here: reloads find their conversation, two tabs have two, and what nobody comes back for is let go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from studio.conversation import Conversation
from studio.jobs import Answer
from studio.limits import Limits
from studio.visitors import Visitors
from studio.worker import Worker


class Clock:
    """Time that passes only when somebody sleeps; `then` happens during the first sleep."""

    def __init__(self) -> None:
        self.now, self.slept = 1000.0, 0.0
        self.then: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now, self.slept = self.now + seconds, self.slept + seconds
        happens, self.then = self.then, lambda: None
        happens()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def visitors(clock: Clock) -> Visitors:
    return Visitors(lambda: clock.now, clock.sleep)


def closed(conversation: Conversation) -> bool:
    """Told by the memories' history, which nothing else empties here."""
    return conversation.growth == []


def met(visitors: Visitors, page: str, key: str | None = None) -> Conversation:
    conversation = visitors.arrive(page, key)
    conversation.growth.append([{"U": 1}])
    return conversation


def test_every_page_has_a_conversation_of_its_own(visitors: Visitors, clock: Clock) -> None:
    first, second = visitors.arrive("a"), visitors.arrive("b")
    assert first is not second and first.key != second.key and len(first.key) >= 20
    assert visitors.of("a") is first and visitors.arrive("a") is first and visitors.arrive("b", "no such key") is second
    assert visitors.known(first.key) is first and visitors.known("no such key") is None and visitors.known(None) is None
    assert clock.slept == 0


def test_a_reload_keeps_chat_memories_and_last_answer(visitors: Visitors, clock: Clock) -> None:
    mine = met(visitors, "a")
    mine.messages.append({"role": "user", "content": "Hello"})
    visitors.leave("a")
    assert visitors.known(mine.key) is mine
    assert visitors.arrive("b", mine.key) is mine and visitors.of("b") is mine
    assert mine.messages and mine.growth and clock.slept == 0
    assert visitors.of("a") is not mine, "the old page has no part in it any more"


def test_a_reload_that_overtakes_its_old_page_waits_for_it(visitors: Visitors, clock: Clock) -> None:
    mine = met(visitors, "a")
    clock.then = lambda: visitors.leave("a")
    assert visitors.arrive("b", mine.key) is mine and 0 < clock.slept < 0.2


def test_a_duplicated_tab_does_not_take_a_conversation(visitors: Visitors, clock: Clock) -> None:
    mine = met(visitors, "a")
    other = visitors.arrive("b", mine.key)
    assert other is not mine and other.key != mine.key and 1.4 < clock.slept < 1.7
    assert visitors.of("a") is mine and visitors.of("b") is other
    visitors.leave("a")
    assert visitors.of("b") is other and not closed(mine)


def test_of_two_that_wait_for_one_conversation_one_gets_it() -> None:
    visitors = Visitors()
    mine = visitors.arrive("a")
    found: list[Conversation] = []

    def arrive(name: str) -> None:
        found.append(visitors.arrive(name, mine.key))

    waiting = [threading.Thread(target=arrive, args=(name,)) for name in "bc"]
    for thread in waiting:
        thread.start()
    visitors.leave("a")
    for thread in waiting:
        thread.join(10)
    assert len(found) == 2 and sum(one is mine for one in found) == 1


def test_leaving_stops_the_answer(visitors: Visitors) -> None:
    gate = threading.Event()
    worker = Worker(lambda: gate.wait(30) and None)
    ahead = worker.ask(Answer(Conversation(), "Hello", None, "recap", 8))
    mine = visitors.arrive("a")
    answer = worker.ask(Answer(mine, "Hello", None, "recap", 8))
    visitors.leave("a")
    assert answer.stopped and answer.ended and mine.answer is None and mine.latest is answer and not ahead.stopped
    visitors.leave("a")
    visitors.leave("nobody")
    gate.set()


def test_a_lost_connection_finds_its_conversation_again(visitors: Visitors) -> None:
    mine = met(visitors, "a")
    visitors.leave("a")
    assert visitors.of("a") is mine
    visitors.leave("a")
    assert visitors.arrive("a", mine.key) is mine and visitors.of("a") is mine


def test_a_page_that_never_arrived_gets_a_new_conversation(visitors: Visitors) -> None:
    stranger = visitors.of("z")
    assert visitors.of("z") is stranger and visitors.known(stranger.key) is stranger


def test_what_was_left_is_kept_for_a_quarter_of_an_hour(visitors: Visitors, clock: Clock) -> None:
    mine = met(visitors, "a")
    visitors.leave("a")
    clock.now += 15 * 60
    assert visitors.known(mine.key) is mine
    clock.now += 1
    other = visitors.arrive("b", mine.key)
    assert other is not mine and closed(mine) and visitors.known(mine.key) is None
    assert visitors.of("a") is not mine


def test_of_what_was_left_the_last_few_are_kept(visitors: Visitors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.visitors._MOST_LEFT", 4)
    pages = [met(visitors, name) for name in "abcdef"]
    for name in "bacdef":
        visitors.leave(name)
    assert [closed(page) for page in pages] == [True, True, False, False, False, False]
    assert visitors.arrive("g", pages[2].key) is pages[2]


def test_a_page_without_a_heartbeat_that_is_not_heard_of_has_gone(visitors: Visitors, clock: Clock) -> None:
    silent, busy = met(visitors, "a"), met(visitors, "b")
    for _ in range(5):
        clock.now += 4 * 60
        visitors.of("b")
    assert visitors.known(silent.key) is silent and not closed(silent), "it counts as left now"
    clock.now += 16 * 60
    assert visitors.of("b") is busy and closed(silent) and visitors.known(silent.key) is None


@pytest.mark.parametrize("key", [5, [], {}, b"key", "\0", "x" * 100_000])
def test_keys_may_be_anything(visitors: Visitors, key: object) -> None:
    assert isinstance(visitors.arrive("a", key), Conversation) and visitors.known(key) is None


def test_a_page_that_is_sure_takes_its_conversation_from_whoever_was_cut_off(visitors: Visitors, clock: Clock) -> None:
    mine = met(visitors, "a")
    assert visitors.arrive("b", mine.key, sure=True) is mine and clock.slept == 0
    assert visitors.of("a") is not mine, "the old page is gone; if it speaks again it begins anew"
    assert visitors.arrive("c", mine.key) is not mine and clock.slept > 0, "without a word from the browser nothing is taken"


def test_a_page_with_a_heartbeat_makes_no_room_for_those_without(clock: Clock) -> None:
    visitors = Visitors(lambda: clock.now, clock.sleep, Limits(visitors=10))
    with visitors.beating("open"):
        mine = met(visitors, "open")
        mine.messages.append({"role": "user", "content": "Hello"})
        for number in range(200):  # a flood of names nobody has a page for
            clock.now += 1
            visitors.of(f"made-up-{number}")
        assert visitors.of("open") is mine and not closed(mine) and len(visitors) == 10
    other = visitors.of("elsewhere")
    clock.now += 16 * 60
    visitors.tidy()
    assert len(visitors) == 0 and visitors.known(other.key) is other, "without a heartbeat and unheard of: left, and found again"
    assert visitors.of("open") is mine and not closed(mine)


def test_whoever_left_with_a_chat_is_kept_before_those_without_one(visitors: Visitors, clock: Clock) -> None:
    mine = met(visitors, "a")
    mine.messages.append({"role": "user", "content": "Hello"})
    visitors.leave("a")
    for number in range(100):
        visitors.arrive(f"made-up-{number}")
        visitors.leave(f"made-up-{number}")
    assert visitors.arrive("b", mine.key) is mine


def test_caches_are_given_back_by_their_bytes(clock: Clock) -> None:
    released: list[Conversation] = []
    visitors = Visitors(lambda: clock.now, clock.sleep, Limits(caches_megabytes=10), released.append)
    pages = []
    for number in range(5):
        clock.now += 1
        pages.append(visitors.arrive(str(number)))
        pages[-1]._session = SimpleNamespace(cache=SimpleNamespace(bytes=3_000_000))
    clock.now += 1
    visitors.tidy()
    assert released == pages[:2], "the newest three fit into 10 MB"


def test_a_lost_heartbeat_costs_no_conversation(visitors: Visitors) -> None:
    mine = met(visitors, "a")
    visitors.leave("a")  # the heartbeat broke, the page did not notice
    assert visitors.of("a") is mine
    assert visitors.arrive("b", mine.key, sure=True) is mine


class Held(Conversation):
    """A conversation that says whether the engine's session is there, without an engine."""

    held = False

    @property
    def holds(self) -> bool:
        return self.held


@pytest.fixture
def crowd(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Visitors, list[Conversation]]]:
    """`crowd(**limits)`: visitors whose conversations are as told, and what was given back or gone, in order."""
    monkeypatch.setattr("studio.visitors.Conversation", Held)
    monkeypatch.setattr("studio.visitors._MOST_LEFT", 4)

    def make(**limits: float) -> tuple[Visitors, list[Conversation]]:
        ends: list[Conversation] = []

        def release(conversation: Held) -> None:
            conversation.held = False
            ends.append(conversation)

        return Visitors(lambda: clock.now, clock.sleep, Limits(**limits), release, ends.append), ends

    return make


def test_who_is_quiet_for_long_gives_cache_and_memories_back(clock: Clock, crowd: Callable[..., Any]) -> None:
    visitors, released = crowd(idle_minutes=10)
    quiet, busy, empty = (visitors.of(name) for name in "abc")
    quiet.held = busy.held = True
    busy.answer = object()
    clock.now += 601
    visitors.tidy()
    assert released == [quiet] and visitors.of("a") is quiet and len(visitors) == 3
    quiet.held, busy.answer = True, None
    visitors.tidy()
    assert released == [quiet, busy], "it has just spoken; the other is quiet now"
    assert empty not in released
    quiet.held, clock.now = True, clock.now + 601
    visitors.tidy()
    quiet.held = True
    visitors.tidy()
    assert released == [quiet, busy, quiet], "not asked again at every turn"
    clock.now += 11
    visitors.tidy()
    assert released == [quiet, busy, quiet, quiet]


def test_only_so_many_hold_a_cache_and_so_many_pages_are_open(clock: Clock, crowd: Callable[..., Any]) -> None:
    visitors, ends = crowd(sessions=2, visitors=5)
    pages = []
    for name in "abcde":
        clock.now += 1
        pages.append(visitors.of(name))
        pages[-1].held = True
    visitors.tidy()
    assert ends == pages[:3], "those not heard of for longest"
    clock.now += 1
    visitors.of("b")
    sixth = visitors.of("f")
    visitors.tidy()
    assert len(visitors) == 5 and visitors.of("f") is sixth and visitors.known(pages[0].key) is pages[0]
    for name in "ghijk":
        clock.now += 1
        visitors.of(name)
        visitors.tidy()
    assert pages[0] in ends[3:] and visitors.known(pages[0].key) is None, "gone for good after the last four that left"
