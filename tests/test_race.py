"""Two methods taking turns on one device: the same tokens as alone, and clocks that nobody else's work moves."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

import recap

from . import tiny
from .test_lossless import FIXED
from .test_session import encoder_calls

QUESTION, PICTURE = "What is the woman carrying?", tiny.picture(1)
LENGTH = 40

families = pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])


def run(loaded, **settings):
    with recap.Race(loaded, QUESTION, [PICTURE], **{"max_new_tokens": LENGTH, **settings}) as race:
        order = list(race)
    return race, order


@families
@pytest.mark.parametrize("methods", [("ar", "recap"), ("recap", "ar")])
def test_both_lanes_say_what_they_would_say_alone(target, family, methods):
    loaded = target(family)
    calls, hook = encoder_calls(loaded)
    race, order = run(loaded, methods=methods, config=FIXED)
    hook.remove()
    assert len(calls) == 2 and all(trace.cached_tokens == 0 for trace in race.traces), "nothing is shared"
    for trace, method in zip(race.traces, methods):
        alone = recap.generate(loaded, QUESTION, [PICTURE], method=method, max_new_tokens=LENGTH, config=FIXED)
        assert trace.method == method and trace.token_ids == alone.token_ids and trace.text == alone.text
        assert trace.finish_reason == alone.finish_reason and len(trace.steps) == len(alone.trace.steps)
    assert [order.count(lane) for lane in (0, 1)] == [1 + len(trace.steps) for trace in race.traces]
    assert race.finished and race.identical is True and race.first_difference is None
    ours, plain = (race.traces[methods.index(method)] for method in ("recap", "ar"))
    assert plain.comparison is None and ours.comparison.identical and ours.comparison.text == plain.text
    assert ours.comparison.seconds == plain.seconds
    expected = (len(ours.token_ids) / ours.seconds) / (len(plain.token_ids) / plain.seconds)
    assert ours.speedup == pytest.approx(expected)
    assert race.speedup == pytest.approx(expected if methods[1] == "recap" else 1 / expected)


def test_the_lane_with_less_time_on_its_clock_moves(target):
    race = recap.Race(target("llava"), QUESTION, [PICTURE], max_new_tokens=LENGTH)
    assert race.traces == (None, None) and race.speedup is None and race.identical is None
    order = []
    while True:
        seconds = [trace.seconds if trace else 0.0 for trace in race.traces]
        running = [lane for lane, trace in enumerate(race.traces) if trace is None or not trace.finish_reason]
        lane = next(race, None)
        if lane is None:
            break
        order.append(lane)
        assert lane in running and seconds[lane] == min(seconds[one] for one in running)
        others = [trace.seconds if trace else 0.0 for trace in race.traces]
        if len(order) == 2:  # both have seen the picture, and share what that took
            assert race.traces[0].encode_seconds == race.traces[1].encode_seconds > 0
        else:
            assert others[lane] > seconds[lane] and others[1 - lane] == seconds[1 - lane], "one clock moves at a time"
    assert order[:2] == [0, 1] and running == []


def test_clocks_count_their_own_work_only(target):
    race = recap.Race(target("llava"), QUESTION, [PICTURE], max_new_tokens=12)
    begun, slept = time.perf_counter(), 0.0
    for _ in race:
        clock = time.perf_counter()
        time.sleep(0.01)
        slept += time.perf_counter() - clock
    worked = time.perf_counter() - begun - slept
    assert slept > 0.1
    assert 0 < sum(trace.seconds for trace in race.traces) <= worked


def test_a_drawn_answer_has_one_seed_for_both(target):
    seeds = set()
    for _ in range(2):
        race, _ = run(target("llava"), temperature=1.0)
        first, second = race.traces
        assert first.seed == second.seed and first.seed is not None
        assert race.identical is True and second.comparison.identical
        seeds.add(first.seed)
    assert len(seeds) == 2, "a fresh seed each time"
    race, _ = run(target("llava"), temperature=1.0, seed=7)
    assert [trace.seed for trace in race.traces] == [7, 7]


def test_config_and_limits_reach_both_lanes(target):
    config = recap.RecapConfig(max_nodes=5, suffix_tokens=0)
    race, _ = run(target("llava"), config=config, max_new_tokens=12)
    assert [trace.config for trace in race.traces] == [config.to_dict()] * 2
    assert {len(step) for step in race.traces[1].steps[:-1]} <= set(range(1, 7))
    race, order = run(target("llava"), max_new_tokens=1)
    assert order == [0, 1] and race.identical is True and not any(trace.steps for trace in race.traces)
    assert race.traces[1].comparison.identical


def test_plain_decoding_against_itself(target):
    race, _ = run(target("llava"), methods=("ar", "ar"))
    assert race.identical is True and all(trace.comparison.identical for trace in race.traces)
    assert race.traces[0].speedup * race.traces[1].speedup == pytest.approx(1.0)


def test_without_plain_decoding_nothing_is_compared(target):
    race, _ = run(target("llava"), methods=("recap", "recap"))
    assert race.identical is True and [trace.comparison for trace in race.traces] == [None, None]
    assert race.speedup > 0


@pytest.mark.parametrize("pieces", [0, 1, 2, 7])
def test_closing_cancels_both(target, pieces):
    race = recap.Race(target("llava"), QUESTION, [PICTURE], max_new_tokens=LENGTH)
    order = [next(race) for _ in range(pieces)]
    race.close()
    race.close()
    assert next(race, None) is None and not race.finished and race.identical is None
    for lane, trace in enumerate(race.traces):
        assert (trace is None) == (lane not in order)
        assert trace is None or (trace.finish_reason == "cancelled" and trace.comparison is None)


def test_a_long_prompt_can_be_left_off(target):
    answers = iter([False])
    race = recap.Race(target("llava"), QUESTION, max_new_tokens=LENGTH, proceed=lambda: next(answers))
    assert list(race) == [0]
    assert race.traces[0].finish_reason == "cancelled" and race.traces[0].token_ids == [] and race.traces[1] is None
    asked = []
    race = recap.Race(target("llava"), QUESTION, max_new_tokens=4, proceed=lambda: not asked.append(1))
    list(race)
    assert race.finished and len(asked) == 2, "each lane asks for its own prompt"


def test_mistakes_are_told(target):
    loaded = target("llava")
    for methods in (("ar", "magic"), ("ar",), ("ar", "recap", "ar")):
        with pytest.raises(ValueError, match="methods must be two of ar, recap"):
            recap.Race(loaded, QUESTION, methods=methods)
    with pytest.raises(ValueError, match="max_new_tokens"):
        recap.Race(loaded, QUESTION, max_new_tokens=0)
    race = recap.Race(loaded, QUESTION, [b"no picture"])
    with pytest.raises(ValueError):
        next(race)
    assert next(race, None) is None and race.traces == (None, None)


@pytest.mark.parametrize(
    ("answers", "ends", "difference", "identical"),
    [
        (([], []), ("", ""), None, None),
        (([1, 2], [1]), ("", ""), None, None),
        (([1, 2], [1, 3]), ("", ""), 1, False),
        (([1], [1, 2]), ("stop", ""), 1, False),
        (([1, 2], [1]), ("", "length"), 1, False),
        (([1, 2], [1]), ("stop", ""), None, None),
        (([1], [1, 2]), ("cancelled", "stop"), None, None),
        (([1, 2], [1, 2]), ("stop", ""), None, None),
        (([1, 2], [1, 2]), ("stop", "stop"), None, True),
    ],
)
def test_when_answers_are_known_to_differ(target, answers, ends, difference, identical):
    race = recap.Race(target("llava"), QUESTION)
    race._streams = [
        SimpleNamespace(trace=SimpleNamespace(token_ids=ids, finish_reason=end)) for ids, end in zip(answers, ends)
    ]
    assert race.first_difference == difference and race.identical is identical


def test_an_interrupted_comparison_keeps_the_answer_so_far(tiny_folder, tmp_path, capsys, monkeypatch):
    from recap.__main__ import main

    work = recap.Race._work

    def interrupted(self, lane):
        work(self, lane)
        if self.traces[0].steps[2:]:
            raise KeyboardInterrupt

    monkeypatch.setattr(recap.Race, "_work", interrupted)
    file = tmp_path / "out.json"
    asked = ["generate", "--prompt", "Hi", "--max-new-tokens", "40", "--compare", "--trace", str(file)]
    model = ["--model", str(tiny_folder("llava")), "--dtype", "float32", "--device", "cpu"]
    assert main([*asked, *model]) == 130
    trace = recap.Trace.from_json(file.read_text(encoding="utf-8"))
    assert trace.finish_reason == "cancelled" and len(trace.steps) == 3 and trace.comparison is None
    printed = capsys.readouterr()
    assert printed.out == trace.text + "\n" and "plain AR" not in printed.err
