"""Traces by unguessable ids: what is looked at stays, what is not makes room."""

from __future__ import annotations

import random
import threading
import tracemalloc

import pytest

from recap.trace import Trace
from studio.shelf import Shelf, weight

from . import synthetic


def trace(seed: int = 0, steps: int = 1, end: str = "stop") -> Trace:
    made = synthetic.trace(random.Random(seed), steps, nodes=6)
    made.finish_reason = end
    return made


def test_what_is_put_is_found_and_nothing_else() -> None:
    shelf, one, other = Shelf(), trace(1), trace(1)
    names = shelf.put(one, note="answer"), shelf.put(other)
    assert names[0] != names[1] and min(map(len, names)) >= 20
    assert shelf.get(names[0]) is one and shelf.get(names[1]) is other
    assert shelf.put(one) == names[0] and shelf.put(other) == names[1], "equal traces are two, the same trace is one"
    assert (shelf.note(names[0]), shelf.note(names[1]), shelf.note("none")) == ("answer", "", "")
    for name in ("", "none", None, 5, [], {}):
        assert shelf.get(name) is None and shelf.note(name) == ""


def test_those_not_looked_at_for_longest_make_room() -> None:
    shelf = Shelf(limit=3)
    names = [shelf.put(trace(seed)) for seed in range(3)]
    assert shelf.get(names[0]) is not None
    names.append(shelf.put(trace(3)))
    assert [shelf.get(name) is not None for name in names] == [True, False, True, True]
    names.append(shelf.put(trace(4)))
    assert [shelf.get(name) is not None for name in names] == [False, False, True, True, True]


def test_recordings_stay_and_take_no_room() -> None:
    shelf, recordings = Shelf(limit=1), [trace(seed) for seed in range(3)]
    for number, recording in enumerate(recordings):
        shelf.pin(recording, f"recording-{number}", note="recording")
    names = [shelf.put(trace(seed)) for seed in range(10, 14)]
    shelf.get("recording-0")
    assert shelf.pinned() == [(f"recording-{number}", one) for number, one in enumerate(recordings)]
    assert shelf.get("recording-1") is recordings[1] and shelf.note("recording-2") == "recording"
    assert [shelf.get(name) is not None for name in names] == [False, False, False, True]
    with pytest.raises(ValueError, match="recording-1"):
        shelf.pin(trace(), "recording-1")


def test_what_still_grows_stays_until_it_has_ended() -> None:
    shelf, live = Shelf(limit=1), trace(0, end="")
    name = shelf.put(live, growing=True)
    others = [shelf.put(trace(seed, end="")) for seed in range(1, 4)]
    assert shelf.get(name) is live and [shelf.get(one) is not None for one in others] == [False, False, True]
    live.finish_reason = "stop"
    assert shelf.get(others[-1]) is not None
    last = shelf.put(trace(9))
    assert shelf.get(name) is None and shelf.get(last) is not None


def test_all_together_keep_within_their_megabytes() -> None:
    sizes = [weight(trace(seed, steps=20)) for seed in range(4)]
    shelf = Shelf(megabytes=sum(sizes[1:]) / 1e6)
    names = [shelf.put(trace(seed, steps=20)) for seed in range(4)]
    assert [shelf.get(name) is not None for name in names] == [False, True, True, True]
    huge = shelf.put(trace(5, steps=100))
    assert [shelf.get(name) for name in names] == [None] * 4 and shelf.get(huge) is not None, "the latest stays"


@pytest.mark.parametrize(("nodes", "steps"), [(63, 10), (16, 40)])
def test_weights_are_about_what_memory_says(nodes: int, steps: int) -> None:
    tracemalloc.start()
    try:
        kept = synthetic.trace(random.Random(0), steps, nodes)
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.6 < weight(kept) / taken < 1.6
    assert weight(Trace.from_json(kept.to_json())) == weight(kept)


def test_many_threads_at_once() -> None:
    shelf, failures = Shelf(limit=8), []

    def use(number: int) -> None:
        try:
            for seed in range(30):
                one = trace(1000 * number + seed)
                name = shelf.put(one)
                assert shelf.get(name) in (one, None)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == [] and len(shelf._places) == 8


def test_nobody_pushes_out_what_belongs_to_others() -> None:
    shelf = Shelf(limit=4)
    few = [shelf.put(trace(10), owner="few") for _ in range(2)]
    many = [shelf.put(trace(10), owner="many") for _ in range(10)]
    assert all(shelf.get(name) is not None for name in few)
    assert [shelf.get(name) is not None for name in many] == [False] * 8 + [True] * 2
    shelf.drop("few")
    assert all(shelf.get(name) is None for name in few) and shelf.get(many[-1]) is not None
