"""Traces in Chromium: saved and opened again, files that are none, and traces that hold hostile text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from recap.trace import Trace

from . import synthetic
from .app_fixtures import (
    SOON,
    answered,
    ask,
    downloaded,
    node,
    nodes,
    same_numbers,
    see,
    shows,
    told,
    where,
)  # fmt: skip

HOSTILE = (
    "<img src=x onerror='window.hurt=1'>", "</script><script>window.hurt=1</script>", "</div></div></section>",
    "\u202eright to left\u202c", "\x00\x07", "\ud83d", "x" * 10_000, "\"'><svg onload=window.hurt=1>", "<b>%{x}</b>",
    "", "javascript:window.hurt=1", "${window.hurt=1}{{window.hurt=1}}",
)  # fmt: skip


def upload(page: Page, path: Path) -> None:
    see(page, "traces")
    emptied = page.locator("#trace-upload button[aria-label='Remove file'], #trace-upload button[aria-label='Clear']")
    if emptied.count():
        emptied.first.click()
    page.set_input_files("#trace-upload input[type=file]", str(path))


def test_a_saved_trace_opens_again(page: Page, tmp_path: Path) -> None:
    ask(page, "Name three colours.", tokens=16, nodes=8)
    answered(page)
    trace = downloaded(page)
    assert (trace.method, trace.model, trace.max_new_tokens) == ("recap", "builtin", 16)
    assert Trace.from_json(trace.to_json()) == trace and trace.config["max_nodes"] == 8
    same_numbers(page, trace)
    see(page, "traces")
    listed = page.locator("#trace-list button")
    expect(listed.first).to_contain_text("Name three colours.", timeout=SOON)
    (tmp_path / "saved.json").write_text(trace.to_json())
    page.locator("#trace-list [data-trace^='recording-']").first.click()
    expect(page.locator("#origin")).to_contain_text("A recording", timeout=SOON)
    upload(page, tmp_path / "saved.json")
    expect(page.locator("#views [data-view=steps]")).to_have_attribute("aria-selected", "true", timeout=SOON)
    expect(page.locator("#origin")).to_contain_text("From a file. It answered Name three colours.", timeout=SOON)
    same_numbers(page, trace)
    assert where(page)[1] == len(trace.steps)
    for step in trace.steps[:3]:
        page.locator("#step-slider input").fill(str(step.index + 1))
        shows(page, step.index + 1)
        expect(nodes(page)).to_have_count(len(step) + (step.bonus is not None))
    again = downloaded(page)
    assert again == trace


@pytest.mark.parametrize(
    "content", [b"this is no trace at all", b'{"version": 99, "steps": []}', b"\x1f\x8bbroken", b""]
)
def test_a_file_that_is_no_trace_is_a_sentence(page: Page, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    before = page.locator("#origin").inner_text()
    upload(page, tmp_path / "bad.json")
    expect(page.locator("#trace-notice")).to_contain_text("This file cannot be opened:", timeout=SOON)
    assert str(tmp_path) not in page.locator("#trace-notice").inner_text()
    see(page, "steps")
    assert page.locator("#origin").inner_text() == before


def test_hostile_text_in_a_trace_is_shown_as_text(page: Page, tmp_path: Path) -> None:
    trace = synthetic.trace(random.Random(4), steps=6, nodes=40)
    for at, token in enumerate(sorted(trace.table.texts)):
        trace.table.texts[token] = HOSTILE[at % len(HOSTILE)]
    trace.messages = [{"role": "user", "content": f"[picture] {HOSTILE[0]} {HOSTILE[1]}"}]
    trace.model = trace.device = HOSTILE[7]
    (tmp_path / "hostile.json").write_text(trace.to_json())
    upload(page, tmp_path / "hostile.json")
    expect(page.locator("#origin")).to_contain_text("From a file. It answered", timeout=SOON)
    expect(page.locator("#origin q")).to_contain_text("<img src=x onerror='window.hurt=1'>")
    for step in trace.steps:
        page.locator("#step-slider input").fill(str(step.index + 1))
        shows(page, step.index + 1)
        expect(nodes(page)).to_have_count(len(step) + (step.bonus is not None))
        for at in (1, len(step) - 1):
            assert told(page, node(page, step, at))
            node(page, step, at).click()
            expect(page.locator("#inspector h4 .chip")).to_be_visible()
    see(page, "memory")
    expect(page.locator("#memory-found")).to_contain_text("memory held", timeout=SOON)
    see(page, "traces")
    expect(page.locator("#trace-list b").first).to_contain_text("<img src=x", timeout=SOON)
    panels = page.locator("#ribbon, #tree, #inspector, #caption, #origin, #memory, #trace-list, #weights, #throughput")
    assert panels.locator("img, script, svg svg, a").count() == 0
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert "\u202e" not in page.locator("#right").inner_text()


def test_a_long_trace_is_opened_and_walked_through(page: Page, tmp_path: Path) -> None:
    trace = synthetic.trace(random.Random(6), steps=120, nodes=20)
    (tmp_path / "long.json").write_text(trace.to_json())
    upload(page, tmp_path / "long.json")
    shows(page, None, 120)
    for now in (120, 1, 60):
        page.locator("#step-slider input").fill(str(now))
        shows(page, now, 120)
        expect(page.locator("#ribbon .pass.current")).to_have_attribute("data-step", str(now - 1))
        expect(page.locator("#ribbon .pass.current")).to_be_in_viewport()
