"""Looking at an answer pass by pass, in Chromium: a shipped recording without any model, then an answer as it grows."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from recap.trace import Step
from recap.trace_json import read_trace
from studio.worker import Worker
from visual import layout, reasons
from visual.text import shorten, visible
from visual.theme import palette

from .app_fixtures import (
    LONG,
    PATIENCE,
    RECORD,
    ROOT,
    SOON,
    Visit,
    answered,
    ask,
    downloaded,
    ended,
    node,
    nodes,
    places,
    reload,
    see,
    served,
    settle,
    shows,
    told,
    where,
    writing,
)  # fmt: skip

TRACE = read_trace(ROOT / "assets" / "traces" / "1-receipt.json.gz")
PASSES = len(TRACE.steps)
BEST = max(range(PASSES), key=lambda at: len(TRACE.steps[at].accepted_nodes)) + 1
"""The pass that a recording begins with, from 1."""


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """Address of a page whose model never comes."""
    gate = threading.Event()

    def load() -> None:
        gate.wait(600)
        raise OSError("there is none")

    worker = Worker(load)
    worker.start()
    with served(worker) as url:
        yield url
        gate.set()


@pytest.fixture
def replay(visit: Visit, silent: str) -> Page:
    """A first visit: the recording is open, no model is loaded."""
    page = visit(url=silent)
    shows(page, BEST, PASSES)
    return page


def chip(step: Step, node: int) -> str:
    """How the page writes a node's token."""
    return shorten(visible(step.text(node) if node >= 0 else step.table.text(step.bonus)), 30)


def test_a_first_visit_shows_a_recording_and_says_so(replay: Page) -> None:
    expect(replay.locator("#model-status")).to_contain_text("Loading the model", timeout=SOON)
    expect(replay.locator("#origin")).to_contain_text("A recording. It answered List the items on the receipt")
    expect(replay.locator("#exact-badge")).to_have_text(f"✓ same {len(TRACE.token_ids)} tokens as plain decoding (AR)")
    pace = (len(TRACE.token_ids) - 1) / TRACE.decode_seconds
    figures = [f"{TRACE.speedup:.1f}x", f"{TRACE.acceptance_length:.2f}", f"{pace:.1f}"]
    figures += [str(PASSES), str(len(TRACE.token_ids))]
    expect(replay.locator("#numbers dd")).to_have_text(figures)
    assert replay.locator("#ribbon .token").count() == len(TRACE.token_ids)
    assert replay.locator("#ribbon .token").all_inner_texts() == [
        shorten(visible(TRACE.table.text(token)), 28) for token in TRACE.token_ids
    ]
    expect(nodes(replay)).to_have_count(69)
    expect(replay.locator("#weights .plot .main-svg").first).to_be_visible()
    expect(replay.locator("#throughput .plot .main-svg").first).to_be_visible()
    expect(replay.locator("#split")).to_contain_text("verify")
    tree = replay.locator("#tree .frame").bounding_box()
    assert tree and tree["y"] + tree["height"] <= 800, "it is in view without scrolling"


def test_slider_buttons_and_keys_go_through_the_passes(replay: Page) -> None:
    slider = replay.locator("#step-slider input")
    expect(slider).to_have_attribute("max", str(PASSES))
    slider.fill("3")
    shows(replay, 3, PASSES)
    candidates = len(TRACE.steps[2]) - 1
    expect(replay.locator("#caption .facts")).to_contain_text(
        f"{candidates} candidates · 7 accepted + 1 of the model's own"
    )
    expect(nodes(replay)).to_have_count(69)
    expect(slider).to_have_attribute("aria-valuetext", f"pass 3 of {PASSES}")
    expect(replay.locator("#ribbon .pass.current")).to_have_attribute("data-step", "2")
    replay.click("#next")
    shows(replay, 4)
    replay.click("#previous")
    replay.click("#previous")
    shows(replay, 2)
    replay.locator("#tree .frame").focus()
    for key, now in (("ArrowRight", 3), ("ArrowRight", 4), ("ArrowLeft", 3), ("End", PASSES), ("Home", 1)):
        replay.keyboard.press(key)
        shows(replay, now, PASSES)
    expect(replay.locator("#previous")).to_be_disabled()
    replay.keyboard.press("End")
    expect(replay.locator("#next")).to_be_disabled()


