"""What stands before Ray Serve's HTTP proxy, in its process: the studio's gate, the key of each request's replica, /healthz of
the whole, and a sentence wherever a replica ended before its answer did.

`python -m deploy.ray_serve` puts it there through RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH=deploy.front.middlewares.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from html import escape
from typing import Any

from ray import serve
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, Response

from recap import __version__
from studio.gate import Gate
from studio.limits import Limits
from studio.policy import OnlyThisServer

from .affinity import MARK, addressed

log = logging.getLogger(__name__)

APPLICATION = "studio"
BROKEN = "The copy of the studio that was answering has ended, and its conversations with it. Ask again: another one answers."
ABSENT = "No copy of the studio can answer right now. Try again in a moment."
_AGAIN = 5
"""Seconds until a page that found nobody asks again."""
_FRESH = 1.0
"""Seconds that a look at the replicas holds."""
_ID = re.compile(rb'"event_id":"([\w-]+)"')
_COMPLETED = b'"msg":"process_completed"'
_ALIVE, _COMING = ("RUNNING", "PENDING_MIGRATION"), ("STARTING", "RECOVERING", "UPDATING")


def middlewares() -> list[Middleware]:
    """For Ray Serve, which takes the innermost first."""
    return [Middleware(Front), Middleware(Gate, limits=Limits.read()), Middleware(OnlyThisServer)]


class Front:
    """ASGI middleware. Bodies have been bounded before."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._seen: tuple[float, Response] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        if scope["path"].rstrip("/") == "/healthz":
            await (await self._health())(scope, receive, send)
            return
        asked, receive = await addressed(scope, receive)
        if scope["type"] == "websocket":  # one that breaks off is closed by the server, and the page goes on without
            await self.app(asked, receive, send)
            return
        reply = Reply(send)
        await self.app(asked, receive, reply)
        if not await reply.mended():
            await _said(scope, BROKEN if reply.taken else ABSENT)(scope, receive, send)

    async def _health(self) -> Response:
        """How many replicas live. 503 when none does."""
        if self._seen is None or self._seen[0] < time.monotonic() - _FRESH:
            try:
                states = await asyncio.to_thread(_states)
            except Exception as error:  # Ray itself does not answer
                log.warning("the state of the replicas is not known: %s", type(error).__name__)
                states = {}
            running, coming = (sum(states.get(name, 0) for name in names) for names in (_ALIVE, _COMING))
            found = {
                "status": ("degraded" if coming else "ready") if running else "loading" if coming else "failed",
                "version": __version__, "replicas": running, "starting": coming,
            }  # fmt: skip
            self._seen = time.monotonic(), JSONResponse(found, 200 if running else 503, {"cache-control": "no-store"})
        return self._seen[1]


class Reply:
    """Sends on what a replica answers, and knows what is missing when it ends too early."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._foreign = self._whole = self._events = False
        self._began = False
        self._open: dict[bytes, None] = {}
        """Events of gradio's queue that were spoken of and not completed."""

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            headers = {name.lower(): value for name, value in message["headers"]}
            self._foreign = MARK not in headers
            self._events = headers.get(b"content-type", b"").startswith(b"text/event-stream")
            self._began = not self._foreign
        elif message["type"] == "http.response.body" and not self._foreign:
            self._whole = not message.get("more_body")
            if self._events:
                self._follow(message.get("body", b""))
        if not self._foreign:
            await self._send(message)

    def _follow(self, events: bytes) -> None:
        for event in events.split(b"\n\n"):
            if found := _ID.search(event):
                self._open[found[1]] = None
                if _COMPLETED in event:
                    del self._open[found[1]]

    @property
    def taken(self) -> bool:
        """Whether a replica had the request, where nothing was answered: else Ray Serve itself has refused it."""
        return not self._foreign

    async def mended(self) -> bool:
        """False where nothing was answered yet. A stream of events that broke off gets its end; what else broke off is cut
        by the server, as an answer shorter than it said."""
        if not self._began:
            return False
        if not self._whole and self._events:
            await self._send({"type": "http.response.body", "body": self._ending(), "more_body": False})
        return True

    def _ending(self) -> bytes:
        """As gradio would say it: to every event of a page or of gradio_client, or to the one of a plain program."""
        if not self._open:
            return f"event: error\ndata: {json.dumps(BROKEN)}\n\n".encode()
        failed = {"msg": "process_completed", "output": {"error": BROKEN}, "success": False}
        ends = [{**failed, "event_id": one.decode()} for one in self._open]
        return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in [*ends, {"msg": "close_stream"}])


def _states() -> dict[str, int]:
    """Replicas by state, as Ray Serve sees them."""
    application = serve.status().applications.get(APPLICATION)
    found: dict[str, int] = {}
    for one in application.deployments.values() if application else ():
        for state, count in one.replica_states.items():
            found[str(getattr(state, "value", state))] = count
    return found


def _said(scope: Any, sentence: str) -> Response:
    headers = {"retry-after": str(_AGAIN), "cache-control": "no-store"}
    accepted = dict(scope["headers"]).get(b"accept", b"")
    if b"text/html" not in accepted:
        return JSONResponse({"detail": sentence}, 503, headers)
    page = f'<!doctype html><meta http-equiv="refresh" content="{_AGAIN}"><title>RECAP Studio</title><p>{escape(sentence)}</p>'
    return HTMLResponse(page, 503, headers)
