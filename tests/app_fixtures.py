"""The app as one process and one Chromium for all browser tests, and what a visitor does there.

`conftest.py` brings the fixtures in, so that both are started once.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from recap.trace import Step, Trace
from recap.trace_json import read_trace

from .browser import Log, chromium, watch

ROOT = Path(__file__).parents[1]
PATIENCE = 120_000
"""Milliseconds for an answer on a busy machine."""
SOON = 30_000
"""Milliseconds for anything that needs no answer."""
LONG = "Count from one to two hundred in words, one after another."
Visit = Callable[..., Page]
LOGS: dict[Page, Log] = {}
TORN = ("BodyStreamBuffer was aborted", "signal is aborted without reason", "Unexpected error Connection errored out")
"""What gradio's client says on a page that is left while it waits for the server."""

RECORD = """() => {
  window.seen = { where: [], said: [] };
  const keep = (list, value) => value && list.at(-1) !== value && list.push(value);
  const look = () => {
    keep(window.seen.where, document.querySelector("#where .room")?.textContent);
    const said = [...document.querySelectorAll("#chat .bot.message")].at(-1)?.innerText;
    if (!document.querySelector("#stop")?.disabled) keep(window.seen.said, said);
  };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""
"""Writes down which pass was on show and what the answer said, whenever either changes."""


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the app runs with the built-in model. Its log must hold no traceback in the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("app") / "log.txt"
    # as published it writes on and on, which whatever happens in the middle of an answer needs
    env = {**os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1", "MODEL": "builtin",
           "RECAP_READER": "plain"}  # fmt: skip
    with log.open("w") as out:
        app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(1800):
            assert app.poll() is None, f"the app ended by itself:\n{log.read_text()}"
            try:
                urllib.request.urlopen(url, timeout=2)
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail(f"the app did not open within three minutes:\n{log.read_text()}")
        yield url
    finally:
        app.terminate()
        try:
            app.wait(20)
        except subprocess.TimeoutExpired:
            app.kill()
    assert "Traceback" not in log.read_text(), log.read_text()


@contextmanager
def served(worker: Any) -> Iterator[str]:
    """The page in this process around a worker of the test's own; gives its address."""
    from app import build
    from studio.serving import options

    studio = build(worker).queue(default_concurrency_limit=None)
    _, url, _ = studio.launch(**options(studio), server_name="127.0.0.1")
    try:
        yield url
    finally:
        studio.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def contexts(browser: Browser) -> Iterator[dict[tuple[int, int, str], BrowserContext]]:
    """Browser contexts by size and theme. Tabs of one share its cache, which saves seconds, and that the tour was seen;
    conversations belong to a tab."""
    yield (open_ones := {})
    for context in open_ones.values():
        context.close()