def test_keys_typed_into_a_question_leave_the_pass_alone(replay: Page) -> None:
    replay.locator("#prompt textarea").press_sequentially("ab ")
    for key in ("ArrowLeft", "Home", "End", "ArrowRight", "Space"):
        replay.keyboard.press(key)
    expect(replay.locator("#prompt textarea")).to_have_value("ab  ")
    assert where(replay) == (BEST, PASSES)
    expect(replay.locator("#play")).to_have_text("▶ Play")


def test_play_goes_on_by_itself_and_pause_holds(replay: Page) -> None:
    for speed in ("2×", "4×"):
        replay.click("#speed")
        expect(replay.locator("#speed")).to_have_text(speed)
    replay.locator("#step-slider input").fill("1")
    shows(replay, 1)
    replay.click("#play")
    expect(replay.locator("#play")).to_have_text("❚❚ Pause")
    expect(replay.locator("#play")).to_have_attribute("aria-pressed", "true")
    replay.wait_for_function("parseInt(document.querySelector('#where .room').textContent) >= 4")
    replay.click("#play")
    expect(replay.locator("#play")).to_have_attribute("aria-pressed", "false")
    now, _ = where(replay)
    replay.wait_for_timeout(700)  # two beats: nothing must happen
    assert where(replay)[0] == now >= 4
    replay.locator("#step-slider input").fill(str(PASSES - 1))
    shows(replay, PASSES - 1)
    replay.locator("#tree .frame").focus()
    replay.keyboard.press("Space")
    shows(replay, PASSES)
    expect(replay.locator("#play")).to_have_text("▶ Play", timeout=SOON)


def test_a_click_on_a_node_tells_why(replay: Page) -> None:
    step = TRACE.steps[BEST - 1]
    head, story = replay.locator("#inspector h4"), replay.locator("#inspector .story")
    expect(head.locator(".chip")).to_have_text(chip(step, step.accepted_nodes[-1]))
    refused = [node for node in range(len(step)) if not step.accepted[node]]
    for at in (refused[0], refused[-1], step.accepted_nodes[1], 0, -1):
        node(replay, step, at).click()
        fate = "own" if at < 0 else "root" if at == 0 else "accepted" if step.accepted[at] else "refused"
        expect(head).to_contain_text(fate, timeout=SOON)
        expect(head.locator(".chip")).to_have_text(chip(step, at))
        expect(story).not_to_be_empty()
        ring = replay.locator('#tree [data-name="selected"] .point').get_attribute("transform")
        assert ring == node(replay, step, at).get_attribute("transform"), "the chosen node wears the ring"
    assert reasons.why(step, refused[0]) in told(replay, node(replay, step, refused[0]))
    tip, frame = (replay.locator(f"#tree {part}").bounding_box() for part in (".hoverlayer", ".frame"))
    assert tip and frame and frame["x"] <= tip["x"] and tip["x"] + tip["width"] <= frame["x"] + frame["width"]
    assert where(replay) == (BEST, PASSES), "choosing a node changes no pass"


def test_nodes_can_be_chosen_by_keyboard(replay: Page) -> None:
    step = TRACE.steps[BEST - 1]
    node(replay, step, 0).click()
    expect(replay.locator("#inspector h4")).to_contain_text("root", timeout=SOON)
    replay.locator("#tree .frame").focus()
    rows = layout.tidy(step).rows
    first = sorted((at for at in range(len(step)) if step.depths[at] == 1), key=lambda at: rows[at])
    for at in first[:4]:  # the one beneath in the same column, then the one beneath that
        replay.keyboard.press("ArrowDown")
        expect(replay.locator("#inspector h4 .chip")).to_have_text(chip(step, at), timeout=SOON)
        ring = replay.locator('#tree [data-name="selected"] .point').get_attribute("transform")
        assert ring == node(replay, step, at).get_attribute("transform")
    expect(replay.locator("#tree .hoverlayer")).to_be_hidden()  # though the mouse still rests on the root
    for _ in range(5):
        replay.keyboard.press("ArrowUp")
    expect(replay.locator("#inspector h4")).to_contain_text("+ the model's own", timeout=SOON)


