"""The laboratory in Chromium: a measurement of one's own prompts to its end, stopped, and what is refused."""

from __future__ import annotations

import csv
import json
import re
import zipfile
from pathlib import Path

from playwright.sync_api import Page, expect

from .app_fixtures import PATIENCE, SOON, see


def choose(page: Page, prompts: str, tokens: int, methods: tuple[str, ...] = ("Prompt lookup (pld)",)) -> None:
    see(page, "lab")
    for box in page.locator("#lab-methods input[type=checkbox]").all():
        box.set_checked(box.get_attribute("name") in methods or box.evaluate("(it) => it.parentElement.innerText.trim()") in methods)
    page.get_by_label("My own prompts").check()
    page.locator("#lab-own textarea").fill(prompts)
    field = page.locator("#lab-tokens input")
    field.fill(str(tokens))
    field.press("Tab")


def measured(page: Page, words: str) -> None:
    expect(page.locator("#lab-progress")).to_contain_text(re.compile(words), timeout=PATIENCE)
    expect(page.locator("#lab-start")).to_be_enabled(timeout=PATIENCE)
    expect(page.locator("#lab-stop")).to_be_disabled()


def saved(page: Page, kind: str) -> str:
    with page.expect_download(timeout=SOON) as file:
        page.click(f"#lab-save [data-kind={kind}]")
    return Path(file.value.path()).read_text(encoding="utf-8")


def test_own_prompts_to_the_end_at_both_widths(page: Page) -> None:
    choose(page, "Say <b>hello</b>.\nCount to five.", 6)
    page.click("#lab-start")
    expect(page.locator("#lab-stop")).to_be_enabled(timeout=SOON)
    expect(page.locator("#prompt textarea")).to_be_enabled()
    measured(page, "All 4 answers are measured")
    expect(page.locator("#lab-figures .main-svg").first).to_be_visible(timeout=SOON)
    assert page.locator("#lab-figures section").count() == 4
    first = page.locator("#lab-tables table").first
    assert first.locator("tbody th").all_inner_texts() == ["ar", "pld auto", "inputs"]
    assert first.locator("tbody tr").last.locator("td").all_inner_texts() == ["2", "2"]
    rows = list(csv.DictReader(saved(page, "csv").splitlines()))
    assert {row["method"] for row in rows} == {"ar", "pld auto"} and {row["identical"] for row in rows} == {"2"}
    records = [json.loads(line) for line in saved(page, "jsonl").splitlines()]
    assert len(records) == 4 and all(record["identical"] for record in records)
    assert saved(page, "html").startswith("<!DOCTYPE html>")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator("#lab-figures .plot").first.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_stopped_and_refused(page: Page) -> None:
    choose(page, "\n".join(["Write a long story about the sea."] * 30), 200)
    page.click("#lab-start")
    expect(page.locator("#lab-progress")).to_contain_text("of 60 answers", timeout=PATIENCE)
    page.click("#lab-stop")
    measured(page, r"Stopped after \d+ of 60 answers")
    page.locator("#lab-own textarea").fill(" ")
    page.click("#lab-start")
    expect(page.locator("#lab-notice")).to_contain_text("Write a prompt or more", timeout=SOON)
    expect(page.locator("#lab-start")).to_be_enabled()


def test_a_manifest_of_ones_own(page: Page, tmp_path: Path, picture: Path) -> None:
    choose(page, "", 6, ("RECAP",))
    page.get_by_label("My own manifest").check()
    expect(page.locator("#lab-own")).to_be_hidden(timeout=SOON)
    page.click("#lab-start")
    expect(page.locator("#lab-notice")).to_contain_text("Choose a file first", timeout=SOON)
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        archive.write(picture, "red.png")
        lines = [{"prompt": "What colour is it?", "image": "red.png", "category": "<i>colours</i>"}, {"prompt": "?", "image": "no"}]
        archive.writestr("manifest.jsonl", "\n".join(map(json.dumps, lines)))
    page.set_input_files("#lab-file input[type=file]", str(tmp_path / "own.zip"))
    expect(page.locator("#lab-file")).to_contain_text("own.zip", timeout=SOON)
    page.locator("#lab-lens input").check()
    page.click("#lab-start")
    measured(page, "All 2 answers are measured")
    expect(page.locator("#lab-notice")).to_have_text("")
    expect(page.locator("#lab-tables")).to_contain_text("<i>colours</i>")
    expect(page.locator("#lab-tables")).to_contain_text("there is no picture 'no'")
    (ours,) = [record for record in map(json.loads, saved(page, "jsonl").splitlines()) if record["name"] == "recap auto"]
    assert ours["identical"] and "lens" in ours
