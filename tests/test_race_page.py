"""Racing two decoders in Chromium: to the end, on the last question, stopped, and between methods of one's choice."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

import recap

from .app_fixtures import (
    LONG,
    PATIENCE,
    SOON,
    answered,
    ask,
    downloaded,
    ended,
    reload,
    same_numbers,
    see,
    settle,
    where,
)  # fmt: skip

SAME = re.compile(r"✓ same (\d+) tokens as plain decoding \(AR\)\s*$")


def lanes(page: Page) -> list[str]:
    return [page.locator(f"#lane-{at}-text").inner_text() for at in range(2)]


def figures(page: Page, at: int) -> list[str]:
    return page.locator(f"#lane-{at}-numbers dd").all_inner_texts()


def finished(page: Page) -> int:
    """Wait for the end; how many tokens both gave."""
    expect(page.locator("#result .result:is(.faster, .slower, .even) b")).to_be_visible(timeout=PATIENCE)
    ended(page)
    expect(page.locator("#exact-badge")).to_have_text(SAME)
    return int(SAME.search(page.locator("#exact-badge").inner_text())[1])


def test_a_race_to_its_end(page: Page, picture: Path) -> None:
    page.set_input_files("#image input[type=file]", str(picture))
    expect(page.locator("#image img").first).to_be_visible(timeout=SOON)
    settle(page, limit=16, nodes=8)
    page.fill("#prompt textarea", "What colour is this?")
    page.click("#race")
    expect(page.locator("#views [data-view=race]")).to_have_attribute("aria-selected", "true", timeout=SOON)
    expect(page.locator("#stop")).to_be_enabled(timeout=SOON)
    expect(page.locator("#send")).to_be_disabled()
    tokens = finished(page)
    first, second = lanes(page)
    assert first == second and first.strip()
    plain, recap = figures(page, 0), figures(page, 1)
    assert plain[0] == recap[0] == str(tokens) and plain[3] == "1.00" and int(plain[4]) == tokens - 1
    assert int(recap[4]) <= tokens - 1 and float(recap[3]) >= 1.0
    assert all(re.fullmatch(r"[\d.]+ (s|ms)", one[1]) and float(one[2]) > 0 for one in (plain, recap))
    card = page.locator("#result .result")
    expect(card).to_contain_text(f"same {tokens} tokens")
    expect(card).to_contain_text("plain decoding")
    expect(page.locator("#lane-1-numbers .split")).to_contain_text("verify")
    expect(page.locator("#throughput .plot .main-svg").first).to_be_visible()
    names = page.evaluate("document.querySelector('#throughput .plot').data.map((one) => one.name)")
    assert {"plain decoding", "RECAP"} <= {name for name in names if name}
    assert page.locator("#chat .message").count() == 0, "a race is no part of the chat"
    see(page, "steps")
    expect(page.locator("#origin")).to_contain_text("From your race on What colour is this?", timeout=SOON)
    trace = downloaded(page)
    assert trace.comparison.identical and len(trace.token_ids) == tokens and trace.config["max_nodes"] == 8
    same_numbers(page, trace)
    digits = 1 if trace.speedup >= 0.95 else 2
    expect(page.locator("#numbers dd").first).to_have_text(f"{trace.speedup:.{digits}f}x")
    reload(page)
    expect(page.locator("#numbers dd").nth(4)).to_have_text(str(tokens), timeout=SOON)
    see(page, "race")
    expect(page.locator("#result .result b")).to_be_visible(timeout=SOON)


def test_a_race_without_a_question_repeats_the_last_one(page: Page) -> None:
    ask(page, "Name three colours.", tokens=16, nodes=8)
    said = answered(page)
    page.click("#race")
    tokens = finished(page)
    assert [" ".join(lane.split()) for lane in lanes(page)] == [" ".join(said.split())] * 2
    see(page, "steps")
    expect(page.locator("#origin")).to_contain_text("From your race on Name three colours.", timeout=SOON)
    assert page.locator("#chat .bot.message").count() == 1 and tokens <= 16
    page.fill("#prompt textarea", "And three more?")
    page.click("#send")
    answered(page)
    expect(page.locator("#origin")).to_contain_text("Your answer to And three more?", timeout=SOON)
    expect(page.locator("#views [data-view=steps]")).to_have_attribute("aria-selected", "true")


def test_a_race_stopped_on_its_way(page: Page) -> None:
    settle(page, limit=400, nodes=8)
    page.fill("#prompt textarea", LONG)
    page.click("#race")
    for at in range(2):
        expect(page.locator(f"#lane-{at}-text p").first).to_be_visible(timeout=PATIENCE)
    seen = [int(figures(page, at)[0]) for at in range(2)]
    page.click("#stop")
    ended(page)
    expect(page.locator("#notice")).to_contain_text("The race was stopped; both lanes show how far they came.")
    expect(page.locator("#result")).to_contain_text("No result: RECAP and plain decoding were stopped.", timeout=SOON)
    for at in range(2):
        expect(page.locator(f"#lane-{at}-numbers")).to_contain_text("stopped")
        assert seen[at] <= int(figures(page, at)[0]) < 400
    expect(page.locator("#prompt textarea")).to_have_value(LONG)
    page.click("#clear")
    expect(page.locator("#prompt textarea")).to_have_value("")


def test_the_methods_of_both_lanes_can_be_chosen(page: Page) -> None:
    settle(page, limit=16, nodes=8)
    see(page, "race")
    for lane, name in ((0, "RECAP"), (1, "plain decoding")):
        page.locator(f"#lane-{lane} input").click()
        offered = page.get_by_role("option")
        expect(offered).to_have_count(len(recap.METHODS))
        page.get_by_role("option", name=name).click()
        expect(page.locator(f"#lane-{lane} input")).to_have_value(name)
    page.fill("#prompt textarea", "Name three colours.")
    page.click("#race")
    tokens = finished(page)
    for lane, name in ((0, "RECAP"), (1, "plain decoding")):
        expect(page.locator(f"#lane-{lane}-numbers h4")).to_contain_text(name)
    assert lanes(page)[0] == lanes(page)[1] and lanes(page)[0].strip()
    assert figures(page, 0)[0] == figures(page, 1)[0] == str(tokens) and figures(page, 1)[3] == "1.00"
    see(page, "steps")
    trace = downloaded(page)
    assert trace.method == "recap" and trace.comparison.identical and where(page)[1] == len(trace.steps)


def test_the_first_thing_a_visitor_presses_may_be_the_race(page: Page) -> None:
    """It races an example then."""
    page.click("#race")
    expect(page.locator("#race-words")).to_contain_text("Name the twelve months of the year.", timeout=SOON)
    expect(page.locator("#stop")).to_be_enabled(timeout=SOON)
    page.click("#stop")
    expect(page.locator("#send")).to_be_enabled(timeout=PATIENCE)
