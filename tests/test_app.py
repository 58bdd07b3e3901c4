"""The app as people and programs use it: a real process, the built-in model, Chromium and gradio_client."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from gradio_client import Client, handle_file
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from app import build
from studio.policy import POLICY
from studio.worker import Worker

from .browser import Log, chromium, watch

ROOT = Path(__file__).parents[1]
PATIENCE = 240_000
"""Milliseconds for an answer on a busy machine."""
IDS = ("image", "prompt", "send", "stop", "clear", "chat", "tree", "method", "model-status")


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    env = {**os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1", "MODEL": "builtin"}
    with log.open("w") as out:
        app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(600):
            assert app.poll() is None, f"the app ended by itself:\n{log.read_text()}"
            try:
                urllib.request.urlopen(url, timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail(f"the app did not open within a minute:\n{log.read_text()}")
        yield url
    finally:
        app.terminate()
        try:
            app.wait(20)
        except subprocess.TimeoutExpired:
            app.kill()
    assert "Traceback" not in log.read_text(), log.read_text()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A fresh visitor. What the page says on the console or asks of other servers fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    log = watch(page)
    page.goto(address)
    expect(page.locator("#send")).to_be_visible(timeout=60_000)
    yield page
    context.close()
    assert_clean(log)


def assert_clean(log: Log) -> None:
    assert log.foreign == []
    # gradio's own client says this, as a warning, whenever a stream of events has ended
    assert [line for line in log.console if line != "warning: Method not implemented."] == []


def ask(page: Page, question: str, picture: Path | None = None, tokens: int = 24) -> None:
    if picture is not None:
        page.set_input_files("#image input[type=file]", str(picture))
        expect(page.locator("#image img").first).to_be_visible(timeout=30_000)
    page.fill("#limit input[type=number]", str(tokens))
    page.press("#limit input[type=number]", "Tab")
    page.fill("#prompt textarea", question)
    page.click("#send")


def answered(page: Page) -> str:
    """Wait for the end; the text of the last answer."""
    expect(page.locator("#prompt textarea")).to_have_value("", timeout=30_000)  # the question has been taken
    expect(page.locator("#send")).to_be_enabled(timeout=PATIENCE)
    return page.locator("#chat .bot.message").last.inner_text()


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pictures") / "red.png"
    Image.new("RGB", (320, 240), "#cc2222").save(path)
    return path


def test_page_opens_while_the_model_loads_and_a_question_waits(browser: Browser) -> None:
    """The real page in this process, around a worker whose model does not come until the test says so."""
    gate = threading.Event()

    def load() -> None:
        assert gate.wait(120)
        raise OSError("no space left on this disk")

    worker = Worker(load)
    worker.start()
    studio = build(worker)
    _, address, _ = studio.launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    try:
        page = context.new_page()
        page.goto(address)
        expect(page.locator("#model-status")).to_contain_text("oading", timeout=60_000)
        expect(page.locator("#tree")).to_contain_text("Ask something", timeout=30_000)
        ask(page, "Say hello.", tokens=8)
        expect(page.locator("#chat")).to_contain_text("Waiting for the model to load", timeout=20_000)
        gate.set()
        sentence = "The model could not be loaded: No space left on this disk."
        expect(page.locator("#notice")).to_contain_text(sentence, timeout=30_000)
        expect(page.locator("#prompt textarea")).to_have_value("Say hello.")
        expect(page.locator("#model-status")).to_contain_text("No model")
    finally:
        gate.set()
        context.close()
        studio.close()


def test_page_says_what_runs(page: Page) -> None:
    for name in IDS:
        expect(page.locator(f"#{name}")).to_have_count(1, timeout=20_000)
    expect(page.locator("#tree")).to_contain_text("Ask something", timeout=30_000)
    ask(page, "Say hello.", tokens=8)
    assert answered(page)
    status = page.locator("#model-status")
    expect(status).to_contain_text(re.compile("bfloat16|float32"))
    for words in ("builtin", "cpu", "C core", "stand-in", "front end saw"):
        expect(status).to_contain_text(words)


@pytest.mark.parametrize("width, height", [(1280, 800), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_picture_question_tree(
    browser: Browser, address: str, picture: Path, width: int, height: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    log = watch(page)
    page.goto(address)
    expect(page.locator("#send")).to_be_visible(timeout=60_000)
    question = "What colour is **this**? <image> <b>Be brief.</b>"
    ask(page, question, picture, tokens=8)
    said = answered(page)
    expect(page.locator("#chat .user.message").last).to_contain_text(question)
    assert said and "stopped" not in said
    nodes = page.locator("#tree .scatterlayer .points path")
    expect(nodes.nth(3)).to_be_attached(timeout=20_000)
    passes = int(page.locator("#numbers dd").nth(3).inner_text())
    assert passes >= 1 and f"of {passes} · " in page.locator("#caption").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    nodes.nth(1).scroll_into_view_if_needed()
    nodes.nth(1).hover(force=True)
    expect(page.locator("#tree .hoverlayer")).to_contain_text("efused", timeout=10_000)
    for node in (1, 5, nodes.count() - 1):  # what a node tells is in view, wherever the node stands
        nodes.nth(node).scroll_into_view_if_needed()
        nodes.nth(node).hover(force=True)
        page.wait_for_timeout(300)
        told, frame = (page.locator(f"#tree {name}").bounding_box() for name in (".hoverlayer", ".frame"))
        assert told and frame and told["width"] > 50
        assert frame["x"] <= told["x"] and told["x"] + told["width"] <= frame["x"] + frame["width"]
    legend = page.locator("#legend").bounding_box()
    assert legend and legend["x"] + legend["width"] <= width
    context.close()
    assert_clean(log)


def test_stop_keeps_what_was_said_and_the_chat_goes_on(page: Page) -> None:
    ask(page, "Count from one to two hundred in words, one after another.", tokens=400)
    expect(page.locator("#caption")).to_contain_text("Pass", timeout=PATIENCE)
    page.click("#stop")
    expect(page.locator("#notice")).to_contain_text("Stopped after", timeout=60_000)
    said = page.locator("#chat .bot.message").last.inner_text()
    assert said.strip()
    ask(page, "Thank you.", tokens=8)
    assert answered(page)
    assert page.locator("#chat .bot.message").count() == 2
    assert page.locator("#chat .bot.message").first.inner_text() == said
    page.click("#clear")
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(page.locator("#tree")).to_contain_text("Ask something", timeout=30_000)
    ask(page, "Hello.", tokens=8)
    assert answered(page) and page.locator("#chat .bot.message").count() == 1


def test_clear_in_the_middle_of_an_answer(page: Page, picture: Path) -> None:
    ask(page, "Write a long story about this picture.", picture, tokens=400)
    expect(page.locator("#caption")).to_contain_text("Pass", timeout=PATIENCE)
    page.click("#clear")
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(page.locator("#image img")).to_have_count(0)
    page.wait_for_timeout(4000)  # time enough for what was on its way to come back
    expect(page.locator("#chat .message")).to_have_count(0)
    expect(page.locator("#tree")).to_contain_text("Ask something")
    expect(page.locator("#caption p")).to_have_count(0)
    expect(page.locator("#numbers dd").first).to_have_text("–")
    ask(page, "What is this?", picture, tokens=8)
    assert answered(page) and page.locator("#chat .bot.message").count() == 1
    expect(page.locator("#chat .user.message img")).to_have_count(1)  # the picture went along again
    expect(page.locator("#notice")).not_to_contain_text("Stopped")


def test_a_question_right_after_clear_is_answered(page: Page) -> None:
    ask(page, "Count from one to two hundred in words, one after another.", tokens=400)
    expect(page.locator("#caption")).to_contain_text("Pass", timeout=PATIENCE)
    page.click("#clear")
    page.fill("#prompt textarea", "Say hello again.")
    page.press("#prompt textarea", "Enter")
    expect(page.locator("#chat .user.message")).to_have_text(["Say hello again."], timeout=30_000)
    expect(page.locator("#stop")).to_be_enabled(timeout=30_000)
    page.click("#stop")
    expect(page.locator("#send")).to_be_enabled(timeout=PATIENCE)
    expect(page.locator("#chat .user.message")).to_have_text(["Say hello again."])
    assert page.locator("#chat .bot.message").count() == 1


def test_a_question_stopped_while_it_waits_can_be_asked_again_at_once(page: Page, address: str) -> None:
    question = "Count from one to two hundred in words, one after another."
    long = Client(address, verbose=False).submit(question, None, "ar", 512, api_name="/chat")
    while not long.outputs():
        time.sleep(0.1)
    ask(page, "Say hello.", tokens=8)
    expect(page.locator("#chat")).to_contain_text("1 other answer first", timeout=30_000)
    page.click("#stop")
    expect(page.locator("#chat")).to_contain_text("stopped before the first word", timeout=10_000)
    ask(page, "Say goodbye.", tokens=8)
    expect(page.locator("#chat")).to_contain_text("1 other answer first", timeout=10_000)
    assert not long.done() and page.locator("#notice p").count() == 0
    long.cancel()
    assert answered(page)


def test_a_notice_leaves_the_controls_on_the_page(page: Page, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"this is no picture at all")
    page.set_input_files("#image input[type=file]", str(broken))
    expect(page.locator("#flaw")).to_contain_text("'broken.png' could not be read", timeout=30_000)
    for name in ("#limit", "#method", "#legend"):
        box = page.locator(name).bounding_box()
        assert box and box["y"] + box["height"] <= 800, name
    assert page.evaluate("document.documentElement.scrollHeight") <= 800
    page.click("#clear")
    expect(page.locator("#flaw p")).to_have_count(0)
    page.click("#send")
    expect(page.locator("#notice")).to_contain_text("Type a question first")
    box = page.locator("#limit").bounding_box()
    assert box and box["y"] + box["height"] <= 800


def test_an_example_fills_in_its_picture_and_question(page: Page) -> None:
    page.locator("#examples button").first.click()
    expect(page.locator("#image img").first).to_be_visible(timeout=30_000)
    expect(page.locator("#prompt textarea")).not_to_have_value("")


def test_bad_input_is_a_sentence(page: Page, tmp_path: Path) -> None:
    page.click("#send")
    expect(page.locator("#notice")).to_contain_text("Type a question first")
    ask(page, "very long " * 20_000)
    expect(page.locator("#notice")).to_contain_text("tokens", timeout=PATIENCE)
    assert len(page.input_value("#prompt textarea")) > 100_000  # kept, so that it can be shortened
    page.click("#clear")
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"this is no picture at all")
    page.set_input_files("#image input[type=file]", str(broken))
    expect(page.locator("#image img").first).to_be_attached(timeout=30_000)
    page.fill("#prompt textarea", "What is this?")
    page.click("#send")
    expect(page.locator("#notice")).to_contain_text("picture", timeout=PATIENCE)
    expect(page.locator("#send")).to_be_enabled()


def test_programs_see_one_endpoint_and_both_methods_agree(address: str, picture: Path) -> None:
    client = Client(address, verbose=False)
    endpoints = client.view_api(print_info=False, return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/chat"}
    names = [one["parameter_name"] for one in endpoints["/chat"]["parameters"]]
    assert names == ["prompt", "image", "method", "max_new_tokens"]
    said = {
        method: client.predict("What colour is this?", handle_file(picture), method, 16, api_name="/chat")
        for method in ("recap", "ar")
    }
    assert said["recap"] and said["recap"] == said["ar"]
    job = client.submit("Write a sentence about rain.", None, "recap", 24, api_name="/chat")
    final = job.result(timeout=PATIENCE / 1000)
    parts = job.outputs()
    assert final == parts[-1] and all(final.startswith(part.rstrip()) for part in parts) and len(parts) > 1


class Fetched(BaseHTTPRequestHandler):
    """A server that must not be asked for anything."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)


