"""The app as a process: SIGTERM in the middle of answers, SIGKILL and a fresh start, mistakes of the operator's, rest."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gradio
import pytest
from gradio_client import Client

from studio.worker import Worker

from .app_fixtures import ROOT, served

Started = tuple[subprocess.Popen, str, Path]


@pytest.fixture
def start(tiny_folder: Callable[..., Path], tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """`start(**environment)`: the app on a tiny model, its address and its log; ready unless it ended by itself."""
    running: list[subprocess.Popen] = []

    def started(**environment: str) -> Started:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        log = tmp_path / f"log-{len(running)}.txt"
        env = {**os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1", "LOG_FORMAT": "json",
               "MODEL": str(tiny_folder("llava")), "DTYPE": "float32", "RECAP_CACHE": str(tmp_path / "cache"),
               "RECAP_LEARN": "on", "TMPDIR": str(tmp_path), **environment}  # fmt: skip
        with log.open("w") as out:
            running.append(app := subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env, stdout=out, stderr=out))
        url = f"http://127.0.0.1:{port}/"
        for _ in range(1200):
            try:
                if app.poll() is not None or health(url)["status"] == "ready":
                    break
            except OSError:
                pass
            time.sleep(0.1)
        return app, url, log

    yield started
    for app in running:
        app.kill()
        app.wait()


def health(url: str) -> dict[str, Any]:
    return json.load(urllib.request.urlopen(f"{url}healthz", timeout=5))


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def test_sigterm_ends_answers_cleanly_and_sigkill_spoils_nothing(start: Callable[..., Started], tmp_path: Path) -> None:
    app, url, log = start(METRICS="on", MAX_RUNNING="2")
    client = Client(url, verbose=False)
    said = client.predict("Hello", None, "recap", 8, api_name="/chat")
    assert b'recap_answers_total{kind="answer",method="recap",outcome="complete"} 1.0' in urllib.request.urlopen(f"{url}metrics").read()
    while not (starts := [line for line in lines(log) if line["event"] == "started"]):
        time.sleep(0.05)  # the page answers a little before it says so
    assert starts[0]["MAX_RUNNING"] == 2 and starts[0]["metrics"] == "open"
    app.send_signal(signal.SIGKILL)
    app.wait(10)

    app, url, log = start()
    client = Client(url, verbose=False)
    assert client.predict("Hello", None, "recap", 8, api_name="/chat") == said
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(f"{url}metrics")
    clients = [Client(url, verbose=False) for _ in range(3)]
    jobs = [one.submit("My secret question", None, "ar", 900, api_name="/chat") for one in clients]
    while health(url)["running"] < 3:
        time.sleep(0.02)
    begun = time.monotonic()
    app.send_signal(signal.SIGTERM)
    assert app.wait(30) == 0 and time.monotonic() - begun < 20
    assert all("closing" in str(job.exception(10)) for job in jobs), "a cut answer is no answer to a program"
    told = lines(log)
    ends = [line for line in told if line["event"] == "answer ended"]
    assert [line["outcome"] for line in ends] == ["complete", "stopped", "stopped", "stopped"]
    assert told[-1]["event"] == "closed" and told[-1]["answers_ended"] is True
    assert "Traceback" not in log.read_text() and "secret" not in log.read_text()
    assert not list(tmp_path.glob("recap-studio-*")), "what the killed one left went with the next start"


@pytest.mark.parametrize("wrong", [{"MAX_RUNNING": "none"}, {"DTYPE": "int4"}, {"METRICS": "maybe"}, {"GRADIO_SERVER_PORT": "x"},
                                   {"WARM_MEMORY": "/nowhere"}])
def test_mistakes_of_the_operator_are_a_sentence(wrong: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    import app

    for name, value in {"MODEL": "nowhere", **wrong}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "argv", ["app.py"])
    with pytest.raises(SystemExit, match=next(iter(wrong))):
        app.main()


def test_the_text_reader_tells_nobody(tmp_path: Path) -> None:
    """onnxruntime would leave an identifier for its maker in the user's folders."""
    env = {name: value for name, value in os.environ.items() if name not in ("CI", "ORT_DISABLE_TELEMETRY")}
    run = "from recap.targets.builtin.text_reader import TextReader as R; from PIL import Image as I; R()(I.new('RGB', (99, 99)))"
    subprocess.run([sys.executable, "-c", run], cwd=ROOT, check=True, timeout=120, env={
        **env, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "PYTHONPATH": str(ROOT),
    })  # fmt: skip
    assert not [path for path in tmp_path.rglob("*") if "onnxruntime" in path.name or path.name == "deviceid"]


def test_a_server_that_nobody_asks_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[float] = []

    class Counted:
        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio, name)

        def sleep(self, seconds: float) -> Any:
            looks.append(seconds)
            return asyncio.sleep(seconds)

    monkeypatch.setattr(gradio.queueing, "asyncio", Counted())
    worker = Worker(lambda: None)
    worker.error = "there is none"
    with served(worker):
        time.sleep(0.2)
        before = len(looks)
        time.sleep(1)
        assert 0 < len(looks) - before <= 60  # gradio's own way is about a thousand
