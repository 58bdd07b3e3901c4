"""A content security policy: whatever a model writes, the page asks nothing of any other server."""

from __future__ import annotations

from typing import Any

POLICY = (
    "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; object-src 'none'; base-uri 'self'; "
    "form-action 'none'; frame-ancestors 'self' https://huggingface.co https://*.hf.space"
)
"""gradio evaluates its templates and styles inline, so those two must stay allowed. Spaces are shown in a frame."""
HEADERS = [
    (b"content-security-policy", POLICY.encode()), (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"), (b"permissions-policy", b"geolocation=(), microphone=()"),
]  # fmt: skip


class OnlyThisServer:
    """ASGI middleware that adds the policy, and what else browsers should not guess or tell, to every answer that lacks
    them."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message.get("headers", [])}
                message["headers"] = [*message.get("headers", []), *(one for one in HEADERS if one[0] not in there)]
            await send(message)

        await self.app(scope, receive, sending if scope["type"] == "http" else send)
