"""Which replica a request belongs to. A visitor's state lives in one process, so the first answer gives the browser a cookie
that names the replica, and gradio_client keeps it too. Programs without cookies are known by gradio's session hash, or by an
event id that has the replica's name before it.

Pure functions on ASGI scopes and messages; what they find goes to the router in the header that Ray Serve has for it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]

COOKIE = "recap-replica"
MARK = b"recap-replica"
"""Header of every answer that a replica gave; without it an answer is Ray Serve's own."""
SESSION = os.environ.get("RAY_SERVE_SESSION_ID_HEADER_KEY", "x-session-id").lower()
_PATIENT = (b"x-request-disconnect-disabled", b"?1")
"""A visitor who hangs up is told to the replica as ASGI has it; by itself Ray Serve cancels what answers."""
_OBEYED = {SESSION.replace("_", "-"), "x-request-id", "x-request-timeout-seconds", "x-request-disconnect-disabled", "serve-multiplexed-model-id"}
"""What Ray Serve takes orders from. No stranger may give these."""
_OURS = re.compile(rf"(?:^|;)\s*{COOKIE}=([a-z0-9]{{4,32}})\s*(?:;|$)")
"""Among whatever else other servers of this host have left in the browser, well-formed or not."""
_KEY = re.compile(r"[\w-]{1,64}")
_EVENT = re.compile(r"(/gradio_api/call/(?:v2/)?\w+/)([a-z0-9]{4,32})_(\w+)")
_HEARTBEAT = re.compile(r"/gradio_api/heartbeat/([\w-]+)")
_UPLOAD = "/gradio_api/upload"


def cookie(scope: Scope) -> str | None:
    """The replica that the browser's cookie names."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            if found := _OURS.search(value.decode("latin-1")):
                return found[1]
    return None


def is_page(scope: Scope) -> bool:
    """Whether a page sends this: browsers say so, programs have no reason to."""
    return any(name in (b"origin", b"referer", b"sec-fetch-site") for name, _ in scope["headers"])


def named(event: str, replica: str) -> str:
    """An event id that says who has it."""
    return f"{replica}_{event}"


async def addressed(scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
    """The request as Ray Serve gets it: with the key of its replica, without orders from outside. A body is read ahead only
    where nothing else names the replica; whoever calls has bounded it."""
    key, path = cookie(scope), scope["path"]
    if event := _EVENT.fullmatch(path):
        path, key = event[1] + event[3], event[2]
    elif key is None and scope["type"] == "http":
        key = _session(scope)
        if key is None and scope["method"] == "POST" and path.rstrip("/") != _UPLOAD:
            key, receive = await _asked(receive)
    headers = [(name, value) for name, value in scope["headers"] if _plain(name) not in _OBEYED]
    if key is not None:
        headers.append((SESSION.encode(), key.encode()))
    return {**scope, "headers": [*headers, _PATIENT], "path": path, "raw_path": path.encode()}, receive


def _plain(name: bytes) -> str:
    return name.decode("latin-1").lower().replace("_", "-")


def _session(scope: Scope) -> str | None:
    """gradio's session hash, where the address has it."""
    if beat := _HEARTBEAT.fullmatch(scope["path"]):
        return beat[1][:64]
    return _key(parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0])


async def _asked(receive: Receive) -> tuple[str | None, Receive]:
    """The session hash in a JSON body, and a way to receive that body once more."""
    kept: list[dict[str, Any]] = []
    while not kept or (kept[-1]["type"] == "http.request" and kept[-1].get("more_body")):
        kept.append(await receive())
    try:
        value = json.loads(b"".join(message.get("body", b"") for message in kept))
        found = _key(value.get("session_hash")) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        found = None

    async def again() -> dict[str, Any]:
        return kept.pop(0) if kept else await receive()

    return found, again


def _key(value: Any) -> str | None:
    return value if isinstance(value, str) and _KEY.fullmatch(value) else None
