"""The words of an answer while it is being written, streamed to the browser.

Every update of a component makes gradio rebuild it on both sides, some 100 ms of one core on a laptop, which the decoder
misses when page and model share a machine. Text comes 20 times a second, so it has a stream of its own: server-sent
events with the answer as HTML. gradio puts the finished answer into the chat, and all of it where no browser listens.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from . import wording
from .conversation import Answer
from .visitors import Visitors
from .worker import Worker

EVERY = 0.045
"""Seconds between two looks at a growing answer: more than 20 updates a second."""
_REST = 20
"""How many times its own length a look is followed by: long answers take long to write as HTML."""
_NO_MORE = 204
"""Tells the browser's EventSource not to come again."""


def route(visitors: Visitors, worker: Worker, every: float = EVERY) -> Route:
    """GET words?key=...: events `{"at": which of the assistant's messages, "html": its text so far}` of the answer that a
    conversation is waiting for, then one event `end`. 204 where there is no such answer."""

    async def words(request: Request) -> Response:
        mine = visitors.known(request.query_params.get("key"))
        answer = mine.answer if mine is not None else None
        if answer is None:
            return Response(status_code=_NO_MORE)
        at = sum(message["role"] == "assistant" for message in mine.messages) - 1
        return StreamingResponse(_events(worker, answer, at, every), media_type="text/event-stream",
                                 headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})  # fmt: skip

    return Route("/words", words)


async def _events(worker: Worker, answer: Answer, at: int, every: float) -> AsyncIterator[str]:
    text = html = None
    answer.listeners += 1
    try:
        while not answer.ended:
            began, before = time.perf_counter(), html
            if text != answer.text or not text:  # what it waits for may change too
                text = answer.text
                html = wording.words(worker, answer)
            if html != before:
                yield f"data: {json.dumps({'at': at, 'html': html})}\n\n"
            await asyncio.sleep(max(every, _REST * (time.perf_counter() - began)))
        yield "event: end\ndata:\n\n"
    finally:
        answer.listeners -= 1
