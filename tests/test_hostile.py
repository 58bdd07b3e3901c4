"""A thousand requests and more that nobody means well, against the whole app with a tiny model: it lives, answers each in few words,
reads no file that it should not, and goes on answering others as before."""

from __future__ import annotations

import http.client
import json
import logging
import os
import random
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from studio.desk import Desk
from studio.limits import Limits
from studio.worker import Worker

from . import synthetic, tiny
from .app_fixtures import ROOT, served

SECRET = "the-secret-that-nobody-may-read"
GOOD = ["What is it?", None, "recap", 8]


class App:
    """The app under attack, by plain HTTP."""

    def __init__(self, url: str, worker: Worker) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.worker = parts.hostname, parts.port, worker
        self.sent = 0
        """Requests so far; the good ones before and after every test are not counted."""
        self.done: set[str] = set()
        """Names of the tests that sent them."""

    def send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, str]:
        """Status and beginning of what comes back."""
        self.sent += 1
        connection = http.client.HTTPConnection(self.host, self.port, timeout=30)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if body is not None and "content-length" not in (headers or {}):
                connection.putheader("content-length", str(len(body)))
            try:
                connection.endheaders(body)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused by its length alone, and the line closed while the body was still on its way
            answer = connection.getresponse()
            return answer.status, answer.read(300_000).decode("utf-8", "replace")
        finally:
            connection.close()

    def post(self, path: str, value: Any) -> tuple[int, str]:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.send("POST", path, body, {"content-type": "application/json"})

    def call(self, endpoint: str, data: Any) -> str:
        """What an endpoint says to these arguments: its last message, or the refusal."""
        status, text = self.post(f"/gradio_api/call/{endpoint}", {"data": data})
        if status != 200:
            return f"event: refused {status}\n{text}"
        return self.send("GET", f"/gradio_api/call/{endpoint}/{json.loads(text)['event_id']}")[1]

    def upload(self, content: bytes, name: str = "x.png") -> str:
        body = (b'--b\r\ncontent-disposition: form-data; name="files"; filename="' + name.encode() + b'"\r\n'
                b"content-type: image/png\r\n\r\n" + content + b"\r\n--b--\r\n")  # fmt: skip
        status, text = self.send("POST", "/gradio_api/upload", body, {"content-type": "multipart/form-data; boundary=b"})
        return json.loads(text)[0] if status == 200 else f"{status} {text}"

    def raw(self, content: bytes, wait: float = 0.0) -> bytes:
        """Send bytes as they are, perhaps read a little, and hang up."""
        self.sent += 1
        with socket.create_connection((self.host, self.port), timeout=10) as line:
            line.sendall(content)
            if not wait:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # cut off, no goodbye
                return b""
            line.settimeout(wait)
            try:
                return line.recv(4096)
            except TimeoutError:
                return b""

    def idle(self) -> bool:
        """Whether nothing runs or waits any more, after a moment."""
        deadline = time.monotonic() + 20
        while self.worker.counts != (0, 0) and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.worker.counts == (0, 0)


@pytest.fixture(scope="module")
def app(target: Any) -> Iterator[App]:
    worker = Worker(lambda: target("llava"), Limits(characters=2000, tokens=600, uploads=10_000, megapixels=1))
    worker.start()
    with served(worker) as url:
        yield App(url, worker)
    worker.close(10)
    worker._thread.shutdown(wait=True)


@pytest.fixture(autouse=True)
def lives(app: App, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """After whatever a test did: a good question is answered as always, and nothing broke on the way."""
    good = answer(app.call("chat", GOOD))
    app.sent -= 2
    yield
    app.done.add(request.node.name)
    app.sent -= 3
    assert app.idle() and json.loads(app.send("GET", "/healthz")[1])["status"] == "ready"
    assert answer(app.call("chat", GOOD)) == good
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR and record.name.startswith("studio")]


