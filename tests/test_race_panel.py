"""The race: numbers of a lane, where its time went, and a result that is true whoever was faster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from visual import race

from . import panels

NAMES = ("Plain decoding (AR)", "RECAP")


def card(left: panels.Trace, right: panels.Trace, names: tuple[str, str] = NAMES) -> str:
    return panels.Page(race.result(left, right, names)).words


def test_a_lane_shows_its_own_numbers() -> None:
    page = panels.Page(race.lane(panels.trace(), "RECAP <3", "writing"))
    assert page.words.startswith(
        "RECAP <3 writing 4 tokens 2.0 s own time 2.0 tokens per second 1.50 tau, tokens a pass 2 passes"
    )
    assert page.named("lane")[0]["class"] == "lane writing"
    stopped = replace(panels.trace(), finish_reason="cancelled")
    assert "stopped" in panels.Page(race.lane(stopped, "RECAP", "ended")).words
    before = panels.Page(race.lane(None, "RECAP", "waiting")).words
    assert before == "RECAP waiting for its turn – tokens – own time – tokens per second – tau, tokens a pass – passes"
    assert "<b>" not in race.lane(None, "<b>", "<b>")


def test_time_by_part_adds_up() -> None:
    trace = panels.trace(seconds=2.0)
    parts = race.seconds(trace)
    assert parts == pytest.approx(
        {"encode": 0.25, "prefill": 0.5, "draft": 0.001, "verify": 0.078, "update": 0.002, "other": 1.169}
    )
    assert sum(parts.values()) == pytest.approx(trace.seconds)
    page = panels.Page(race.split(trace))
    assert page.words == "picture 0.25 s prompt 0.50 s draft 1 ms verify 78 ms update 2 ms other 1.2 s"
    widths = [float(one["style"].removeprefix("--part:")) for tag, one in page.elements if "style" in one]
    assert widths == [12.5, 25.0, 0.05, 3.9, 0.1, 58.45] and sum(widths) == pytest.approx(100)
    nothing = replace(trace, encode_seconds=0, prefill_seconds=0, decode_seconds=0, steps=[])
    assert "No time was measured" in race.split(nothing)
    assert "worth remembering" not in race.split(trace)
    assert "predictions at 7 of its tokens were worth remembering" in race.split(replace(trace, seeded_rows=7))


def test_the_result_measures_by_plain_decoding_on_whichever_side() -> None:
    ours, plain = panels.trace(seconds=2.0), panels.trace("ar", seconds=3.8)
    words = "RECAP took 2.0 s, plain decoding (AR) 3.8 s: 1.9 times as fast on this machine, same 4 tokens."
    passes = "It took 2 passes instead of 2; a pass over its candidates takes 625 ms, one of plain decoding (AR) 1525 ms. "
    passes += "Writing alone, after picture and prompt were read, was 2.4 times as fast."
    assert card(plain, ours) == card(ours, plain, NAMES[::-1]) == f"{words} {passes}"
    assert 'class="result faster"' in race.result(plain, ours, NAMES)
    slow = panels.trace(seconds=6.0)
    assert card(plain, slow).startswith(
        "RECAP took 6.0 s, plain decoding (AR) 3.8 s: 0.6 times as fast: slower here, same 4 tokens."
    )
    assert "about as fast as each other on this machine (1.01 times)" in card(plain, panels.trace(seconds=3.76))
    assert "B 3.8 s: 1.9 times as fast" in card(ours, panels.trace("other", seconds=3.8), ("A", "B"))


def test_the_result_when_the_answers_are_not_the_same() -> None:
    plain = replace(panels.trace("ar", seconds=4.0), token_ids=[0, 1, 4, 2])
    assert "2.0 times as fast on this machine, but they differ from token 3 on: “␣sat” instead of “␣head”." in card(
        plain, panels.trace()
    )
    shorter = replace(plain, token_ids=[0, 1])  # 2 tokens in 4 s against 4 in 2 s
    assert "4.0 times as fast, in tokens per second on this machine, same 2 tokens as far as both went" in card(
        shorter, panels.trace()
    )


def test_no_result_when_someone_was_stopped() -> None:
    plain = replace(panels.trace("ar", seconds=4.0), token_ids=[0, 1], finish_reason="cancelled")
    assert card(plain, panels.trace()) == (
        "No result: plain decoding (AR) was stopped. "
        "Until then RECAP made 2.0 tokens per second, plain decoding (AR) 0.5; same 2 tokens as far as both went."
    )
    both = replace(panels.trace(), finish_reason="cancelled")
    assert "RECAP and plain decoding (AR) were stopped" in card(plain, both)
    assert "before its first token" in card(replace(plain, token_ids=[]), both)


def test_why_it_is_fair() -> None:
    words = panels.Page(race.explain()).words
    assert "take turns on one device" in words and "counts only its own" in words and "empty memories" in words


@pytest.mark.parametrize("number", range(len(panels.HOSTILE)))
def test_token_texts_stay_text(number: int) -> None:
    plain = replace(panels.trace("ar"), token_ids=[0, 1, 4, 2])
    panels.harmless(race.result(plain, panels.hostile(number, panels.trace()), ("<b>", "</p>")))


def test_the_standing_is_the_speedup_so_far() -> None:
    ours, plain = panels.trace(seconds=2.0), panels.trace("ar", seconds=3.8)
    words = "So far RECAP is 1.90 times as fast as plain decoding (AR) (S, tokens per own second); same 4 tokens."
    assert panels.Page(race.standing(plain, ours, NAMES)).words == words
    assert panels.Page(race.standing(ours, plain, NAMES[::-1])).words == words
    ahead = replace(ours, token_ids=[*ours.token_ids, 1])
    assert "same 4 tokens as far as both went." in panels.Page(race.standing(plain, ahead, NAMES)).words
    assert race.standing(replace(plain, token_ids=[]), ours, NAMES) == ""