def test_programs_get_a_sentence_for_whatever_they_send(address: str, picture: Path) -> None:
    """The log of the app is searched for tracebacks when the tests end."""
    other = ThreadingHTTPServer(("127.0.0.1", 0), Fetched)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{other.server_port}/p.png"
    mark = {"meta": {"_type": "gradio.FileData"}}
    number, image = "max_new_tokens must be a whole number", "image must be null or a picture uploaded"
    for given, sentence in (
        (["Hello", None, "guessing", 8], "method must be one of"),
        (["Hello", None, None, 8], "method must be one of"),
        (["Hello", None, "recap", 0], number),
        (["Hello", None, "recap", None], number),
        (["Hello", None, "recap", "eight"], number),
        (["Hello", None, "recap", 10**300], number),
        ([" \n", None, "recap", 8], "Type a question first"),
        ([5, None, "recap", 8], "prompt must be text"),
        ([None, None, "recap", 8], "prompt must be text"),
        (["Hello", {}, "recap", 8], image),
        (["Hello", "cat.png", "recap", 8], image),
        (["Hello", {"url": url}, "recap", 8], image),
        (["Hello", {"path": url, **mark}, "recap", 8], image),
        (["Hello", {"path": url}, "recap", 8], image),
        (["Hello", {"path": 5, **mark}, "recap", 8], image),
        (["Hello", {"path": str(picture)}, "recap", 8], "none that was uploaded"),
        (["Hello", {"path": "/etc/hostname", **mark}, "recap", 8], "none that was uploaded"),
        (["Hello"], "does not fit this endpoint"),
    ):
        said = posted(address, given)
        assert sentence in said and len(said) < 400 and str(picture.parent) not in said and "/etc" not in said, said
    assert Fetched.asked == []
    other.shutdown()


