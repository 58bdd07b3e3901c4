"""Whose request it is, and what is said when its replica has ended: the parts around Ray Serve, without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("ray", reason="Ray Serve is not installed: pip install -r requirements-ray.txt")

from deploy.affinity import MARK, addressed, cookie, named  # noqa: E402
from deploy.front import BROKEN, Front  # noqa: E402
from deploy.replica import GONE, Named  # noqa: E402


def run(app: Any, path: str, method: str = "GET", query: str = "", body: bytes = b"", **headers: str) -> list[dict[str, Any]]:
    """What an ASGI application sends."""
    sent: list[dict[str, Any]] = []
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(),
             "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    answer = app(scope, receive, send)
    with pytest.raises(StopIteration):  # nothing here waits, and another loop may run in this thread
        answer.send(None)
    return sent


def told(path: str, method: str = "GET", query: str = "", body: bytes = b"", **headers: str) -> tuple[str | None, str, bytes]:
    """The key, path and body with which a request goes on."""
    found: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope, receive = await addressed(scope, receive)
        assert [value for name, value in scope["headers"] if name == b"x-request-disconnect-disabled"] == [b"?1"]
        keys = [value.decode() for name, value in scope["headers"] if name in (b"x-session-id", b"serve_multiplexed_model_id")]
        assert len(keys) <= 1
        found.extend([keys[0] if keys else None, scope["path"], (await receive())["body"]])

    run(app, path, method, query, body, **headers)
    return tuple(found)


def test_whose_request_it_is() -> None:
    join, asked = "/gradio_api/queue/join", b'{"session_hash": "abc1", "data": []}'
    assert told("/") == (None, "/", b"")
    assert told("/", cookie="a=b; recap-replica=r2d2c3po")[0] == "r2d2c3po"
    for beside in ('a={"x":1}; ', "a=b c;", "a[b]=1; ", "x; "):  # of other servers on this host
        assert told("/", cookie=f"{beside}recap-replica=r2d2c3po; z=1")[0] == "r2d2c3po"
    assert told("/", cookie="my-recap-replica=r2d2c3po")[0] is None
    assert told("/", cookie="recap-replica=../x")[0] is None and told("/", cookie="recap-replica=" + "x" * 99)[0] is None
    assert told("/", x_session_id="mine", x_request_disconnect_disabled="?0", serve_multiplexed_model_id="m")[0] is None
    assert told(join, "POST", body=asked) == ("abc1", join, asked)
    assert told(join, "POST", body=asked, cookie="recap-replica=r2d2c3po") == ("r2d2c3po", join, asked)
    for body in (b"", b"[1]", b"{", b'{"session_hash": 7}', b'{"session_hash": "' + b"x" * 999 + b'"}', b"[" * 100_000):
        assert told(join, "POST", body=body) == (None, join, body)
    assert told("/gradio_api/queue/data", query="session_hash=abc1")[0] == "abc1"
    assert told("/gradio_api/heartbeat/abc1")[0] == "abc1"
    path = "/gradio_api/call/chat/" + named("0af3", "r2d2c3po")
    assert told(path, cookie="recap-replica=other") == ("r2d2c3po", "/gradio_api/call/chat/0af3", b"")


def answering(*messages: dict[str, Any]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)

    return app


def start(kind: bytes, status: int = 200, *more: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": [(b"content-type", kind), *more]}


def part(body: bytes, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def test_what_breaks_off_gets_a_sentence() -> None:
    mine = (MARK, b"r2d2c3po")
    whole = [start(b"text/plain", 500, mine), part(b"x", False)]
    assert run(Front(answering(*whole)), "/") == whole
    for app in (answering(), answering(start(b"text/plain", 500), part(b"RayActorError in /home/me", False))):
        sent = run(Front(app), "/gradio_api/info", accept="*/*")
        assert sent[0]["status"] == 503 and b"/home" not in sent[1]["body"] and json.loads(sent[1]["body"])["detail"]
        assert b"<p>" in run(Front(app), "/", accept="text/html,*/*")[1]["body"]
    events = [b'data: {"msg":"estimation","event_id":"one"}\n\n', b'data: {"msg":"process_completed","event_id":"two"}\n\n',
              b'data: {"msg":"process_generating","event_id":"one","output":{"data":["\\"event_id\\":\\"no\\""]}}\n\n']
    sent = run(Front(answering(start(b"text/event-stream", 200, mine), *map(part, events))), "/gradio_api/queue/data")
    ends = [json.loads(one[6:]) for one in sent[-1]["body"].split(b"\n\n") if one]
    assert [one.get("event_id") for one in ends] == ["one", None] and ends[0]["output"] == {"error": BROKEN}
    assert ends[1]["msg"] == "close_stream" and not sent[-1]["more_body"]
    sent = run(Front(answering(start(b"text/event-stream", 200, mine), part(b"event: generating\n\n"))), "/gradio_api/call/chat/x")
    assert sent[-1]["body"].startswith(b"event: error\ndata: ")


def test_a_page_of_a_dead_replica_is_told_until_it_is_loaded_again() -> None:
    app = Named(answering(start(b"application/json"), part(b'{"event_id": "0af3"}', False)), "r2d2c3po")
    old = {"cookie": "recap-replica=deadbeef"}

    def given(sent: list[dict[str, Any]]) -> tuple[int, str | None]:
        start = sent[0]
        return start["status"], cookie({"headers": [(b"cookie", v) for n, v in start["headers"] if n == b"set-cookie"]})

    assert given(run(app, "/")) == given(run(app, "/", **old, referer="x")) == (200, "r2d2c3po")
    assert given(run(app, "/", cookie="recap-replica=r2d2c3po")) == (200, None)
    for path in ("/gradio_api/queue/join", "/gradio_api/component_server", "/gradio_api/upload"):
        sent = run(app, path, "POST", **old, origin="x")
        assert given(sent) == (410, None) and json.loads(sent[1]["body"]) == {"detail": GONE}
        assert given(run(app, path, "POST", **old)) == (200, "r2d2c3po"), "a program needs nothing that was lost"
    assert given(run(app, "/config", **old, sec_fetch_site="same-origin")) == (410, None)
    assert given(run(app, "/gradio_api/app_id", sec_fetch_site="same-origin"))[0] == 204, "whose page it is nobody can tell"
    assert given(run(app, "/gradio_api/app_id")) == (200, "r2d2c3po")
    assert given(run(app, "/assets/x.js", **old, referer="x")) == (200, None), "the next one must not look at home here"
    sent = run(app, "/gradio_api/call/chat", "POST")
    assert json.loads(sent[1]["body"]) == {"event_id": "r2d2c3po_0af3"}
    assert dict(sent[0]["headers"])[b"content-length"] == str(len(sent[1]["body"])).encode()
