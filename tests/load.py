"""Many visitors at once, as real HTTP clients: is every answer complete and the one that a visitor alone gets, how long does
it take, and does the memory stay level?

    python tests/load.py http://127.0.0.1:7860/ --visitors 50 --minutes 5 --pid $(pgrep -f app.py)

A script for a running app, no test: what it measures depends on the machine and on what else that does. Ends with status 1
if an answer failed or differed. `--browsers` adds Chromium pages that ask in turns with the others.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gradio_client import Client, handle_file

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

PICTURES = ROOT / "assets" / "examples"
QUESTIONS: list[tuple[str, str | None]] = [
    ("What is the total?", "receipt.png"), ("Write two sentences about rain.", None), ("Name three colours.", None),
    ("What do you see?", "receipt.png"), ("Explain what a bridge is to a child.", None), ("Count from one to twenty.", None),
    ("Why is the sky blue?", None), ("Give me a recipe for pancakes.", None),
]  # fmt: skip
PATIENCE = 300
"""Seconds that a visitor waits for anything: on a busy machine it is the answers that count, not the clock."""
METHODS = ("recap", "recap", "recap", "ar")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--tokens", type=int, default=32, help="at most, of an answer; every third visitor asks for three times that")
    parser.add_argument("--think", type=float, default=5.0, help="seconds between an answer and the next question, at most")
    parser.add_argument("--arrive", type=float, default=30.0, help="seconds within which all of them come")
    parser.add_argument("--browsers", type=int, default=0)
    parser.add_argument("--pid", type=int, help="of the app, to watch its memory")
    given = parser.parse_args()
    count = tokenizer(given.url)
    expected = alone(given.url, sorted({given.tokens, 3 * given.tokens}))
    print(f"{len(expected)} answers of a visitor alone are known; {given.visitors} visitors for {given.minutes:g} minutes", flush=True)
    end = time.monotonic() + 60 * given.minutes
    results: list[dict[str, Any]] = []
    crowd = [threading.Thread(target=visitor, args=(number, given, end, expected, count, results)) for number in range(given.visitors)]
    if given.browsers:
        crowd.append(threading.Thread(target=pages, args=(given.url, given.browsers, end, results)))
    for one in crowd:
        one.start()
    sizes = []
    while any(one.is_alive() for one in crowd):
        if given.pid:
            sizes.append((round(time.monotonic() - end + 60 * given.minutes), resident(given.pid)))
        time.sleep(min(15.0, 3.0 * given.minutes))
    return report(results, sizes, 60 * given.minutes)


def tokenizer(url: str) -> Callable[[str], int]:
    """How many tokens a text has for the model that is served."""
    name = json.load(urllib.request.urlopen(f"{url.rstrip('/')}/healthz", timeout=10))["model"]["name"]
    if name == "builtin":
        from recap.targets.builtin.language_model import open_language_model

        known = open_language_model(None, "plain")[1]
    else:
        from transformers import AutoTokenizer

        known = AutoTokenizer.from_pretrained(name)
    return lambda text: len(known(text, add_special_tokens=False)["input_ids"])


def alone(url: str, lengths: Sequence[int]) -> dict[tuple[int, str, int], str]:
    """What one visitor is answered, by question, method and length."""
    client = Client(url, verbose=False, httpx_kwargs={"timeout": PATIENCE})
    said = {
        (number, method, tokens): client.predict(question, file(picture), method, tokens, api_name="/chat")
        for tokens in lengths for number, (question, picture) in enumerate(QUESTIONS) for method in sorted(set(METHODS))
    }  # fmt: skip
    for number, _, tokens in said:
        assert said[number, "ar", tokens] == said[number, "recap", tokens], QUESTIONS[number]
    return said


def file(picture: str | None) -> Any:
    return None if picture is None else handle_file(str(PICTURES / picture))


def visitor(
    number: int, given: Any, end: float, expected: dict[Any, str], count: Callable[[str], int], results: list[Any]
) -> None:
    chance = random.Random(number)
    time.sleep(chance.uniform(0, given.arrive))
    try:
        client = Client(given.url, verbose=False, httpx_kwargs={"timeout": PATIENCE})
    except Exception as error:
        results.append({"error": f"no connection: {type(error).__name__}: {error}"})
        return
    tokens = given.tokens * (3 if number % 3 == 0 else 1)
    while time.monotonic() < end:
        question, method = chance.randrange(len(QUESTIONS)), chance.choice(METHODS)
        text, picture = QUESTIONS[question]
        begun, first, said, error = time.monotonic(), None, "", ""
        try:
            job = client.submit(text, file(picture), method, tokens, api_name="/chat")
            for said in job:
                first = first if first is not None or not said else time.monotonic()
            job.result()
        except Exception as mistake:
            error = f"{type(mistake).__name__}: {mistake}"
        done = time.monotonic()
        words = count(said)
        results.append({
            "error": error, "same": said == expected[question, method, tokens], "words": words, "whole": done - begun,
            "first": None if first is None else first - begun,
            "each": (done - first) / (words - 1) if first is not None and words > 1 else None, "at": done - end + 60 * given.minutes,
        })  # fmt: skip
        time.sleep(chance.uniform(0, given.think))


def pages(url: str, number: int, end: float, results: list[Any]) -> None:
    """Browsers that ask one after another; their answers must come, and their consoles stay clean."""
    from tests.app_fixtures import again, answered, ask, assert_clean, ready
    from tests.browser import chromium, watch

    with chromium() as browser:
        open_ones = [browser.new_context(viewport={"width": 1280, "height": 800}).new_page() for _ in range(number)]
        logs = [watch(page) for page in open_ones]
        for page in open_ones:
            page.goto(url)
            ready(page)
        asked = False
        while time.monotonic() < end:
            for page in open_ones:
                (again if asked else ask)(page, "Name three colours.")
            asked = True
            for page in open_ones:
                try:
                    said = answered(page)
                    results.append({"error": "" if said else "a page was answered nothing"})
                except Exception as mistake:
                    results.append({"error": f"page: {type(mistake).__name__}: {str(mistake)[:200]}"})
        for log in logs:
            try:
                assert_clean(log)
            except AssertionError as mistake:
                results.append({"error": f"console: {mistake}"})


def resident(pid: int) -> float:
    """Megabytes in memory."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def report(results: list[dict[str, Any]], sizes: list[tuple[int, float]], seconds: float) -> int:
    failed = [one["error"] for one in results if one["error"]]
    answers = [one for one in results if not one["error"] and "same" in one]
    different = sum(not one["same"] for one in answers)
    on_pages = len(results) - len(failed) - len(answers)
    print(f"{len(answers)} answers by programs, {on_pages} on pages; {len(failed)} errors, {different} different from alone")
    for error in sorted(set(failed))[:10]:
        print(f"  {failed.count(error)} x {error[:300]}")
    for name, key in (("first token, s", "first"), ("per further token, s", "each"), ("whole answer, s", "whole")):
        values = sorted(one[key] for one in answers if one[key] is not None)
        if len(values) > 1:
            half, most = statistics.median(values), statistics.quantiles(values, n=20)[-1]
            print(f"{name}: p50 {half:.3f}, p95 {most:.3f}, longest {values[-1]:.3f}")
    print(f"tokens per second, all together: {sum(one['words'] for one in answers) / seconds:.1f}")
    if sizes:
        print("memory, MB: " + ", ".join(f"{size:.0f} at {at} s" for at, size in sizes))
    return 1 if failed or different or not answers else 0


if __name__ == "__main__":
    sys.exit(main())
