"""What a reader wished last holds, however quickly one wish follows another, and nothing on show belongs to something else."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from .app_fixtures import (
    LONG,
    PATIENCE,
    SOON,
    again,
    answered,
    ask,
    choose,
    nodes,
    reload,
    see,
    settle,
    shows,
    where,
    writing,
)  # fmt: skip

SLIDE = """(stops) => {
  const input = document.querySelector("#step-slider input");
  for (const stop of stops) {
    input.value = stop;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }
}"""


def passes(page: Page) -> int:
    shows(page)
    return where(page)[1]


def at_rest(page: Page) -> str:
    """The caption when nothing is under way any more."""
    page.wait_for_timeout(700)
    return page.locator("#caption").inner_text()


def test_the_last_of_many_wishes_is_on_show(page: Page) -> None:
    last = passes(page)
    for stops in ([3, 4, 3], [1, last, 2], [5, 6, 7, 8, 5]):
        page.evaluate(SLIDE, stops)
        shows(page, stops[-1])
        assert at_rest(page).startswith(f"Pass {stops[-1]} of {last}") and where(page)[0] == stops[-1]
    page.locator("#tree .frame").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    shows(page, 9)
    for _ in range(3):
        page.click("#previous")
    shows(page, 6)
    tokens = page.locator("#ribbon .token")
    for at in (2, 9):
        tokens.nth(at).click()
    chosen = tokens.nth(9)
    expect(chosen).to_have_class(re.compile("current"), timeout=SOON)
    assert where(page)[0] == int(chosen.get_attribute("data-step")) + 1
    assert page.locator("#ribbon .token.current").count() == 1


def test_what_was_under_way_does_not_follow_to_another_trace(page: Page) -> None:
    last = passes(page)
    for pause in (20, 100, 160):
        see(page, "steps")
        page.evaluate(SLIDE, [last])
        page.wait_for_timeout(pause)
        see(page, "traces")
        other = page.locator("#trace-list [data-trace]:not([aria-current])").first
        other.click(timeout=SOON)
        last = passes(page)
        assert re.match(r"Pass \d+ of \d+ ", at_rest(page)) and "must be" not in page.locator("#caption").inner_text()


def test_an_empty_page_takes_every_key_and_button(page: Page) -> None:
    passes(page)
    ask(page, "Say yes.", tokens=8)
    answered(page)
    page.click("#clear")
    expect(page.locator("#tree")).to_contain_text("Ask something", timeout=SOON)
    for key in (" ", "ArrowRight", "End", "Home"):
        page.locator("#tree .frame").focus()
        page.keyboard.press(key)
    for button in ("#play", "#next", "#previous", "#tree .toggle"):
        if page.locator(button).is_visible() and page.locator(button).is_enabled():
            page.click(button)
    assert at_rest(page) == "" and page.locator("#where .room").inner_text() == "–"
    see(page, "traces")
    page.locator("#trace-list [data-trace]").last.click(timeout=SOON)
    passes(page)
    page.click("#clear")  # what is on show goes, though the chat was empty already
    expect(page.locator("#tree")).to_contain_text("Ask something", timeout=SOON)
    expect(nodes(page)).to_have_count(0)


def test_a_reload_shows_the_pass_with_its_sentence(page: Page) -> None:
    ask(page, "Name three colours.", tokens=12)
    answered(page)
    for _ in range(2):
        reload(page)
        passes(page)
        assert at_rest(page).startswith("Pass ")


def test_ones_growing_answer_opened_again_goes_on_growing(page: Page) -> None:
    settle(page, limit=512)
    choose(page, "method", "plain decoding")  # long enough to look elsewhere meanwhile
    again(page, LONG)
    writing(page, 3)
    see(page, "traces")
    page.locator("#trace-list [data-trace]").last.click(timeout=SOON)
    expect(page.locator("#origin")).to_contain_text("A recording", timeout=SOON)
    see(page, "traces")
    page.locator("#trace-list [data-trace]").first.click(timeout=SOON)
    writing(page)
    before = where(page)[1]
    page.wait_for_function(
        "(least) => Number(document.querySelector('#where .room').textContent.split(' / ')[1]) > least", arg=before, timeout=PATIENCE
    )
    page.click("#stop")
    expect(page.locator("#send")).to_be_enabled(timeout=PATIENCE)
    shows(page)
    now, last = where(page)
    assert at_rest(page).startswith(f"Pass {now} of {last}")
