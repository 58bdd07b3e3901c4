"""Two replicas on Ray Serve, as processes: each visitor stays with one; one that is killed takes nobody else with it."""

from __future__ import annotations

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

import psutil
import pytest
from gradio_client import Client, handle_file
from playwright.sync_api import Browser, expect

from studio.desk import GONE as NO_CONVERSATION

from . import tiny
from .app_fixtures import ROOT, again, answered, ask, ready, settle

pytest.importorskip("ray", reason="Ray Serve is not installed: pip install -r requirements-ray.txt")

from deploy.affinity import COOKIE  # noqa: E402
from deploy.front import BROKEN  # noqa: E402

Served = tuple[str, int, Path]
"""Address, the process that started the replicas, and their log."""
LONG = 900
"""Tokens of an answer that is still being written when something happens."""


@pytest.fixture(scope="module")
def replicas(tiny_folder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The address of two replicas of a tiny model, and the process that started them. Ends it as an operator would."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("replicas")
    log = folder / "log.txt"
    env = {**os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1", "LOG_FORMAT": "json",
           "MODEL": str(tiny_folder("llava")), "DTYPE": "float32", "THREADS": "1", "RECAP_CACHE": str(folder / "cache"),
           "HOME": str(folder)}  # fmt: skip
    with log.open("w") as out:
        command = subprocess.Popen([sys.executable, "-m", "deploy.ray_serve"], cwd=ROOT, env=env, stdout=out, stderr=out)
    url = f"http://127.0.0.1:{port}/"
    try:
        for _ in range(1800):
            assert command.poll() is None, log.read_text()
            if "RECAP Studio is at" in log.read_text():
                break
            time.sleep(0.1)
        yield url, command.pid, log
        command.send_signal(signal.SIGTERM)
        assert command.wait(40) == 0, log.read_text()
        text = log.read_text()
        assert "Traceback" not in text and "secret" not in text, text
        assert not (folder / ".ray").exists() and not list(Path("/tmp").glob(f"recap-ray-*/session_*_{command.pid}"))
    finally:
        command.kill()
        command.wait()


def health(url: str) -> dict[str, Any]:
    return json.load(urllib.request.urlopen(f"{url}healthz", timeout=10))


def status(url: str, **headers: str) -> int:
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code


def both(url: str) -> dict[str, Client]:
    """A program at each replica, by the replica's name."""
    found: dict[str, Client] = {}
    for _ in range(40):
        client = Client(url, verbose=False)
        found.setdefault(client.cookies[COOKIE], client)
        if len(found) == 2:
            return found
    pytest.fail("forty visitors came to one replica")


def process(name: str) -> int:
    """Who writes the log of that replica."""
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link).endswith(f"_{name}.log"):
                return int(link.parts[2])
        except OSError:
            continue
    pytest.fail(f"no process of the replica {name}")


def posted(url: str, path: str, value: Any) -> Any:
    request = urllib.request.Request(f"{url}{path}", json.dumps(value).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=20))


def test_every_kind_of_program_is_answered_by_its_replica(replicas: Served, tmp_path: Path) -> None:
    url, _, _ = replicas
    assert health(url)["replicas"] == 2
    first, second = both(url).values()
    said = first.predict("Hello", None, "recap", 8, api_name="/chat")
    assert said and second.predict("Hello", None, "recap", 8, api_name="/chat") == said
    tiny.picture(3).save(path := tmp_path / "blocks.png")
    for client in (first, second):  # the upload and what asks about it reach the same one
        assert client.predict("What?", handle_file(str(path)), "recap", 8, api_name="/chat")
        assert client.predict("Hello", None, "recap", 8, api_name="/race")[-1] is True
    names = set()
    for number in range(6):  # without a cookie: by the id of the event, and by the session hash
        event = posted(url, "gradio_api/call/chat", {"data": ["Hello", None, "recap", 8]})["event_id"]
        names.add(event.partition("_")[0])
        stream = urllib.request.urlopen(f"{url}gradio_api/call/chat/{event}", timeout=20).read().decode()
        assert f"event: complete\ndata: {json.dumps([said])}" in stream
        chat = next(one["id"] for one in first.config["dependencies"] if one["api_name"] == "chat")
        joined = {"data": ["Hello", None, "recap", 8], "fn_index": chat, "session_hash": f"visitor-{number}"}
        assert posted(url, "gradio_api/queue/join", joined)["event_id"]
        stream = urllib.request.urlopen(f"{url}gradio_api/queue/data?session_hash=visitor-{number}", timeout=20).read().decode()
        assert '"success":true' in stream.split("process_completed")[1]
    assert names <= {first.cookies[COOKIE], second.cookies[COOKIE]}


