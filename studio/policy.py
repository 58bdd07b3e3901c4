"""A content security policy: whatever a model writes, the page asks nothing of any other server."""

from __future__ import annotations

from typing import Any

POLICY = (
    "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; object-src 'none'; base-uri 'self'; "
    "form-action 'none'"
)
"""gradio evaluates its templates and styles inline, so those two must stay allowed."""


class OnlyThisServer:
    """ASGI middleware that adds the policy to every page."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), (b"content-security-policy", POLICY.encode())]
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)