def test_a_click_in_the_ribbon_shows_that_pass_and_token(replay: Page) -> None:
    step = TRACE.steps[4]
    at = step.accepted_nodes[1]
    replay.click(f"#ribbon .token[data-step='4'][data-node='{at}']")
    shows(replay, 5)
    expect(replay.locator("#inspector h4 .chip")).to_have_text(chip(step, at), timeout=SOON)
    expect(replay.locator("#ribbon .token.current")).to_have_attribute("data-node", str(at))
    replay.click("#ribbon .token[data-step='9'][data-node='-1']")
    shows(replay, 10)
    expect(replay.locator("#inspector h4")).to_contain_text("+ the model's own", timeout=SOON)
    expect(replay.locator("#inspector h4 .chip")).to_have_text(chip(TRACE.steps[9], -1))


def test_what_stays_stays_where_it_is(replay: Page) -> None:
    """The zoom holds from pass to pass, back again nothing has moved, and the tree may be read closely."""
    size = """() => document.querySelector("#tree .plot").shadowRoot.querySelector("svg").getBoundingClientRect().width"""
    before, wide = places(replay), replay.evaluate(size)
    replay.click("#tree .nearer")
    assert replay.evaluate(size) > 1.1 * wide
    nearer = places(replay)
    replay.click("#next")
    shows(replay, BEST + 1)
    replay.click("#previous")
    shows(replay, BEST)
    assert places(replay) == nearer and replay.evaluate(size) > 1.1 * wide
    replay.click("#tree .farther")
    assert places(replay) == before and replay.evaluate(size) == wide
    replay.click("#tree .toggle")
    expect(replay.locator("#tree .toggle")).to_have_text("See the whole tree", timeout=SOON)
    expect(nodes(replay)).to_have_count(69)
    assert places(replay) != before
    replay.click("#tree .toggle")
    expect(replay.locator("#tree .toggle")).to_have_text("Read every token", timeout=SOON)
    assert places(replay) == before


INSIDE = """() => {
  const frame = document.querySelector("#tree .frame");
  const { left, right, top, bottom } = frame.getBoundingClientRect();
  const all = [...frame.querySelector(".plot").shadowRoot.querySelectorAll(".point, text")];
  const seen = all.filter((one) => one.tagName !== "text" || one.textContent);
  const boxes = seen.map((one) => one.getBoundingClientRect());
  return {
    scrolled: [frame.scrollLeft, frame.scrollTop],
    out: boxes.filter((box) => box.left < left || box.right > right || box.top < top || box.bottom > bottom).length,
    all: boxes.length,
  };
}"""

WRITTEN = """() => {
  const drawn = document.querySelector("#tree .plot").shadowRoot;
  const all = [...drawn.querySelectorAll('[data-name$="tokens"] text, svg > text')];
  const boxes = all.filter((one) => one.textContent).map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    const [middle, half] = [(top + bottom) / 2, 0.42 * parseFloat(getComputedStyle(one).fontSize)];
    return { text: one.textContent, left, right, top: middle - half, bottom: middle + half };
  });
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) => over(a, b)).map((b) => [a.text, b.text]));
}"""


def test_the_whole_tree_is_in_sight_and_nothing_is_written_over_anything(replay: Page) -> None:
    for now in (BEST, *range(1, PASSES + 1)):
        replay.locator("#step-slider input").fill(str(now))
        shows(replay, now)
        seen = replay.evaluate(INSIDE)
        assert seen["out"] == 0 and seen["all"] >= 1 + len(TRACE.steps[now - 1]), (now, seen)
        assert replay.evaluate(WRITTEN) == [], now
    replay.click("#tree .toggle")
    expect(replay.locator("#tree .toggle")).to_have_text("See the whole tree", timeout=SOON)
    for now in (BEST, 2, 10):
        replay.locator("#step-slider input").fill(str(now))
        shows(replay, now)
        assert replay.evaluate(INSIDE)["scrolled"] == [0, 0] and replay.evaluate(WRITTEN) == [], now
        frame = replay.locator("#tree .frame").bounding_box()
        root = node(replay, TRACE.steps[now - 1], 0).bounding_box()
        assert frame and root and frame["x"] < root["x"] and frame["y"] < root["y"] < frame["y"] + 100


