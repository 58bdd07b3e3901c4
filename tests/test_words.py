"""The stream that brings an answer's words to the browser."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from starlette.applications import Starlette
from starlette.testclient import TestClient

from studio import words
from studio.conversation import Answer
from studio.visitors import Visitors
from studio.worker import Worker

from .app_fixtures import LONG, Visit, answered, ask, writing


@pytest.fixture
def visitors() -> Visitors:
    return Visitors()


@pytest.fixture
def worker() -> Worker:
    one = Worker(lambda: None)
    one.target = object()
    return one


@pytest.fixture
def answer(visitors: Visitors) -> Answer:
    """An answer that waits in the second turn of a conversation."""
    mine = visitors.arrive("a")
    mine.messages = [{"role": role, "content": ""} for role in ("user", "assistant", "user", "assistant")]
    answer = mine.answer = Answer(mine, "Why?", None, "recap", 8)
    answer.state = "reading"
    return answer


def apart(work: Any) -> Any:
    """Await it on a thread of its own: the browser of other tests has a running loop on this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def said(answer: Answer, text: str) -> None:
    answer.trace = SimpleNamespace(text=text)


def events(worker: Worker, answer: Answer, acts: list[Any]) -> list[dict[str, Any] | str]:
    """What the stream says while `acts` happen, one whenever it has said something."""

    async def collect() -> list[dict[str, Any] | str]:
        found: list[dict[str, Any] | str] = []
        async for event in words._events(worker, answer, 1, 0.001):
            assert answer.listeners == 1
            name, _, data = event.removesuffix("\n\n").partition(": ")
            found.append(json.loads(data) if name == "data" else name + ": " + data)
            if acts:
                acts.pop(0)()
        return found

    found = apart(collect())
    assert answer.listeners == 0
    return found


def test_every_change_of_the_words_is_an_event_and_no_repetition_is(worker: Worker, answer: Answer) -> None:
    def end() -> None:
        answer.state = "done"

    acts = [lambda: said(answer, "One"), lambda: said(answer, "One <b>"), lambda: threading.Timer(0.05, end).start()]
    found = events(worker, answer, acts)
    assert [one["html"] if isinstance(one, dict) else one for one in found] == [
        "<p><em>Reading the question …</em></p>", "<p>One</p>", "<p>One &#60;b&#62;</p>", "event: end\ndata:",
    ]  # fmt: skip
    assert all(one["at"] == 1 for one in found[:-1])


def test_whoever_has_no_answer_to_wait_for_is_sent_away(visitors: Visitors, worker: Worker, answer: Answer) -> None:
    with TestClient(Starlette(routes=[words.route(visitors, worker)])) as client:
        assert client.get("/words").status_code == client.get("/words?key=nobody").status_code == 204
        key = answer.conversation.key
        said(answer, "Because.")

        def end() -> None:
            while not answer.listeners:
                time.sleep(0.001)
            answer.state = "done"

        threading.Thread(target=end).start()
        whole = client.get(f"/words?key={key}")
        assert whole.headers["content-type"].startswith("text/event-stream") and "no-store" in whole.headers["cache-control"]
        assert whole.text == 'data: {"at": 1, "html": "<p>Because&#46;</p>"}\n\nevent: end\ndata:\n\n'
        answer.conversation.answer = None
        assert client.get(f"/words?key={key}").status_code == 204


def test_a_stream_that_is_left_is_no_listener_any_more(worker: Worker, answer: Answer) -> None:
    async def leave() -> None:
        stream = words._events(worker, answer, 0, 0.001)
        await anext(stream)
        await stream.aclose()

    apart(leave())
    assert answer.listeners == 0


HIDDEN = "#chat .bot.message .md[hidden]"


def test_the_page_shows_the_stream_and_then_the_chats_own_copy(page: Page) -> None:
    ask(page, LONG, tokens=400)
    writing(page, 2)
    expect(page.locator(HIDDEN)).to_have_count(1)
    expect(page.locator("#chat .bot.message .md:not([hidden])")).to_have_count(1)
    before = page.locator("#chat .bot.message .message-content").inner_text()
    assert before and "Reading" not in before
    page.click("#stop")
    said = answered(page)
    expect(page.locator(HIDDEN)).to_have_count(0)
    expect(page.locator("#chat .bot.message .md")).to_have_count(1)
    assert said.startswith(before.rstrip(" .")[: len(before) // 2])


def test_without_the_stream_the_words_come_all_the_same(visit: Visit) -> None:
    page = visit()
    page.route("**/words?key=*", lambda route: route.fulfill(status=204))
    ask(page, LONG, tokens=32)
    writing(page, 2)
    expect(page.locator("#chat .bot.message .md")).to_have_count(1)
    expect(page.locator(HIDDEN)).to_have_count(0)
    page.wait_for_function(
        "() => { const said = document.querySelector('#chat .bot.message').innerText; return said && !said.includes('…'); }"
    )
    assert answered(page)
