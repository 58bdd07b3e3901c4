"""An idle page rests: it draws no frames that nobody asked for."""

from __future__ import annotations

from playwright.sync_api import Browser
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from studio.frames import SCRIPT, Restful

from .app_fixtures import ready

COUNTED = """(() => {
  const real = window.requestAnimationFrame.bind(window);
  window.frames_asked = 0;
  window.requestAnimationFrame = (callback) => (window.frames_asked++, real(callback));
})()"""


def test_the_script_comes_first_in_pages_and_nowhere_else() -> None:
    page, other = "<html><head><title>ü</title></head><head></html>", "<head> as plain text"
    routes = [
        Route("/", lambda request: HTMLResponse(page), methods=["GET", "POST"]),
        Route("/other", lambda request: PlainTextResponse(other)),
    ]
    with TestClient(Starlette(routes=routes, middleware=[Middleware(Restful)])) as client:
        sent = client.get("/")
        assert sent.content == page.encode().replace(b"<head>", b"<head>" + SCRIPT, 1)
        assert int(sent.headers["content-length"]) == len(sent.content)
        assert client.get("/other").text == other and client.post("/").text == page


def test_an_idle_page_draws_no_frames(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script(COUNTED)
    page.goto(address)
    ready(page)
    assert page.evaluate("window.frames_asked") > 10  # gradio's loader has been at it
    page.wait_for_timeout(3500)
    page.evaluate("window.frames_asked = 0")
    page.wait_for_timeout(1000)
    assert page.evaluate("window.frames_asked") < 5
    page.evaluate("window.drawn = false; requestAnimationFrame(() => (window.drawn = true))")
    page.wait_for_function("window.drawn")
    context.close()