@pytest.fixture
def visit(browser: Browser, contexts: Any, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """`visit(width=, height=, scheme=, url=)` opens the page in a tab of its own. What any of these pages says on the
    console or asks of other servers fails the test."""
    tabs: list[Page] = []

    def opened(width: int = 1280, height: int = 800, scheme: str = "light", url: str | None = None) -> Page:
        look = width, height, scheme
        if look not in contexts:
            contexts[look] = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        tabs.append(page := contexts[look].new_page())
        LOGS[page] = watch(page)
        page.goto(url or request.getfixturevalue("address"))
        ready(page)
        return page

    yield opened
    for page in tabs:
        page.close()
    for page in tabs:
        assert_clean(LOGS.pop(page))


@pytest.fixture
def page(visit: Visit) -> Page:
    """A fresh visitor at 1280 x 800, light."""
    return visit()


@pytest.fixture(scope="session")
def picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from PIL import Image

    path = tmp_path_factory.mktemp("pictures") / "red.png"
    Image.new("RGB", (320, 240), "#cc2222").save(path)
    return path


def ready(page: Page) -> None:
    """Wait until the page is there and its scripts listen."""
    expect(page.locator("#send")).to_be_visible(timeout=60_000)
    expect(page.locator("#tree .main-svg").first).to_be_attached(timeout=SOON)


def assert_clean(log: Log) -> None:
    assert log.foreign == []
    # gradio's own client says this, as a warning, whenever a stream of events has ended
    assert [line for line in log.console if line != "warning: Method not implemented."] == []


def reload(page: Page) -> None:
    """Load the page anew. What the old one says while it is torn down does not count."""
    log = LOGS[page]
    before = len(log.console)
    page.reload()
    ready(page)
    log.console[before:] = [line for line in log.console[before:] if not any(words in line for words in TORN)]


def settle(page: Page, **values: int) -> None:
    """Set number controls of the settings panel by their ids. A number of nodes means that many in every pass."""
    page.click("#open-settings")
    if "nodes" in values:
        choose(page, "budget", "paper")
    for name, value in values.items():
        field = page.locator(f"#{name} input[type=number]")
        field.fill(str(value))
        field.press("Tab")
    page.keyboard.press("Escape")
    expect(page.locator("#settings")).to_be_hidden()


def choose(page: Page, name: str, label: str) -> None:
    """Take an entry of a list by the beginning of its label."""
    page.click(f"#{name} input")
    page.get_by_role("option", name=re.compile(f"^{re.escape(label)}")).click()


def bring(page: Page, picture: Path) -> None:
    page.set_input_files("#image input[type=file]", str(picture))
    expect(page.locator("#image img").first).to_be_visible(timeout=SOON)


def ask(page: Page, question: str, picture: Path | None = None, tokens: int = 24, nodes: int = 16) -> None:
    if picture is not None:
        bring(page, picture)
    settle(page, limit=tokens, nodes=nodes)
    again(page, question)


def again(page: Page, question: str) -> None:
    """Ask with the settings as they are."""
    page.fill("#prompt textarea", question)
    page.click("#send")


def answered(page: Page) -> str:
    """Wait for the end; the text of the last answer."""
    expect(page.locator("#prompt textarea")).to_have_value("", timeout=SOON)  # the question has been taken
    ended(page)
    return page.locator("#chat .bot.message").last.inner_text()


def ended(page: Page) -> None:
    """Wait for the end of an answer or a race."""
    expect(page.locator("#send")).to_be_enabled(timeout=PATIENCE)
    expect(page.locator("#stop")).to_be_disabled()


def writing(page: Page, passes: int = 1) -> None:
    """Wait until the answer in the making has come so far, on show or not."""
    expect(page.locator("#origin")).to_contain_text("Your answer", timeout=PATIENCE)
    page.wait_for_function(
        "(least) => document.querySelectorAll('#ribbon .pass').length > least", arg=passes, timeout=PATIENCE
    )


def where(page: Page) -> tuple[int, int]:
    """The pass on show, from 1, and how many there are."""
    now, _, all_ = page.locator("#where .room").inner_text().partition(" / ")
    return int(now), int(all_)


def shows(page: Page, now: int | None = None, passes: int | None = None) -> None:
    """Wait until that pass is on show, from 1."""
    wanted = re.compile(f"^{now or '[0-9]+'} / {passes or '[0-9]+'}$")
    expect(page.locator("#where .room")).to_have_text(wanted, timeout=SOON)
    if now is not None:
        expect(page.locator("#caption .facts")).to_contain_text(re.compile(rf"Pass {now}\b"), timeout=SOON)


def nodes(page: Page) -> Locator:
    """The nodes of the tree on show, the root and the model's own choice among them."""
    return page.locator("#tree .point[data-at]")


def node(page: Page, step: Step, number: int) -> Locator:
    """A node of the tree of that pass, which is on show; -1 is the model's own choice."""
    kept = [at for at in range(len(step)) if step.accepted[at]]
    refused = [at for at in range(len(step)) if not step.accepted[at]]
    name = "the model's own choice" if number < 0 else "accepted" if number in kept else "refused"
    order = [-1] if number < 0 else kept if number in kept else refused
    return page.locator(f'#tree [data-name="{name}"] .point').nth(order.index(number))


def told(page: Page, place: Locator) -> str:
    """What a node tells when the mouse points at it, blanks and line ends as single blanks."""
    place.hover()  # scrolls, which hides what is told, a frame later
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.mouse.move(0, 0)
    place.hover()
    expect(page.locator("#tree .hoverlayer")).to_be_visible(timeout=SOON)
    return " ".join(page.locator("#tree .hoverlayer").inner_text().split())


def places(page: Page) -> list[str]:
    """Where every node stands in its tree, in pixels."""
    return nodes(page).evaluate_all("(all) => all.map((one) => one.getAttribute('transform'))")


def see(page: Page, view: str) -> Locator:
    """Open one of the views steps, race, memory, traces, lab."""
    tab = page.locator(f"#views [data-view={view}]")
    tab.click()
    expect(tab).to_have_attribute("aria-selected", "true")
    return tab


def downloaded(page: Page) -> Trace:
    """The trace on show, as a visitor saves it."""
    see(page, "traces")
    with page.expect_download(timeout=SOON) as file:
        page.click("#trace-download")
    see(page, "steps")
    return read_trace(file.value.path())


def same_numbers(page: Page, trace: Trace) -> None:
    """The figures on show are those of a trace."""
    numbers = page.locator("#numbers dd")
    expect(numbers.nth(1)).to_have_text(f"{trace.acceptance_length:.2f}" if trace.steps else "–", timeout=SOON)
    expect(numbers.nth(3)).to_have_text(str(len(trace.steps)))
    expect(numbers.nth(4)).to_have_text(str(len(trace.token_ids)))
