"""Acceptance length, speed and equality with plain decoding on a JSONL file of prompts.

A line holds "prompt", or "turns" of which the first is asked, and may hold "id", "category" and "images" (paths beside the
file). RECAP and AR run side by side on every prompt, in turns which of them goes first; U is kept over the file, as in
the paper.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

from ..commands import options as shared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        help='JSONL: a line is {"prompt": ...} or {"turns": [...]}, with "id", "category" and "images" (a list of paths) '
        "if you like",
    )
    parser.add_argument("--max-new-tokens", type=int, default=150, help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many prompts")
    parser.add_argument("--json", metavar="FILE", help="write one record per prompt, JSONL")
    shared.add_model(parser)
    shared.add_config(parser)


def run(options: argparse.Namespace) -> int:
    if not Path(options.file).is_file():
        raise ValueError(f"there is no file {options.file!r}")
    questions = read(Path(options.file))[: options.limit]
    config = shared.read_config(options)
    from tqdm import tqdm

    from ..generation import compare, generate
    from ..session import Session

    target = shared.load_model(options)
    session = Session(target, "recap", config)
    generate(target, "Hello.", max_new_tokens=8)
    records = []
    for number, question in enumerate(tqdm(questions, unit="prompt")):
        arguments: dict[str, Any] = dict(
            prompt=question["prompt"], images=question["images"], max_new_tokens=options.max_new_tokens
        )
        answers = {}
        for method in ("recap", "ar") if number % 2 else ("ar", "recap"):
            own = {"session": session} if method == "recap" else {"method": "ar"}
            answers[method] = generate(target, **arguments, **own).trace
        session.reset()
        trace = answers["recap"]
        comparison = compare(trace, answers["ar"])
        records.append({
            "id": question["id"], "category": question["category"], "tokens": len(trace.token_ids),
            "tau": trace.acceptance_length, "S": trace.speedup, "identical": comparison.identical,
            "tok/s": trace.tokens_per_second, "first_difference": comparison.first_difference,
        })  # fmt: skip
        if options.json:  # as they come: a measurement that is stopped keeps what it has
            with open(options.json, "w" if number == 0 else "a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
    print(report(records, target.describe()))
    return 0


def read(path: Path) -> list[dict[str, Any]]:
    """Questions of a file. Raises ValueError naming the line that is not one, or whose picture is missing."""
    questions = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            prompt = raw["prompt"] if "prompt" in raw else raw["turns"][0]
            if not isinstance(prompt, str):
                raise TypeError("the prompt is no text")
            images = [str(path.parent / name) for name in raw.get("images", [])]
            unknown = sorted(raw.keys() - {"id", "category", "prompt", "turns", "images"})
            if unknown:
                raise ValueError(f"{unknown[0]!r} is not one of id, category, prompt, turns, images")
            if missing := [name for name in images if not Path(name).is_file()]:
                raise ValueError(f"there is no picture {missing[0]!r}")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f'{path}, line {number}: expected {{"prompt": text}} or {{"turns": [text]}} ({error})') from None
        category = str(raw.get("category", ""))
        questions.append({"id": str(raw.get("id", number)), "category": category, "prompt": prompt, "images": images})
    if not questions:
        raise ValueError(f"{path} holds no prompts")
    return questions


def report(records: list[dict[str, Any]], model: dict[str, Any]) -> str:
    """A table by category; means over inputs, as tau and S are defined."""
    groups = defaultdict(list)
    for record in records:
        groups[record["category"]].append(record)
    lines = [
        f"{model['name']} on {model['device']} in {model['dtype']}, S against our own AR in the same run",
        f"{'category':26s}{'inputs':>7s}{'tokens':>8s}{'tau':>7s}{'S':>7s}{'identical':>11s}",
    ]
    for category, group in [*sorted(groups.items()), ("all", records)]:
        same = sum(record["identical"] for record in group)
        lines.append(
            f"{category:26s}{len(group):7d}{sum(record['tokens'] for record in group):8d}"
            f"{statistics.fmean(record['tau'] for record in group):7.2f}"
            f"{statistics.fmean(record['S'] for record in group):7.2f}{same:7d}/{len(group)}"
        )
    return "\n".join(lines)