def test_no_path_leads_to_a_file(app: App, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    wanted = [str(tmp_path / "secret.txt"), "/etc/passwd", "/proc/self/environ", str(ROOT / "app.py"),
              str(ROOT / "requirements.txt"), os.path.expanduser("~/.cache"), "/etc/hostname"]  # fmt: skip
    ways = ["{}", "..{}", "../../../../../../../..{}", "..%2f..%2f..%2f..%2f..%2f..%2f{}", "%2e%2e/%2e%2e/%2e%2e{}", "....//....//{}",
            "/./{}", "file://{}", "file=/{}", "{}%00.png", "{}?x=.png", "{}#", "\\..\\..{}", "%252e%252e%252f{}", "/tmp/..{}"]  # fmt: skip
    doors = ["/gradio_api/file=", "/file=", "/static/", "/assets/", "/svelte/", "/gradio_api/file/", "/", "/gradio_api/proxy=",
             "/gradio_api/custom_component/1/client/component/", "/config/", "/gradio_api/upload_progress?upload_id="]  # fmt: skip
    requests = [doors[0] + way.format(path) for way in ways for path in wanted[:4]]
    requests += [door + way.format(wanted[number % 2]) for door in doors[1:] for number, way in enumerate(ways)]
    for request in requests:
        status, text = app.send("GET", request.replace(" ", "%20"))
        assert SECRET not in text and "root:" not in text and "def main()" not in text and "PYTHONPATH" not in text
        # behind a question mark anything is the page, or the progress of an upload that nobody made
        assert status in (400, 403, 404, 405, 422) or "?" in request, (request, status)
    picture = {"meta": {"_type": "gradio.FileData"}}
    for path in wanted:
        for way in ("{}", "..{}", "/tmp/..{}", "file://{}", "{}\0.png"):
            said = app.call("chat", ["What is it?", {"path": way.format(path), **picture}, "recap", 4])
            assert "event: error" in said and path not in said and SECRET not in said


def answer(said: str) -> str:
    """What an endpoint said in the end."""
    assert "event: complete" in said
    return said.rpartition("event: complete")[2]


def anything(chance: random.Random, depth: int = 0) -> Any:
    plain = [None, True, -1, 0, 10**30, 1e308, "", "recap", "\0", "x" * 1999, "<script>alert(1)</script>", "../../etc/passwd",
             "\ud800", "‮abc", "<|im_start|>system", "🌳" * 50, float("nan"), float("inf")]  # fmt: skip
    if depth > 2 or chance.random() < 0.7:
        return chance.choice(plain)
    if chance.random() < 0.5:
        return [anything(chance, depth + 1) for _ in range(chance.randrange(4))]
    keys = ["path", "url", "meta", "_type", "data", "__class__", "orig_name", "key", "id", "step"]
    return {chance.choice(keys): anything(chance, depth + 1) for _ in range(chance.randrange(4))}


def test_arguments_of_any_kind_get_a_sentence(app: App) -> None:
    chance = random.Random(7)
    for number in range(120):
        good = ["Hello", None, "recap", 2]
        for place in {chance.randrange(4) for _ in range(1 + number % 3)}:
            good[place] = anything(chance)
        given = good if number % 6 else [anything(chance) for _ in range(chance.randrange(8))]
        said = app.call(("chat", "race")[number % 2], given)
        assert said.startswith("event: refused 4") or "event: error" in said or "event: complete" in said, (given, said[:300])
        assert "Traceback" not in said and len(said) < 20_000 and str(ROOT) not in said, said[:300]


def test_what_is_typed_is_text(app: App) -> None:
    for typed in ("<|im_start|>system", "<image>", "</s>", "<script>alert(1)</script>", "{{7*7}}", "\r\n\r\nHTTP/1.1 200 OK", "‮‮"):
        said = app.call("chat", [typed, None, "recap", 4])
        assert "event: complete" in said and "event: error" not in said


def test_events_of_the_page_take_anything(app: App) -> None:
    """Every event by its number, private ones too, with arguments of all kinds; views through their own door."""
    chance, config = random.Random(11), json.loads(app.send("GET", "/config")[1])
    numbers = [dependency["id"] for dependency in config["dependencies"]]
    assert len(numbers) > 10
    for number in [*numbers, -1, 10**6, "0", None]:
        for _ in range(3):
            data = [anything(chance) for _ in range(chance.choice((0, 1, 4, 12)))]
            body = {"data": data, "fn_index": number, "session_hash": f"bad{number}", "event_data": anything(chance)}
            status, text = app.post("/gradio_api/queue/join", body)
            assert status in (200, 400, 404, 422) and "Traceback" not in text and str(ROOT) not in text
    assert app.idle()
    player = next(one["id"] for one in config["components"] if one["props"].get("elem_id") == "player")
    for name in ("whole", "one", "node", "weighed", "contest", "memory", "traces", "saved", "preprocess", "__init__", "value", None):
        for _ in range(6):
            body = {"data": anything(chance), "component_id": player, "fn_name": name, "session_hash": "bad"}
            status, text = app.post("/gradio_api/component_server", body)
            assert status in (200, 400, 404, 422) and "Traceback" not in text and str(ROOT) not in text, (name, status, text[:200])
            assert status != 200 or "error" in text or name == "traces" or name == "memory" or name == "whole"


def png(width: int, height: int) -> bytes:
    """The head of a picture of any size, and no pixels."""
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_broken_pictures_get_a_sentence(app: App, tmp_path: Path) -> None:
    tiny.picture(1).save(tmp_path / "good.png")
    good = (tmp_path / "good.png").read_bytes()
    chance = random.Random(3)
    broken = [b"", b"no picture", good[: len(good) // 2], png(50_000, 50_000), png(2000, 2000), b"<svg onload=alert(1)>", b"%PDF-1.4",
              b"GIF89a" + bytes(20), b"%!PS-Adobe-3.0 EPSF-3.0", bytes(1000)]  # fmt: skip
    for _ in range(30):
        spoiled = bytearray(good)
        for _ in range(12):
            spoiled[chance.randrange(8, len(spoiled))] = chance.randrange(256)
        broken.append(bytes(spoiled))
    for number, content in enumerate(broken):
        path = app.upload(content, ("x.png", "../../../x.png", "a" * 300 + ".png", "<b>.png")[number % 4])
        assert not path.startswith("5") and "/../" not in path, path
        said = app.call("chat", ["What is it?", {"path": path, "meta": {"_type": "gradio.FileData"}}, "recap", 2])
        assert "event: error" in said or "event: complete" in said
        assert "Traceback" not in said and len(said) < 2000 and os.path.dirname(path) not in said
    for form in (b"", b"--b", b"--b\r\n\r\n", b"x" * 5000, b'--b\r\ncontent-disposition: form-data; name="files"\r\n\r\nx\r\n--b--'):
        status, text = app.send("POST", "/gradio_api/upload", form, {"content-type": "multipart/form-data; boundary=b"})
        assert "Traceback" not in text and str(ROOT) not in text and status in (200, 400, 422, 500)


def test_traces_as_input(app: App, tmp_path: Path) -> None:
    desk, chance = Desk(app.worker), random.Random(5)
    mine = desk.visitors.of("bad")
    text = synthetic.trace(random.Random(1), 2, nodes=6).to_json()
    for number in range(150):
        spoiled = list(text)
        for _ in range(1 + number % 5):
            at = chance.randrange(len(spoiled))
            spoiled[at] = chance.choice(['"', "}", "[", "-", "9" * 30, "null", "\\u0000", "<script>", "", "e999", "NaN"])
        (tmp_path / "trace.json").write_text("".join(spoiled))
        told = desk.upload(mine, str(tmp_path / "trace.json"))
        assert "player" in told or "This file cannot be opened: " in told["trace-notice"]
        assert "<script>" not in told["trace-notice"] and str(tmp_path) not in told["trace-notice"]


def test_events_of_the_page_need_a_page(app: App) -> None:
    """Without a session hash all would share one conversation: gradio lets such requests through to the page's events."""
    config, told = json.loads(app.send("GET", "/config")[1]), 0
    visitors = json.loads(app.send("GET", "/healthz")[1])["visitors"]
    for event in [one for one in config["dependencies"] if one["api_visibility"] == "private" and one["backend_fn"]]:
        for name in ({}, {"session_hash": ""}, {"session_hash": None}, {"session_hash": "x" * 5000}):
            status, text = app.post("/gradio_api/run/predict", {"fn_index": event["id"], "data": ["Hello"] * len(event["inputs"]), **name})
            told += "needs a session_hash of 1 to 128" in text
            assert "Traceback" not in text
    assert told >= 16 and app.worker.counts == (0, 0), told
    assert json.loads(app.send("GET", "/healthz")[1])["visitors"] == visitors, "nobody got a conversation"


def test_bodies_too_large_or_too_deep(app: App) -> None:
    kind = {"content-type": "application/json"}
    for path in ("/gradio_api/queue/join", "/gradio_api/call/chat", "/gradio_api/component_server", "/gradio_api/upload"):
        status, text = app.send("POST", path, b"{}", {**kind, "content-length": "99999999999"})
        assert status == 413 and "bytes" in text
        status, text = app.post(path, b"[" * 200_000)
        assert 400 <= status <= 500 and len(text) < 1000 and "Traceback" not in text
    assert app.post("/gradio_api/call/chat", {"data": ["x" * 2_000_000, None, "recap", 2]})[0] == 413
    said = app.call("chat", ["x" * 3000, None, "recap", 2])
    assert "has 3,000 characters; here it may have 2,000" in said
    assert "from 1 to 600" in app.call("chat", ["Hello", None, "recap", 601])


def test_sockets_that_say_nothing_or_nonsense_and_hang_up(app: App) -> None:
    head = f"host: {app.host}\r\n".encode()
    join = b"POST /gradio_api/queue/join HTTP/1.1\r\n" + head + b"content-type: application/json\r\n"
    silent = [socket.create_connection((app.host, app.port)) for _ in range(40)]
    for number in range(80):
        app.raw((b"", b"\x00\xff" * 100, b"GET / HTTP/1.1\r\n", b"GET /" + b"a" * 9000, join + b"content-length: 500\r\n\r\n{",
                 join + b"transfer-encoding: chunked\r\n\r\nzz\r\n", b"GET /words HTTP/1.1\r\nupgrade: websocket\r\n\r\n",
                 b"\x16\x03\x01\x02\x00\x01")[number % 8])  # fmt: skip
    assert b"400" in app.raw(b"NONSENSE\r\n\r\n", 5.0)
    socket_head = b"connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    for path in (b"/words?key=" + b"x" * 3000, b"/words", b"/elsewhere", b"/gradio_api/queue/data"):
        said = app.raw(b"GET " + path + b" HTTP/1.1\r\n" + head + socket_head + b"\r\n", 5.0)
        assert said.startswith(b"HTTP/1.1 ")
    for one in silent:
        one.close()


def test_whoever_hangs_up_frees_the_device(app: App) -> None:
    for number in range(6):
        _, text = app.post("/gradio_api/call/chat", {"data": ["Hello", None, "ar", 600]})
        event = json.loads(text)["event_id"]
        line = socket.create_connection((app.host, app.port), timeout=30)
        line.sendall(f"GET /gradio_api/call/chat/{event} HTTP/1.1\r\nhost: {app.host}\r\n\r\n".encode())
        assert line.recv(15).startswith(b"HTTP/1.1 200")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)) if number % 2 else None
        line.close()
    assert app.idle()


def test_many_at_once_and_all_of_them_badly(app: App) -> None:
    said: list[str] = []

    def attack(number: int) -> None:
        chance = random.Random(number)
        for _ in range(4):
            said.append(app.call("chat", [anything(chance), None, "recap", anything(chance)]))

    threads = [threading.Thread(target=attack, args=(number,)) for number in range(12)]
    [thread.start() for thread in threads]
    good = [answer(app.call("chat", GOOD)) for _ in range(3)]
    [thread.join(120) for thread in threads]
    assert len(said) == 48 and len(set(good)) == 1


def test_they_were_a_thousand(app: App) -> None:
    """Counted, not estimated; the traces, which are files, and the silent sockets come on top."""
    others = {name for name, what in globals().items() if name.startswith("test_") and callable(what)}
    if others - app.done - {"test_they_were_a_thousand"}:
        pytest.skip("only some of the attacks were run")
    assert app.sent >= 1000, app.sent
