"""The words of an answer while it is being written, brought to the browser over a WebSocket.

Every update of a component makes gradio rebuild it on both sides, some 100 ms of one core on a laptop, which the decoder
misses when page and model share a machine. Text comes 20 times a second, so it has a way of its own; gradio puts the
finished answer into the chat, and all of it where no browser listens. A WebSocket, because a browser opens six ordinary
connections to a server for all of its tabs together, and gradio keeps two of them busy for every tab that waits.
"""

from __future__ import annotations

import asyncio
import time
from weakref import WeakKeyDictionary

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from . import wording
from .jobs import Answer
from .visitors import Visitors
from .worker import Worker

EVERY = 0.045
"""Seconds between two looks at a growing answer: more than 20 updates a second."""
MOST = 4
"""Listeners of one answer; a page has one."""
_REST = 20
"""How many times its own length a look is followed by: long answers take long to write as HTML."""
_ENDED, _NOTHING = 1000, 4000
"""Codes of closing: the answer has ended, there is none to listen to."""


def route(visitors: Visitors, worker: Worker, every: float = EVERY) -> WebSocketRoute:
    """words?key=...: messages `{"at": which of the assistant's messages, "html": its text so far}` of the answer that a
    conversation is waiting for. Closed with 1000 when it has ended, with 4000 where there is none."""
    written: WeakKeyDictionary[Answer, tuple[str, str]] = WeakKeyDictionary()

    def html(answer: Answer) -> str:
        text = answer.text
        if not text:  # what it waits for may change
            return wording.words(worker, answer)
        if written.get(answer, ("",))[0] != text:
            written[answer] = (text, wording.words(worker, answer))
        return written[answer][1]

    async def words(socket: WebSocket) -> None:
        await socket.accept()
        mine = visitors.known(socket.query_params.get("key"))
        answer = mine.answer if mine is not None else None
        if answer is None or answer.listeners >= MOST:
            await socket.close(_NOTHING)
            return
        at = sum(message["role"] == "assistant" for message in mine.messages) - 1
        answer.listeners += 1
        goodbye = asyncio.ensure_future(_left(socket))
        try:
            said = None
            while not answer.ended and not goodbye.done():
                began, before = time.perf_counter(), said
                said = html(answer)
                if said != before:
                    await socket.send_json({"at": at, "html": said})
                await asyncio.sleep(max(every, _REST * (time.perf_counter() - began)))
            if not goodbye.done():
                await socket.close(_ENDED)
        except WebSocketDisconnect:
            pass
        finally:
            answer.listeners -= 1
            goodbye.cancel()

    return WebSocketRoute("/words", words)


async def _left(socket: WebSocket) -> None:
    """Ends when the browser does; it has nothing to say."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
