"""The conversation in Chromium with the built-in model: asking, stopping, clearing, retrying, reloading, bad input."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client
from playwright.sync_api import Page, expect

from studio.conversation import Conversation
from studio.jobs import Answer
from studio.limits import Limits
from studio.worker import Worker

from .app_fixtures import (
    LONG,
    PATIENCE,
    SOON,
    Visit,
    again,
    answered,
    ask,
    bring,
    downloaded,
    ended,
    nodes,
    reload,
    same_numbers,
    served,
    settle,
    writing,
)  # fmt: skip

IDS = (
    "image", "prompt", "send", "stop", "clear", "chat", "tree", "step-slider", "play", "weights", "throughput",
    "ribbon", "inspector", "memory", "race", "method", "model-status", "exact-badge", "trace-download", "trace-upload",
)  # fmt: skip


def test_the_page_says_what_runs(page: Page) -> None:
    for name in IDS:
        expect(page.locator(f"#{name}")).to_have_count(1, timeout=SOON)
    status = page.locator("#model-status")
    expect(status).to_contain_text(re.compile("bfloat16|float32"), timeout=PATIENCE)
    for words in ("builtin", "cpu", "C core", "stand-in", "front end saw"):
        expect(status).to_contain_text(words)
    expect(page.locator("#exact-badge")).to_contain_text("same")
    expect(page.locator("#origin")).to_contain_text("A recording.")


@pytest.mark.parametrize("width, height, scheme", [(1280, 800, "dark"), (390, 844, "light")])
def test_a_picture_a_question_an_answer(visit: Visit, picture: Path, width: int, height: int, scheme: str) -> None:
    page = visit(width, height, scheme)
    question = "What colour is **this**? <image> <b>Be brief.</b>"
    ask(page, question, picture, tokens=16, nodes=16)
    said = answered(page)
    expect(page.locator("#chat .user.message").last).to_contain_text(question)
    expect(page.locator("#chat .user.message img")).to_have_count(1)
    assert said and "stopped" not in said
    expect(page.locator("#origin")).to_contain_text("Your answer to What colour is **this**? <image>")
    assert page.locator("#ribbon .token").count() > 1 and nodes(page).count() >= 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    trace = downloaded(page)
    assert [one["width"] for one in trace.pictures] == [320] and "[picture]" in trace.messages[-1]["content"]
    same_numbers(page, trace)
    assert " ".join(said.split()) in " ".join(trace.text.replace("**", "").split())
    legend = page.locator("#legend").bounding_box()
    assert legend and legend["x"] + legend["width"] <= width


def test_stop_keeps_what_was_said_and_the_chat_goes_on(page: Page) -> None:
    ask(page, LONG, tokens=400)
    writing(page, 3)
    page.click("#stop")
    expect(page.locator("#notice")).to_contain_text("Stopped after", timeout=60_000)
    ended(page)
    said = page.locator("#chat .bot.message").last.inner_text()
    assert said.strip()
    settle(page, limit=8)
    again(page, "Thank you.")
    assert answered(page)
    assert page.locator("#chat .bot.message").count() == 2
    assert page.locator("#chat .bot.message").first.inner_text() == said
    page.click("#clear")
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(page.locator("#tree")).to_contain_text("Ask something", timeout=SOON)
    expect(page.locator("#ribbon .token")).to_have_count(0)
    expect(page.locator("#numbers dd").first).to_have_text("–")
    again(page, "Hello.")
    assert answered(page) and page.locator("#chat .bot.message").count() == 1


def test_stop_while_the_question_is_still_being_read(page: Page) -> None:
    ask(page, "very long " * 2500)
    expect(page.locator("#chat")).to_contain_text("Reading the question", timeout=SOON)
    expect(page.locator("#tree")).to_contain_text("The model reads the question", timeout=SOON)
    expect(page.locator("#ribbon .token")).to_have_count(0)
    page.click("#stop")
    expect(page.locator("#chat")).to_contain_text("stopped before the first word", timeout=PATIENCE)
    ended(page)
    expect(page.locator("#right")).to_have_attribute("data-waiting", "false")
    page.click("#clear")
    settle(page, limit=8)
    again(page, "Say hello.")
    assert answered(page)


def test_clear_in_the_middle_of_an_answer(page: Page, picture: Path) -> None:
    ask(page, "Write a long story about this picture.", picture, tokens=400)
    writing(page)
    page.click("#clear")
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(page.locator("#image img")).to_have_count(0)
    ended(page)
    page.wait_for_timeout(1500)  # time enough for what was on its way to come back
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(page.locator("#tree")).to_contain_text("Ask something")
    expect(page.locator("#caption p")).to_have_count(0)
    settle(page, limit=8)
    bring(page, picture)
    again(page, "What is this?")
    assert answered(page) and page.locator("#chat .bot.message").count() == 1
    expect(page.locator("#chat .user.message img")).to_have_count(1)  # the picture went along again
    expect(page.locator("#notice")).not_to_contain_text("Stopped")


def test_a_question_right_after_clear_is_answered(page: Page) -> None:
    ask(page, LONG, tokens=400)
    writing(page)
    page.click("#clear")
    page.fill("#prompt textarea", "Say hello again.")
    page.press("#prompt textarea", "Enter")
    expect(page.locator("#chat .user.message")).to_have_text(["Say hello again."], timeout=SOON)
    expect(page.locator("#stop")).to_be_enabled(timeout=SOON)
    page.click("#stop")
    ended(page)
    expect(page.locator("#chat .user.message")).to_have_text(["Say hello again."])
    assert page.locator("#chat .bot.message").count() == 1


def test_a_question_stopped_while_it_waits_can_be_asked_again_at_once(visit: Visit, target: Any) -> None:
    """The page in this process, on a device that one answer has for itself until the test says so."""
    gate, worker = threading.Event(), Worker(lambda: target("llava"), Limits(running=1))
    first = Answer(Conversation(), "Hello", None, "ar", 4)
    first._passed = lambda: gate.wait(120)
    worker.ask(first)
    with served(worker) as url:
        try:
            page = visit(url=url)
            ask(page, "Say hello.", tokens=8)
            expect(page.locator("#chat")).to_contain_text("Waiting for 1 other answer …", timeout=SOON)
            page.click("#stop")
            expect(page.locator("#chat")).to_contain_text("stopped before the first word", timeout=SOON)
            ended(page)
            again(page, "Say goodbye.")
            expect(page.locator("#chat")).to_contain_text("Waiting for 1 other answer …", timeout=SOON)
            assert not first.ended and page.locator("#notice p").count() == 0
            gate.set()
            assert answered(page)
            page.close()
        finally:
            gate.set()


def test_a_question_is_answered_while_a_long_answer_is_being_written(page: Page, address: str) -> None:
    long = Client(address, verbose=False).submit(LONG, None, "ar", 512, api_name="/chat")
    while not long.outputs():
        time.sleep(0.1)
    ask(page, "Say hello.", tokens=8)
    assert answered(page) and not long.done()
    long.cancel()


def test_retry_asks_the_last_question_again(page: Page) -> None:
    expect(page.locator("#retry")).to_be_disabled()
    ask(page, "Name three colours.", tokens=16, nodes=8)
    said = answered(page)
    first = page.locator("#ribbon .pass").count()
    expect(page.locator("#retry")).to_be_enabled()
    page.click("#retry")
    expect(page.locator("#stop")).to_be_enabled(timeout=SOON)
    ended(page)
    expect(page.locator("#chat .bot.message")).to_have_count(1)
    assert page.locator("#chat .bot.message").inner_text() == said
    expect(page.locator("#chat .user.message")).to_have_text("Name three colours.")
    trace = downloaded(page)
    assert page.locator("#ribbon .pass").count() == len(trace.steps) + 1 <= first, "U knows the answer by now"


def test_a_reload_in_the_middle_of_an_answer_keeps_the_chat(page: Page) -> None:
    ask(page, LONG, tokens=400)
    writing(page, 3)
    said = page.locator("#chat .bot.message").last.inner_text()
    reload(page)
    expect(page.locator("#chat .user.message")).to_have_text(LONG, timeout=SOON)
    ended(page)
    after = page.locator("#chat .bot.message").inner_text()
    assert after.startswith(said[: len(said) // 2]) and len(after) >= len(said)
    expect(page.locator("#notice")).to_contain_text("Loading the page anew stopped the answer after", timeout=SOON)
    expect(page.locator("#notice")).to_contain_text("what was said is kept")
    expect(page.locator("#limit input[type=number]")).to_have_value("400", timeout=SOON)
    expect(page.locator("#origin")).to_contain_text("Your answer to Count from one", timeout=SOON)
    assert page.locator("#ribbon .token").count() > 3
    settle(page, limit=8)
    again(page, "Thank you.")
    assert answered(page) and page.locator("#chat .bot.message").count() == 2


def test_two_tabs_have_two_conversations(visit: Visit) -> None:
    one, other = visit(), visit()
    ask(one, "Name three colours.", tokens=8)
    ask(other, "Name two animals.", tokens=8)
    assert answered(one) and answered(other)
    for page, question in ((one, "Name three colours."), (other, "Name two animals.")):
        expect(page.locator("#chat .user.message")).to_have_text(question)
        expect(page.locator("#origin")).to_contain_text(question, timeout=SOON)
    reload(other)
    expect(other.locator("#chat .user.message")).to_have_text("Name two animals.", timeout=SOON)


def test_sending_twice_asks_once(page: Page) -> None:
    settle(page, limit=16, nodes=8)
    page.fill("#prompt textarea", "Name three colours.")
    page.evaluate("document.querySelector('#send').click(); document.querySelector('#send').click()")
    answered(page)
    expect(page.locator("#chat .user.message")).to_have_count(1)
    expect(page.locator("#notice [role=alert]", has_text="still being written")).to_have_count(0)


def test_a_setting_out_of_range_is_named(page: Page) -> None:
    page.fill("#prompt textarea", "Name three colours.")
    page.locator("#temperature input[type=number]").evaluate(  # no blur, at which gradio puts it right
        "(field) => { field.value = 99; field.dispatchEvent(new Event('input', { bubbles: true }));"
        " setTimeout(() => document.querySelector('#send').click(), 200); }"
    )
    expect(page.locator("#notice")).to_contain_text("Temperature must be from 0 to 5, got 99", timeout=SOON)
    page.click("#open-settings")
    page.click("#defaults")
    expect(page.locator("#nodes input[type=number]")).to_have_value("63", timeout=SOON)
    expect(page.locator("#budget input")).to_have_value(re.compile("^auto"), timeout=SOON)


def test_two_tabs_that_ask_at_once_leave_the_browser_a_connection(visit: Visit) -> None:
    tabs = [visit() for _ in range(2)]
    ask(tabs[0], LONG, tokens=400)
    ask(tabs[1], LONG, tokens=400)
    expect(tabs[1].locator("#stop")).to_be_enabled(timeout=SOON)
    seconds = tabs[1].evaluate(
        "async () => { const began = performance.now(); await fetch('config', { signal: AbortSignal.timeout(20000) });"
        " return (performance.now() - began) / 1000; }"
    )
    assert tabs[0].locator("#stop").is_enabled() and seconds < 20
    for tab in tabs[::-1]:
        tab.click("#stop")
        ended(tab)


def test_a_page_on_a_phone_opens_at_its_top(visit: Visit) -> None:
    page = visit(390, 844, "light")
    expect(page.locator("#ribbon .token").first).to_be_attached(timeout=SOON)
    page.wait_for_timeout(500)
    assert page.evaluate("scrollY") == 0
    page.get_by_role("tab", name="Memory", exact=True).click()
    page.wait_for_function("scrollY > 0")


def test_hostile_questions_are_shown_as_typed(page: Page) -> None:
    question = (
        "<img src=x onerror='window.hurt=1'> </script><script>window.hurt=1</script> **a** [b](javascript:x) \u202eabc"
    )
    ask(page, question, tokens=8)
    answered(page)
    expect(page.locator("#chat .user.message")).to_contain_text("<img src=x onerror='window.hurt=1'> </script><script>")
    expect(page.locator("#chat .user.message")).to_contain_text("**a** [b](javascript:x)")
    assert page.locator("#chat .message :is(img, script, a)").count() == 0
    expect(page.locator("#origin q")).to_contain_text("<img src=x", timeout=SOON)
    assert "\u202e" not in page.locator("#origin").inner_text()
    assert page.evaluate("window.hurt") is None


def test_a_bad_picture_is_told_before_anyone_asks(page: Page, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"this is no picture at all")
    page.set_input_files("#image input[type=file]", str(broken))
    expect(page.locator("#flaw")).to_contain_text("'broken.png' could not be read", timeout=SOON)
    for name in ("#send", "#method", "#legend"):
        box = page.locator(name).bounding_box()
        assert box and box["y"] + box["height"] <= 800, name
    page.fill("#prompt textarea", "What is this?")
    page.click("#send")
    expect(page.locator("#notice")).to_contain_text("picture", timeout=PATIENCE)
    ended(page)
    expect(page.locator("#prompt textarea")).to_have_value("What is this?")
    page.click("#clear")
    expect(page.locator("#flaw p")).to_have_count(0)
    page.click("#send")
    expect(page.locator("#notice")).to_contain_text("Type a question first", timeout=SOON)
    box = page.locator("#send").bounding_box()
    assert box and box["y"] + box["height"] <= 800


def test_a_question_that_is_too_long_comes_back(page: Page) -> None:
    again(page, "very long " * 20_000)
    expect(page.locator("#notice")).to_contain_text("tokens", timeout=PATIENCE)
    assert len(page.input_value("#prompt textarea")) > 100_000  # kept, so that it can be shortened
    expect(page.locator("#chat .message")).to_have_count(0)
    page.click("#open-settings")
    page.fill("#nodes input[type=number]", "")
    page.press("#nodes input[type=number]", "Tab")
    page.keyboard.press("Escape")


def test_an_example_fills_in_its_picture_and_question(page: Page) -> None:
    page.locator("#examples button:has(img)").first.click()
    expect(page.locator("#image img").first).to_be_visible(timeout=SOON)
    expect(page.locator("#prompt textarea")).not_to_have_value("")
    page.locator("#examples button:not(:has(img))").first.click()
    expect(page.locator("#image img")).to_have_count(0, timeout=SOON)
    expect(page.locator("#prompt textarea")).not_to_have_value("")
