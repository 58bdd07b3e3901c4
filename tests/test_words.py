"""The socket that brings an answer's words to the browser."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from studio import words
from studio.jobs import Answer
from studio.visitors import Visitors
from studio.worker import Worker

from .app_fixtures import LONG, SOON, Visit, answered, ask, writing


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


def said(answer: Answer, text: str) -> None:
    answer.trace = SimpleNamespace(text=text)


@pytest.fixture
def client(visitors: Visitors, worker: Worker) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=[words.route(visitors, worker, 0.001)])) as client:
        yield client


def place(answer: Answer) -> str:
    return f"/words?key={answer.conversation.key}"


def unheard(answer: Answer) -> bool:
    """Whether nobody is counted as a listener any more, after a moment."""
    deadline = time.monotonic() + 5
    while answer.listeners and time.monotonic() < deadline:
        time.sleep(0.005)
    return not answer.listeners


def test_every_change_of_the_words_is_a_message_and_no_repetition_is(client: TestClient, answer: Answer) -> None:
    with client.websocket_connect(place(answer)) as socket:
        found = [socket.receive_json()]
        assert answer.listeners == 1
        for text in ("One", "One", "One <b>"):
            said(answer, text)
            if found[-1]["html"] != f"<p>{text}</p>":
                found.append(socket.receive_json())
        assert [one["html"] for one in found] == [
            "<p><em>Reading the question …</em></p>", "<p>One</p>", "<p>One &#60;b&#62;</p>",
        ]  # fmt: skip
        assert all(one["at"] == 1 for one in found)
        answer.state = "done"
        with pytest.raises(WebSocketDisconnect) as ended:
            socket.receive_json()
    assert ended.value.code == 1000 and unheard(answer)


@pytest.mark.parametrize("key", ["", "?key=", "?key=nobody", "?key=../../etc/passwd", "?key=%00", "?key=" + "x" * 9000])
def test_whoever_has_no_answer_to_wait_for_is_sent_away(client: TestClient, answer: Answer, key: str) -> None:
    with client.websocket_connect("/words" + key) as socket, pytest.raises(WebSocketDisconnect) as refused:
        socket.receive_json()
    assert refused.value.code == 4000 and not answer.listeners


def test_an_answer_has_a_few_listeners_and_all_of_them_get_the_same_html(client: TestClient, answer: Answer,
                                                                          monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    written: list[str] = []
    as_html = words.wording.words
    monkeypatch.setattr(words.wording, "words", lambda *given: written.append(as_html(*given)) or written[-1])
    said(answer, "Because.")
    with ExitStack() as stack:
        sockets = [stack.enter_context(client.websocket_connect(place(answer))) for _ in range(words.MOST)]
        assert {socket.receive_json()["html"] for socket in sockets} == {"<p>Because&#46;</p>"} and len(written) == 1
        late = stack.enter_context(client.websocket_connect(place(answer)))
        with pytest.raises(WebSocketDisconnect):
            late.receive_json()
        assert answer.listeners == words.MOST


def test_a_browser_that_leaves_is_no_listener_any_more(client: TestClient, answer: Answer) -> None:
    with client.websocket_connect(place(answer)) as socket:
        socket.receive_json()
    assert unheard(answer) and not answer.ended


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
    page.route_web_socket("**/words?key=*", lambda socket: socket.close(code=4000))
    ask(page, LONG, tokens=32)
    writing(page, 2)
    expect(page.locator("#chat .bot.message .md")).to_have_count(1)
    expect(page.locator(HIDDEN)).to_have_count(0)
    page.wait_for_function(
        "() => { const said = document.querySelector('#chat .bot.message').innerText; return said && !said.includes('…'); }"
    )
    assert answered(page)


def test_where_the_socket_breaks_gradios_copy_takes_over(visit: Visit) -> None:
    page = visit()
    opened: list[WebSocketRoute] = []
    page.route_web_socket("**/words?key=*", lambda socket: opened.extend([socket, socket.connect_to_server()]))
    ask(page, LONG, tokens=400)
    writing(page, 2)
    expect(page.locator(HIDDEN)).to_have_count(1)
    for end in opened:
        end.close(code=4001)
    expect(page.locator(HIDDEN)).to_have_count(0)
    shown = page.locator("#chat .bot.message .md:not([hidden])")
    expect(shown).not_to_contain_text("Reading the question", timeout=SOON)
    before = shown.inner_text()
    page.wait_for_function(
        "(before) => document.querySelector('#chat .bot.message .md').innerText.length > before + 20"
        " && !document.querySelector('#stop').disabled", arg=len(before),
    )  # fmt: skip
    assert answered(page).startswith(before[: len(before) // 2])
