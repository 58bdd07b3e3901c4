"""What an operator sets and sees: limits from the environment, logs, metrics, health, uploads, and the gate in front."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from studio import health, inputs, logs, uploads
from studio.conversation import Conversation
from studio.gate import Gate
from studio.jobs import Answer, Contest
from studio.limits import Limits, table
from studio.metrics import Metrics
from studio.visitors import Visitors
from studio.worker import Worker

from . import tiny
from .app_fixtures import ROOT
from .test_worker import wait


def test_limits_come_from_the_environment_and_mistakes_are_named() -> None:
    assert Limits.read({}) == Limits() and Limits.read({"MAX_RUNNING": " "}) == Limits()
    told = Limits.read({"MAX_RUNNING": "3", "IDLE_MINUTES": "0.5", "UNRELATED": "x"})
    assert (told.running, told.idle_minutes, told.waiting) == (3, 0.5, 64)
    for text in ("0", "-1", "many", "1.5", "1e9", "nan", "9" * 5000):
        with pytest.raises(ValueError, match="MAX_RUNNING .* must be a whole number from 1 to 256"):
            Limits.read({"MAX_RUNNING": text})
    assert Limits.read({"MAX_MEGAPIXELS": "12.5"}).described()["MAX_MEGAPIXELS"] == 12.5


def test_every_variable_is_in_the_documentation_with_its_default() -> None:
    page = (ROOT / "docs" / "serving.md").read_text("utf-8")
    for variable, default, _ in table():
        assert re.search(rf"\| `{variable}` \| {default:g} \|", page), variable
    for variable in ("MODEL", "DEVICE", "DTYPE", "THREADS", "METRICS", "METRICS_TOKEN", "LOG_FORMAT", "LOG_LEVEL",
                     "WARM_MEMORY"):  # fmt: skip
        assert f"`{variable}`" in page


def test_log_lines_are_json_and_hold_nothing_that_an_exception_quotes() -> None:
    try:
        raise ValueError("my secret question")
    except ValueError:
        record = logging.LogRecord("studio", logging.ERROR, "file", 1, "an answer failed", (), sys.exc_info())
    record.facts = {"tokens": 3}
    line = json.loads(logs.Lines().format(record))
    assert (line["event"], line["level"], line["tokens"], line["exception"]) == ("an answer failed", "error", 3, "ValueError")
    assert "secret" not in json.dumps(line) and line["at"][0].startswith("test_operator.py:")
    for wrong in ({"LOG_FORMAT": "xml"}, {"LOG_LEVEL": "loud"}):
        with pytest.raises(ValueError, match="LOG_"):
            logs.prepare(wrong)


@pytest.fixture
def measured(target: Any) -> Iterator[tuple[Worker, Metrics, Visitors]]:
    metrics, visitors = Metrics(), Visitors()
    worker = Worker(lambda: target("llava"), Limits(), metrics.ended)
    metrics.watch(worker, visitors)
    yield worker, metrics, visitors
    worker.close(10)
    worker._thread.shutdown(wait=True)


def values(text: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_metrics_add_up_to_what_was_answered(measured: Any, caplog: pytest.LogCaptureFixture) -> None:
    worker, metrics, visitors = measured
    visitors.of("a")
    caplog.set_level(logging.INFO, "studio.metrics")
    answer = wait(worker.ask(Answer(Conversation(), "My secret question", None, "recap", 24)))
    failed = wait(worker.ask(Answer(Conversation(), "the cat " * 900, None, "recap", 24)))
    race = wait(worker.ask(Contest(Conversation(), "Hello", None, max_new_tokens=12)))
    found = values(metrics.text().decode())
    traces = [answer.trace, race.traces[1]]
    method = '{method="recap"}'
    assert found[f"recap_tokens_total{method}"] == sum(len(trace.token_ids) for trace in traces)
    assert found[f"recap_passes_total{method}"] == sum(len(trace.steps) for trace in traces)
    own = [found[f'recap_device_seconds_total{{method="recap",phase="{phase}"}}'] for phase in ("encode", "prefill", "decode")]
    assert sum(own) == pytest.approx(sum(trace.seconds for trace in traces))
    assert found[f"recap_acceptance_length_sum{method}"] == pytest.approx(sum(trace.acceptance_length for trace in traces))
    assert found[f"recap_race_speedup_sum{method}"] == pytest.approx(race.race.speedup)
    ended = 'recap_answers_total{kind="%s",method="%s",outcome="%s"}'
    assert found[ended % ("answer", "recap", "complete")] == found[ended % ("answer", "recap", "failed")] == 1
    assert found[ended % ("race", "ar+recap", "complete")] == 1 and failed.state == "failed"
    assert (found["recap_visitors"], found["recap_running"], found["recap_model_ready"]) == (1, 0, 1)
    facts = [record.facts for record in caplog.records]
    assert [one["outcome"] for one in facts] == ["complete", "failed", "complete"]
    assert facts[0]["tokens"] == len(answer.trace.token_ids) and facts[0]["first_token"] >= facts[0]["waited"] >= 0
    written = json.dumps(facts) + metrics.text().decode()
    assert "secret" not in written and answer.conversation.key not in written


def test_health_says_how_it_is(measured: Any, target: Any) -> None:
    worker, metrics, visitors = measured

    def asked(**headers: str) -> Any:
        app = Starlette(routes=health.routes(worker, visitors, metrics, "let me see"))
        return TestClient(app, headers=headers)

    found = asked().get("/healthz")
    assert (found.status_code, found.json()["status"], found.json()["model"]) == (200, "loading", None)
    wait(worker.ask(Answer(Conversation(), "Hello", None, "ar", 2)))
    found = asked().get("/healthz").json()
    assert found["status"] == "ready" and found["model"]["dtype"] == "float32" and found["waiting"] == 0
    assert asked().get("/metrics").status_code == 401
    assert asked(authorization="Bearer let me se").get("/metrics").status_code == 401
    shown = asked(authorization="Bearer let me see").get("/metrics")
    assert shown.status_code == 200 and "recap_answers_total" in shown.text
    worker.close()
    assert (asked().get("/healthz").status_code, asked().get("/healthz").json()["status"]) == (503, "closing")
    empty = Worker(lambda: None)
    empty.error = "There is none."
    only = TestClient(Starlette(routes=health.routes(empty, visitors, metrics)))
    assert only.get("/healthz").status_code == 503 and only.get("/healthz").json()["error"] == "There is none."
    assert only.get("/metrics").status_code == 404
    assert (health.wanted({}), health.wanted({"METRICS": "on"})) == (False, True)
    assert health.wanted({"METRICS": "on", "METRICS_TOKEN": "x"}) == "x" and health.wanted({"METRICS_TOKEN": "x"}) is False
    with pytest.raises(ValueError, match="METRICS must be on or off"):
        health.wanted({"METRICS": "yes please"})


class Time:
    now = 0.0


@pytest.fixture
def behind() -> Callable[..., TestClient]:
    """`behind(**limits)`: a client of an app that says what it was asked for, with the gate in front."""

    async def told(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"{request.url.path} {len(await request.body())}")

    def client(clock: Callable[[], float] = lambda: 0.0, **limits: Any) -> TestClient:
        routes = [Route("/{path:path}", told, methods=["GET", "POST", "PUT", "HEAD", "OPTIONS"])]
        gate = Middleware(Gate, limits=Limits(**limits), clock=clock)
        return TestClient(Starlette(routes=routes, middleware=[gate]))

    return client


@pytest.mark.parametrize("path", [
    "/gradio_api/file=http://example.com/x.png", "/gradio_api/file=https%3A%2F%2Fexample.com/x",
    "/gradio_api/file=..%2f..%2fetc/passwd", "/gradio_api/file=/tmp/%2e%2e/etc/passwd", "/gradio_api/file=a%00b",
    "/gradio_api/file=%25252e%25252e/etc/passwd", "/gradio_api/file=C:\\..\\x", "/gradio_api/file=file:///etc/passwd",
    "/gradio_api/proxy=https://example.com", "/gradio_api/stream/x/y/1/playlist.m3u8", "/monitoring", "/gradio_api/runs",
    "/gradio_api/vibe-code", "/gradio_api/dev/reload", "/gradio_api/custom_component/1/client/x/y.js", "/login_check",
    "/gradio_api/deep_link", "/gradio_api/token", "/docs", "/openapi.json", "/.git/config", "/app.py", "/gradio_api/file/x",
])  # fmt: skip
def test_what_nobody_needs_is_not_there(behind: Any, path: str) -> None:
    found = behind().get(path)
    assert found.status_code == 404 and "example" not in found.text and "etc" not in found.text


def test_what_the_page_needs_is(behind: Any) -> None:
    client = behind()
    for path in ("/", "/config", "/assets/x-1.js", "/theme.css", "/gradio_api/heartbeat/ab-c1", "/gradio_api/queue/data",
                 "/gradio_api/info", "/gradio_api/call/chat/0af3", "/gradio_api/file=/tmp/a/picture 1.png", "/healthz"):  # fmt: skip
        assert client.get(path).status_code == 200, path
    for path in ("/gradio_api/upload", "/gradio_api/queue/join", "/gradio_api/call/race", "/gradio_api/component_server"):
        assert client.post(path, content=b"12345").text == f"{path} 5"
    assert client.put("/", content=b"x").status_code == 405
    assert client.post("/", content=b"x").status_code == 404 and client.post("/login").status_code == 404


def test_bodies_are_bounded_however_they_are_sent(behind: Any) -> None:
    client = behind(upload_megabytes=2)

    def slices(count: int) -> Iterator[bytes]:
        yield from (b"x" * 100_000 for _ in range(count))

    for path, most in (("/gradio_api/queue/join", 1 << 20), ("/gradio_api/upload", 2_000_000 + (1 << 16))):
        assert client.post(path, content=b"x" * most).status_code == 200
        told = client.post(path, content=b"x" * (most + 1))
        assert told.status_code == 413 and f"{most:,} bytes" in told.json()["detail"]
        assert client.post(path, content=slices(10)).status_code == 200
        assert client.post(path, content=slices(30)).status_code == 413, "without a length"
    for length in ("-1", "1e3", "9" * 4000, "x"):
        assert client.post("/gradio_api/queue/join", headers={"content-length": length}).status_code == 413


def test_uploads_a_minute_are_counted_by_address(behind: Any) -> None:
    time = Time()
    client = behind(lambda: time.now, uploads=2, proxies=1)

    def upload(address: str) -> int:
        return client.post("/gradio_api/upload", content=b"x", headers={"x-forwarded-for": address}).status_code

    assert [upload("9.9.9.9, 1.1.1.1") for _ in range(3)] == [200, 200, 429]
    assert upload("1.1.1.1, 2.2.2.2") == 200, "what a client makes up itself does not count"
    time.now += 61
    assert upload("1.1.1.1") == 200
    plain = behind(uploads=1)
    sent = [plain.post("/gradio_api/upload", headers={"x-forwarded-for": str(number)}).status_code for number in range(2)]
    assert sent == [200, 429], "and without a trusted proxy nothing of it does"


def test_the_oldest_uploads_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / "file"
        path.write_bytes(b"x" * 1000)
        os.utime(path, (number, number))
    outside = tmp_path.parent / "outside"
    outside.write_bytes(b"x" * 9000)
    (tmp_path / "link").symlink_to(outside)
    assert uploads.tidy(tmp_path, 2500) == 2 and outside.exists()
    assert [(tmp_path / str(number) / "file").exists() for number in range(4)] == [False, False, True, True]
    monkeypatch.setenv(uploads.VARIABLE, str(tmp_path / "mine"))
    assert uploads.prepare() == tmp_path / "mine" and (tmp_path / "mine").is_dir()
    monkeypatch.setenv(uploads.VARIABLE, "")
    made = uploads.prepare()
    assert made.is_dir() and os.environ[uploads.VARIABLE] == str(made) and not list(made.iterdir())
    code = "import os, signal; from studio import uploads; print(uploads.prepare()); os.kill(os.getpid(), signal.SIGKILL)"
    bare = {name: value for name, value in os.environ.items() if name != uploads.VARIABLE}
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=bare, capture_output=True, text=True)
    killed = Path(ran.stdout.strip())
    (killed / "somebody's.png").write_bytes(b"x")
    monkeypatch.setenv(uploads.VARIABLE, "")
    assert uploads.prepare().is_dir() and not killed.exists(), "what an app that was killed left"
    assert made.is_dir(), "but not what a living one has"
    uploads.discard()
    assert not made.exists() and (tmp_path / "mine").is_dir()


def test_uploads_have_a_folder_where_nothing_can_be_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError("no locks on this file system")

    monkeypatch.setenv(uploads.VARIABLE, "")
    monkeypatch.setattr(uploads.fcntl, "flock", refuse)
    made = uploads.prepare()
    assert made.is_dir()
    uploads.discard()
    assert not made.exists()


def test_large_pictures_and_long_questions_are_told(tmp_path: Path) -> None:
    tiny.picture(1, 300, 200).save(tmp_path / "blocks.png")
    inputs.picture(str(tmp_path / "blocks.png"), 0.06)
    with pytest.raises(ValueError, match=r"300 x 200 pixels; here it may have 0.05 million"):
        inputs.picture(str(tmp_path / "blocks.png"), 0.05)
    inputs.picture(None, 1)
    inputs.picture(str(tmp_path / "none.png"), 1)
    with pytest.raises(ValueError, match="has 11 characters; here it may have 10"):
        inputs.question("x" * 11, 10)
    with pytest.raises(ValueError, match="from 1 to 20, got 21"):
        inputs.tokens(21, 20)
