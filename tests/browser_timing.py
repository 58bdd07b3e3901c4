"""How quick the page is, measured in Chromium: python -m tests.browser_timing (the built-in model, several minutes).

1. From moving the step slider until the tree is in the page, and until the frame that shows it is painted, on a
   synthetic trace of 200 passes with 63 candidates each.
2. Updates of the text and drawings of the tree per second while the model answers.
3. Speed of decoding with the page open against the same answers without any page, taking turns in one process.

With --apart the server keeps to the first core, with one thread of decoding, and the browser to the others: what the page
costs the decoder when the visitor's browser runs on a machine of its own. Browser and visitor are a process of their own, for
driving a browser takes time as well: it would be missing to the decoder.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import tempfile
import time
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

import recap
from studio.conversation import Conversation
from studio.jobs import Answer
from studio.opening import long_lived
from studio.worker import Worker

from . import synthetic
from .app_fixtures import again, ready, see, served, settle, shows
from .browser import chromium

ELSEWHERE = "studio.test"
"""A name of this machine under which the page does not know that it shares it with the decoder."""
PROMPT = "Write a story about a lighthouse keeper and a storm."
MOVE = """async (to) => {
  const input = document.querySelector("#step-slider input");
  const where = document.querySelector("#where .room");
  const began = performance.now();
  input.value = to;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  while (!where.textContent.startsWith(`${to} / `)) await new Promise(requestAnimationFrame);
  const drawn = performance.now();
  await new Promise((done) => setTimeout(done)); // the next task comes when this frame has been laid out and painted
  return [drawn - began, performance.now() - began];
}"""
COUNT = """() => {
  window.counted = { text: 0, tree: 0, began: 0, ended: 0 };
  let said = "";
  new MutationObserver(() => {
    const now = [...document.querySelectorAll("#chat .bot.message")].at(-1)?.textContent || "";
    if (now === said) return;
    said = now;
    window.counted.text += 1;
    window.counted.began ||= performance.now();
    window.counted.ended = performance.now();
  }).observe(document.querySelector("#chat"), { subtree: true, childList: true, characterData: true });
  new MutationObserver(() => (window.counted.tree += 1)).observe(document.querySelector("#tree .plot").shadowRoot, { childList: true });
}"""


def slider(page: Page, moves: int) -> list[str]:
    expect(page.locator("#model-status")).to_contain_text("builtin", timeout=300_000)
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.json"
        path.write_text(synthetic.trace(rng, steps=200, nodes=63).to_json(), encoding="utf-8")
        see(page, "traces")
        page.set_input_files("#trace-upload input[type=file]", str(path))
        shows(page, passes=200)
    page.wait_for_timeout(1500)
    steps = rng.sample(range(1, 201), moves)
    told = []
    for name, order in (("a pass not seen before", steps), ("a pass seen before", rng.sample(steps, moves))):
        times = [page.evaluate(MOVE, step) for step in order]
        for what, at in (("in the page", 0), ("laid out and painted", 1)):
            spent = sorted(one[at] for one in times)
            told.append(
                f"slider to {name}, {what}: median {statistics.median(spent):.0f} ms, "
                f"90 % within {spent[int(0.9 * len(spent))]:.0f} ms, worst {spent[-1]:.0f} ms ({len(spent)} moves)"
            )
    return told


def without_page(worker: Worker, method: str, tokens: int) -> recap.Trace:
    answer = worker.ask(Answer(Conversation(), PROMPT, None, method, tokens))
    while not answer.ended:
        time.sleep(0.05)
    return answer.trace


def answer(page: Page, method: str, tokens: int) -> dict[str, float]:
    """Ask, and count per second what changes on the page while the answer is written."""
    page.wait_for_timeout(1500)
    settle(page, limit=tokens)
    page.click("#method input")
    page.get_by_role("option", name="RECAP" if method == "recap" else "plain decoding").click()
    page.evaluate(COUNT)
    looks: list[float] = []
    page.on("request", lambda sent: looks.append(time.perf_counter()) if '"whole"' in (sent.post_data or "") else None)
    again(page, PROMPT)
    expect(page.locator("#stop")).to_be_enabled(timeout=60_000)
    expect(page.locator("#send")).to_be_enabled(timeout=300_000)
    counted = page.evaluate("window.counted")
    seconds = (counted["ended"] - counted["began"]) / 1000
    return {
        "updates of the text": counted["text"] / seconds, "drawn trees": counted["tree"] / seconds,
        "looks at the answer": (len(looks) - 1) / (looks[-1] - looks[0]),
    }  # fmt: skip


DEEDS = {"slider": slider, "answer": answer}


def visitor(line: Connection, cores: list[int]) -> None:
    """A browser that opens the page anew for every deed it is told, until it is told None."""
    if cores:
        os.sched_setaffinity(0, cores)
    with chromium(f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1") as browser:
        for address, deed, *given in iter(line.recv, None):
            with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
                page = context.new_page()
                page.goto(address)
                ready(page)
                line.send(DEEDS[deed](page, *given))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=40, help="slider moves (40; 0 leaves that part out)")
    parser.add_argument("--rounds", type=int, default=5, help="answers with and without the page, per method (5; 0 leaves that part out)")
    parser.add_argument("--tokens", type=int, default=120, help="tokens per answer (120)")
    parser.add_argument("--apart", action="store_true", help="server and browser on cores of their own (Linux)")
    given = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0)) if given.apart else []
    if given.apart and len(cores) < 2:
        parser.error("--apart needs two cores, and there is one")
    if given.apart:
        os.sched_setaffinity(0, cores[:1])  # processes and threads inherit it
    line, theirs = multiprocessing.Pipe()
    multiprocessing.get_context("spawn").Process(target=visitor, args=(theirs, cores[1:]), daemon=True).start()
    theirs.close()  # so that its end is noticed

    def load() -> recap.targets.base.Target:
        target = recap.load_target("builtin", threads=1 if given.apart else None)
        target.warm_up()
        long_lived()
        return target

    worker = Worker(load)
    worker.start()
    with ExitStack() as stack:
        address = stack.enter_context(served(worker))
        if given.apart:
            address = address.replace("127.0.0.1", ELSEWHERE)

        def visited(deed: str, *how: Any) -> Any:
            line.send((address, deed, *how))
            return line.recv()

        if given.moves:
            print("\n".join(visited("slider", given.moves)), flush=True)
        while worker.loading:
            time.sleep(0.1)
        for method in ("recap", "ar") if given.rounds else ():
            rates: dict[str, list[float]] = {"page": [], "none": []}
            for _ in range(given.rounds):
                bare = without_page(worker, method, given.tokens)
                rates["none"].append(len(bare.token_ids) / bare.decode_seconds)
                seen: list[Answer] = []
                ask = worker.ask
                worker.ask = lambda job: ask(seen.append(job) or job)  # type: ignore[method-assign]
                counted = visited("answer", method, given.tokens)
                worker.ask = ask  # type: ignore[method-assign]
                shown = seen[0].trace
                assert shown.token_ids == bare.token_ids
                rates["page"].append(len(shown.token_ids) / shown.decode_seconds)
            middle = {name: statistics.median(values) for name, values in rates.items()}
            print(
                f"{method}: {middle['none']:.1f} tokens per second of decoding without a page, {middle['page']:.1f} with "
                f"it: {middle['page'] / middle['none']:.0%} (medians of {given.rounds}); last answer, per second: "
                f"{len(shown.steps) / shown.decode_seconds:.1f} passes"
                + "".join(f", {rate:.1f} {what}" for what, rate in counted.items())
                + f" (a look draws where a pass with candidates has come; {sum(len(step) > 1 for step in shown.steps)} of "
                f"{len(shown.steps)} had some)", flush=True,
            )
        line.send(None)


if __name__ == "__main__":
    main()
