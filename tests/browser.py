"""Headless Chromium for tests: where it is, how it starts, and what a page asked for while it was open."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync")  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LOCAL = ("127.0.0.1", "localhost", "::1", "")


def executable() -> str:
    """Path of Chromium, from CHROMIUM or the usual names; installed with apt-get where a root user lacks it."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "chromium"]):
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        found = shutil.which("chromium")
        if found is None:
            raise RuntimeError(f"apt-get could not install chromium: {done.stderr.strip()[-300:]}")
    if found is None:
        raise RuntimeError("browser tests need Chromium: install it (Debian: apt-get install chromium) or set CHROMIUM")
    return found


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """A browser with these command-line flags besides the usual ones."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Log:
    """What one page said and asked for."""

    console: list[str] = field(default_factory=list)
    """Errors and warnings of the console, exceptions of the page, requests that failed."""
    foreign: list[str] = field(default_factory=list)
    """Addresses beyond this machine that the page asked for, or that its security policy stopped."""


def watch(page: Page) -> Log:
    """Keep a log of a page from now on."""
    log = Log()

    def request(address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname not in LOCAL:
            log.foreign.append(address)

    page.on("request", lambda it: request(it.url))
    page.on("websocket", lambda it: request(it.url))
    said = log.console.append
    page.on("console", lambda it: said(f"{it.type}: {it.text}") if it.type in ("error", "warning") else None)
    page.on("pageerror", lambda it: log.console.append(f"exception: {it}"))
    page.on("response", lambda it: log.console.append(f"{it.status}: {it.url}") if it.status >= 400 else None)
    return log