def test_nothing_more_is_open_than_from_one_process(replicas: Served) -> None:
    url, pid, _ = replicas
    for path in ("-/routes", "-/healthz", "docs", "openapi.json", "gradio_api/file=/etc/passwd", "gradio_api/token"):
        assert status(url + path) in (403, 404), path
    answer = urllib.request.urlopen(url)
    assert answer.headers.get_all("content-security-policy") and len(answer.headers.get_all("content-security-policy")) == 1
    assert "HttpOnly" in answer.headers["set-cookie"] and "SameSite=Lax" in answer.headers["set-cookie"]
    with pytest.raises(urllib.error.HTTPError, match="413"):
        urllib.request.urlopen(f"{url}gradio_api/queue/join", b"x" * ((1 << 20) + 1))
    path = {"path": "/etc/hostname", "meta": {"_type": "gradio.FileData"}}
    event = posted(url, "gradio_api/call/chat", {"data": ["What?", path, "recap", 8]})["event_id"]
    stream = urllib.request.urlopen(f"{url}gradio_api/call/chat/{event}", timeout=20).read().decode()
    assert "event: error" in stream and "none that was uploaded to this server" in stream
    ours = psutil.Process(pid)
    heard = {
        line.laddr.ip for one in (ours, *ours.children(recursive=True)) for line in one.net_connections("inet")
        if line.status == psutil.CONN_LISTEN
    }  # fmt: skip
    assert heard and heard <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}, heard


def test_who_hangs_up_frees_the_device(replicas: Served) -> None:
    url, _, log = replicas
    before = log.read_text().count('"outcome": "stopped"')
    event = posted(url, "gradio_api/call/chat", {"data": ["My secret question", None, "ar", LONG]})["event_id"]
    with urllib.request.urlopen(f"{url}gradio_api/call/chat/{event}", timeout=20) as stream:
        assert stream.readline().startswith(b"event: generating")
    for _ in range(100):
        if log.read_text().count('"outcome": "stopped"') > before:
            return
        time.sleep(0.1)
    pytest.fail("nobody listens, and the answer was not stopped")


def test_a_replica_that_is_killed_takes_nobody_else_with_it(replicas: Served, browser: Browser) -> None:
    url, _, _ = replicas
    programs, ready_again = both(url), health(url)
    expected, few = (next(iter(programs.values())).predict("Hello", None, "ar", most, api_name="/chat") for most in (LONG, 8))
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script("localStorage.setItem('recap-toured', 'yes')")
    page, idle = context.new_page(), context.new_page()
    frames: list[Any] = []
    page.on("websocket", lambda line: line.on("framereceived", lambda frame: frames.append(frame)))
    for one in (page, idle):
        one.goto(url)
        ready(one)
    name = next(one["value"] for one in context.cookies() if one["name"] == COOKIE)
    other = next(one for one in programs if one != name)
    at = process(name)
    ask(page, "Hello", tokens=LONG, nodes=1)
    jobs = {one: client.submit("Hello", None, "ar", LONG, api_name="/chat") for one, client in programs.items()}
    for _ in range(1000):  # words come over the WebSocket, and to the programs
        if len(frames) > 2 and all(len(job.outputs()) > 1 for job in jobs.values()):
            break
        page.wait_for_timeout(20)
    assert len(frames) > 2
    assert not any(job.done() for job in jobs.values())
    expect(page.locator("#stop")).to_be_enabled()
    os.kill(at, signal.SIGKILL)
    with pytest.raises(Exception, match=BROKEN):
        jobs[name].result(30)
    assert programs[name].predict("Hello", None, "ar", 8, api_name="/chat") == few, "with the cookie of the dead one"
    assert jobs[other].result(60) == expected, "the neighbour noticed nothing"
    assert health(url) in ({**ready_again, "status": "degraded", "replicas": 1, "starting": 1}, ready_again)
    expect(page.locator("#notice")).to_contain_text(NO_CONVERSATION, timeout=30_000)  # it has opened itself anew
    assert next(one["value"] for one in context.cookies() if one["name"] == COOKIE) != name
    settle(page, limit=8)
    again(page, "Hello")
    assert answered(page)
    again(idle, "Hello")
    expect(idle.locator("#notice")).to_contain_text(NO_CONVERSATION, timeout=30_000)  # it asked an empty place, and knows
    expect(idle.locator("#prompt textarea")).to_have_value("Hello")
    settle(idle, limit=8)
    idle.click("#send")
    assert answered(idle)
    context.close()
