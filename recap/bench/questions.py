"""The questions of a measurement: a JSONL file, gone through as often as the options say.

A line holds "prompt", or "turns" of which the first is asked, and may hold "id", "category" and "images" (paths beside
the file).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, --max-new-tokens, --limit, --repeats, --json."""
    parser.add_argument(
        "file",
        help='JSONL: a line is {"prompt": ...} or {"turns": [...]}, with "id", "category" and "images" (a list of paths) '
        "if you like",
    )
    parser.add_argument("--max-new-tokens", type=int, default=150, help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many prompts")
    parser.add_argument("--repeats", type=int, default=1, help="medians over so many repetitions (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write one record per prompt and repetition, JSONL")


def read_options(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The questions asked for. Raises ValueError for a file or a number that cannot be used."""
    for name in ("max_new_tokens", "limit", "repeats"):
        value = getattr(options, name, None)
        if value is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be 1 or more, got {value}")
    if not Path(options.file).is_file():
        raise ValueError(f"there is no file {options.file!r}")
    return read(Path(options.file))[: options.limit]


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


def repeat(
    options: argparse.Namespace, count: int, measure: Callable[[int], Iterator[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """All records of `measure(turn)`, once through the `count` questions, for as many turns as the options say."""
    from tqdm import tqdm

    records: list[dict[str, Any]] = []
    with tqdm(total=count * options.repeats, unit="prompt") as bar:
        for turn in range(options.repeats):
            for record in measure(turn):
                records.append({"repeat": turn, **record})
                bar.update()
                keep(options, records)
    return records


def keep(options: argparse.Namespace, records: list[dict[str, Any]]) -> None:
    """Write the latest record to --json as it comes: a measurement that is stopped keeps what it has."""
    if options.json:
        with open(options.json, "w" if len(records) == 1 else "a", encoding="utf-8") as file:
            file.write(json.dumps(records[-1]) + "\n")