def test_the_tour_explains_and_is_remembered(replay: Page) -> None:
    replay.evaluate("localStorage.clear()")
    reload(replay)
    expect(replay.locator("#how .inviting")).to_have_count(1)
    replay.click("#how button")
    card = replay.get_by_role("dialog", name="How it works")
    titles = []
    for number in range(1, 7):
        expect(card.locator(".count")).to_have_text(f"How it works · {number} of 6")
        titles.append(card.locator("h2").inner_text())
        expect(replay.locator(".toured")).to_have_count(1)
        box = card.bounding_box()
        assert (
            box
            and box["x"] >= 0
            and box["y"] >= 0
            and box["x"] + box["width"] <= 1280
            and box["y"] + box["height"] <= 800
        )
        card.locator(".on").click()
    assert len(set(titles)) == 6
    expect(card).to_be_hidden()
    expect(replay.locator(".toured")).to_have_count(0)
    reload(replay)
    shows(replay, BEST, PASSES)
    expect(replay.locator("#how button")).to_be_visible()
    expect(replay.locator(".inviting")).to_have_count(0)
    replay.click("#how button")
    expect(card.locator(".back")).to_be_disabled()
    card.locator(".on").click()
    expect(card.locator(".count")).to_contain_text("2 of 6")
    replay.keyboard.press("Escape")
    expect(card).to_be_hidden()
    replay.click("#how button")
    card.locator(".skip").click()
    expect(card).to_be_hidden()


def test_other_recordings_can_be_opened(replay: Page) -> None:
    see(replay, "traces")
    other = replay.locator("#trace-list [data-trace='recording-2-months']")
    expect(other).to_contain_text("Name the twelve months", timeout=SOON)
    expect(replay.locator("#trace-list [aria-current]")).to_have_attribute("data-trace", "recording-1-receipt")
    other.click()
    months = read_trace(ROOT / "assets" / "traces" / "2-months.json.gz")
    best = max(months.steps, key=lambda step: len(step.accepted_nodes))
    shows(replay, best.index + 1, len(months.steps))
    expect(replay.locator("#views [data-view=steps]")).to_have_attribute("aria-selected", "true")
    assert replay.locator("#ribbon .token").count() == len(months.token_ids)
    expect(replay.locator("#origin")).to_contain_text("Name the twelve months")
    expect(nodes(replay)).to_have_count(len(best) + (best.bonus is not None))


def test_memory_of_a_recording(replay: Page) -> None:
    see(replay, "memory")
    expect(replay.locator("#memory-hits")).to_contain_text("lookups, one for every node", timeout=SOON)
    expect(replay.locator("#memory-found")).to_contain_text("memory held", timeout=SOON)
    see(replay, "steps")
    node(replay, TRACE.steps[BEST - 1], -1).click()
    expect(replay.locator("#inspector h4")).to_contain_text("own", timeout=SOON)
    see(replay, "memory")
    expect(replay.locator("#memory-found")).to_contain_text("memory held", timeout=SOON)
    expect(replay.locator("#lost")).to_be_hidden()


