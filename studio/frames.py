"""A script that has to run before gradio's own, which only the page's HTML can bring: it lets an idle page rest."""

from __future__ import annotations

from typing import Any

from .theme import WEB

_HEAD = b"<head>"
SCRIPT = b"<script>" + (WEB / "frames.js").read_bytes() + b"</script>"


class Restful:
    """ASGI middleware that puts the script at the top of every HTML page."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        start: Any = None
        body = b""

        async def sending(message: Any) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_page(message["headers"]):
                start = message
            elif message["type"] == "http.response.body" and start is not None:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    body = body.replace(_HEAD, _HEAD + SCRIPT, 1)
                    kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
                    await send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
                    await send({**message, "body": body})
            else:
                await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" and scope["method"] == "GET" else send)


def _is_page(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers)