def posted(address: str, given: list) -> str:
    """The error that /chat answers with."""
    call = f"{address}gradio_api/call/chat"
    body = json.dumps({"data": given}).encode()
    asked = urllib.request.Request(call, body, {"content-type": "application/json"})
    event = json.load(urllib.request.urlopen(asked, timeout=30))["event_id"]
    answer = urllib.request.urlopen(f"{call}/{event}", timeout=PATIENCE / 1000).read().decode()
    assert "event: error" in answer
    return json.loads(answer.rpartition("data: ")[2])["error"] or "no word"


def test_two_at_once_take_turns(address: str) -> None:
    said: dict[int, str] = {}

    def run(number: int) -> None:
        client = Client(address, verbose=False)
        said[number] = client.predict("Name three colours.", None, "recap", 24, api_name="/chat")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    [thread.start() for thread in threads]
    [thread.join(PATIENCE / 1000) for thread in threads]
    assert len(said) == 2 and said[0] == said[1] and said[0]


def test_policy_and_help(address: str) -> None:
    assert urllib.request.urlopen(address).headers["content-security-policy"] == POLICY
    assert "form-action 'none'" in POLICY
    shown = subprocess.run([sys.executable, "app.py", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0
    for flag in ("--model", "--device", "--dtype", "GRADIO_SERVER_PORT"):
        assert flag in shown.stdout
