"""The app around its page: opening while the model loads, a model that fails, the policy, the command line."""

from __future__ import annotations

import subprocess
import sys
import threading
import urllib.request

from playwright.sync_api import expect

from studio.policy import POLICY
from studio.worker import Worker

from .app_fixtures import ROOT, SOON, Visit, ask, served


def test_page_opens_while_the_model_loads_and_a_question_waits(visit: Visit) -> None:
    """The real page in this process, around a worker whose model does not come until the test says so."""
    gate = threading.Event()

    def load() -> None:
        assert gate.wait(120)
        raise OSError("no space left on this disk")

    worker = Worker(load)
    worker.start()
    with served(worker) as url:
        try:
            page = visit(url=url)
            expect(page.locator("#model-status")).to_contain_text("Loading the model", timeout=SOON)
            ask(page, "Say hello.", tokens=8)
            expect(page.locator("#chat")).to_contain_text("Waiting for the model to load", timeout=SOON)
            gate.set()
            sentence = "The model could not be loaded: No space left on this disk."
            expect(page.locator("#notice")).to_contain_text(sentence, timeout=SOON)
            expect(page.locator("#prompt textarea")).to_have_value("Say hello.")
            expect(page.locator("#model-status")).to_contain_text("No model")
            expect(page.locator("#send")).to_be_enabled()
            page.click("#race")
            expect(page.locator("#notice")).to_contain_text("The model could not be loaded", timeout=SOON)
            expect(page.locator("#lane-0-numbers")).to_contain_text("failed", timeout=SOON)
            page.close()
        finally:
            gate.set()


def test_policy_and_help(address: str) -> None:
    assert urllib.request.urlopen(address).headers["content-security-policy"] == POLICY
    assert "form-action 'none'" in POLICY
    shown = subprocess.run([sys.executable, "app.py", "--help"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert shown.returncode == 0
    for flag in ("--model", "--device", "--dtype", "GRADIO_SERVER_PORT"):
        assert flag in shown.stdout