def test_dark_and_narrow_pages_show_the_recording_too(visit: Visit, silent: str) -> None:
    page = visit(390, 844, "dark", silent)
    shows(page, BEST, PASSES)
    ground = page.evaluate("getComputedStyle(document.querySelector('#tree .frame')).backgroundColor")
    assert ground == "rgb(21, 26, 33)"
    path = page.locator('#tree [data-name="accepted path"] path')
    assert path.get_attribute("stroke") == palette("dark").ink
    frame, root = page.locator("#tree .frame").bounding_box(), node(page, TRACE.steps[BEST - 1], 0).bounding_box()
    assert frame and root and frame["x"] < root["x"] < frame["x"] + 40, "a tree wider than its frame begins at its root"
    for view in ("race", "memory", "traces", "steps"):
        see(page, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, view
    node(page, TRACE.steps[BEST - 1], 1).click()
    expect(page.locator("#inspector h4 .chip")).to_have_text(chip(TRACE.steps[BEST - 1], 1), timeout=SOON)


def test_the_tree_follows_the_answer_as_it_grows(page: Page, picture: Path) -> None:
    page.evaluate(RECORD)
    ask(page, "Write a story about this picture.", picture, tokens=200, nodes=24)
    writing(page)
    ended(page)
    seen = page.evaluate("window.seen")
    live = [tuple(map(int, one.split(" / "))) for one in seen["where"] if re.fullmatch(r"\d+ / \d+", one)]
    live = live[next(at for at, (_, passes) in enumerate(live) if passes != PASSES) :]  # after the recording
    assert len({passes for _, passes in live}) >= 3, live
    assert [passes for _, passes in live] == sorted(passes for _, passes in live)
    said = [text for text in seen["said"] if "…" not in text]
    assert len(said) >= 3 and all(len(one) <= len(two) for one, two in zip(said, said[1:]))
    now, passes = where(page)
    trace = downloaded(page)
    assert passes == len(trace.steps) == page.locator("#ribbon .pass").count() - 1
    assert now - 1 == max((step.index for step in trace.steps if len(step) > 1), default=passes - 1)
    assert max(len(step) for step in trace.steps) <= 1 + 24 + 4
    said = page.locator("#ribbon .token").all_inner_texts()
    assert said == [shorten(visible(trace.table.text(token)), 28) for token in trace.token_ids]


def test_a_reader_who_moved_away_stays_there_until_live(page: Page) -> None:
    ask(page, LONG, tokens=400, nodes=24)
    writing(page, 4)
    page.click("#previous")
    expect(page.locator("#follow")).to_be_visible(timeout=SOON)
    page.locator("#step-slider input").fill("2")
    shows(page, 2)
    tree = places(page)
    begun = where(page)[1]
    page.wait_for_function("(least) => document.querySelectorAll('#ribbon .pass').length > least + 4", arg=begun)
    assert where(page)[0] == 2 and where(page)[1] >= begun + 2 and places(page) == tree
    page.click("#follow")
    expect(page.locator("#follow")).to_be_hidden()
    page.wait_for_function(
        """(least) => {
          const [now, passes] = document.querySelector("#where .room").textContent.split(" / ").map(Number);
          return now === passes && now > least + 2;
        }""",
        arg=begun,
    )
    page.click("#stop")
    ended(page)
    expect(page.locator("#follow")).to_be_hidden()


def test_fewer_candidates_make_smaller_trees_and_the_papers_settings_come_back(page: Page) -> None:
    settle(page, limit=16, nodes=8)
    page.fill("#prompt textarea", "Name three colours.")
    page.press("#prompt textarea", "Enter")
    writing(page)
    ended(page)
    _, passes = where(page)
    for now in range(1, passes + 1):
        page.locator("#step-slider input").fill(str(now))
        shows(page, now)
        assert nodes(page).count() <= 1 + 8 + 4 + 1
    page.click("#open-settings")
    edge = "one => [one.getBoundingClientRect().right, one.closest('.form').getBoundingClientRect().right]"
    for name in ("depth", "keep"):  # the last ones of their groups did not wrap into a second column, out of sight
        right, end = page.locator(f"#{name}").evaluate(edge)
        assert right <= end + 1, name
    page.click("#paper")
    for name, value in (("nodes", "63"), ("limit", "200"), ("depth", "10")):
        expect(page.locator(f"#{name} input[type=number]")).to_have_value(value, timeout=SOON)


def test_which_words_need_the_picture(page: Page, picture: Path) -> None:
    ask(page, "What colour is this picture?", picture, tokens=12)
    answered(page)
    page.click("#origin .look")
    expect(page.locator("#origin")).to_contain_text(re.compile(r"\d+ of its \d+ tokens need the picture"), timeout=PATIENCE)
    expect(page.locator("#origin .look")).to_have_count(0)
    lens = downloaded(page).lens
    marked = page.locator("#ribbon .token.sees")
    assert lens is not None and marked.count() == sum(map(lens.changed, range(len(lens.choices))))
    assert "eed" in page.locator("#ribbon .token").first.get_attribute("title")
