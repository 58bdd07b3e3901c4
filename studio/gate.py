"""Before anything reaches gradio: only the addresses that the page and its clients use, bodies of bounded size, and so many
uploads a minute. gradio serves more than that by default, web addresses fetched for whoever asks among it."""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from urllib.parse import unquote

from starlette.responses import JSONResponse

from .limits import Limits

log = logging.getLogger(__name__)

_READ = re.compile(
    r"/|/(config|theme\.css|favicon\.ico|manifest\.json|robots\.txt|healthz|metrics)/?|/(assets|static|svelte)/.+"
    r"|/gradio_api/(info|openapi\.json|startup-events|app_id|theme\.css|queue/data|queue/status|upload_progress)/?"
    r"|/gradio_api/heartbeat/[\w-]+|/gradio_api/call/(v2/)?\w+/\w+|/gradio_api/file=.+"
)
_HEARTBEAT = re.compile(r"/gradio_api/heartbeat/([\w-]+)")
_WRITE = re.compile(
    r"/gradio_api/(upload|queue/join|cancel|reset|component_server|run/predict)/?|/gradio_api/call/(v2/)?\w+/?"
)
_ELSEWHERE = re.compile(r"[\w+.-]{2,}:/")
"""A scheme of an address; a single letter is a drive."""
UPLOAD = "/gradio_api/upload"
_FILE = "/gradio_api/file="
_BODY = 1 << 20
"""Bytes of a request that is no upload: a question and its settings take a few thousand."""
_FORM = 1 << 16
"""What the form around an uploaded file may take."""
_MINUTE = 60.0
_REMEMBERED = 10_000
"""Addresses that are counted at a time."""


class _TooMuch(Exception):
    """A body longer than it may be."""


class Gate:
    """ASGI middleware. `refused` is told the status of every request that goes no further, `beating` held for as long as a
    page's heartbeat is open; `clock` is `time.monotonic` and may be replaced in tests."""

    def __init__(
        self, app: Any, limits: Limits = Limits(), refused: Callable[[int], None] = lambda status: None,
        clock: Callable[[], float] = time.monotonic,
        beating: Callable[[str], AbstractContextManager] = lambda name: nullcontext(),
    ) -> None:  # fmt: skip
        self.app, self.limits, self._refused, self._clock, self._beating = app, limits, refused, clock, beating
        self._uploads: dict[str, deque[float]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket" and scope["path"] != "/words":
            await send({"type": "websocket.close", "code": 4004})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            self._refused(refusal.status_code)
            await refusal(scope, receive, send)
            return
        most = self._most(scope["path"])
        seen, began = 0, False

        async def counted() -> Any:
            nonlocal seen
            message = await receive()
            if message["type"] == "http.request":
                seen += len(message.get("body", b""))
                if seen > most:
                    raise _TooMuch
            return message

        async def sending(message: Any) -> None:
            nonlocal began
            began = True
            await send(message)

        beat = _HEARTBEAT.fullmatch(scope["path"])
        try:
            with self._beating(beat[1]) if beat else nullcontext():
                await self.app(scope, counted, sending)
        except _TooMuch:
            self._refused(413)
            if not began:
                await _too_large(most)(scope, receive, send)
        except Exception as error:  # gradio looks some things up without asking whether they are there
            frame = traceback.extract_tb(error.__traceback__)[-1]
            log.warning("a request failed: %s in %s", type(error).__name__, frame.name)
            if began:  # the connection is closed on what has come so far; raised on, this would fill the log with frames
                return
            self._refused(400)
            await _said(400, "This request could not be understood.")(scope, receive, send)

    def _most(self, path: str) -> int:
        return int(self.limits.upload_megabytes * 1e6) + _FORM if path.rstrip("/") == UPLOAD else _BODY

    def _refusal(self, scope: Any) -> Any:
        """The answer to a request that goes no further, None for any other."""
        method, path = scope["method"], scope["path"]
        if method not in ("GET", "HEAD", "POST", "OPTIONS"):
            return _said(405, "This method is not used here.")
        known = _WRITE if method == "POST" else _READ
        if method != "OPTIONS" and known.fullmatch(path) is None:
            return _said(404, "There is nothing at this address.")
        if path.startswith(_FILE) and not _is_local(path[len(_FILE) :]):
            return _said(404, "There is no such file.")
        if method != "POST":
            return None
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self._most(path):
            return _too_large(self._most(path))
        if path.rstrip("/") == UPLOAD and not self._may_upload(self._address(scope)):
            return _said(429, f"{self.limits.uploads} files a minute may be uploaded from one address; wait a moment.")
        return None

    def _address(self, scope: Any) -> str:
        """Whom an upload counts for: the peer, or where proxies are trusted what the outermost of them says."""
        peer = (scope.get("client") or ("",))[0]
        if not self.limits.proxies:
            return peer
        named = b",".join(value for name, value in scope["headers"] if name == b"x-forwarded-for").decode("latin-1")
        hops = [one.strip() for one in named.split(",") if one.strip()]
        return hops[-min(self.limits.proxies, len(hops))][:64] if hops else peer

    def _may_upload(self, address: str) -> bool:
        now = self._clock()
        times = self._uploads.pop(address, None) or deque()
        self._uploads[address] = times  # the one that came last is forgotten last
        while len(self._uploads) > _REMEMBERED:
            del self._uploads[next(iter(self._uploads))]
        while times and times[0] <= now - _MINUTE:
            times.popleft()
        if len(times) >= self.limits.uploads:
            return False
        times.append(now)
        return True


def _is_local(path: str) -> bool:
    """Whether a path is plain: no web address, which gradio would fetch, no way upwards, no control characters."""
    for _ in range(3):  # however often it was quoted
        plain = path.replace("\\", "/")
        if _ELSEWHERE.search(plain) or ".." in plain.split("/") or not plain.isprintable():
            return False
        path = unquote(path)
    return True


def _too_large(most: int) -> JSONResponse:
    return _said(413, f"This request is larger than the {most:,} bytes that it may have.")


def _said(status: int, sentence: str) -> JSONResponse:
    # what is left of a refused body is not read, so the connection cannot be used again
    return JSONResponse({"detail": sentence}, status, {"connection": "close"})
