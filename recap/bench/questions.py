"""What the smaller measurements have in common: they ask the first turn of every input of a manifest."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..commands.options import check_counts
from . import manifest


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, --max-new-tokens, --limit, --repeats, --json."""
    parser.add_argument("file", type=Path, help="a manifest as for `bench run`; the first turn of each input is asked")
    parser.add_argument("--max-new-tokens", type=int, default=150, help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many inputs")
    parser.add_argument("--repeats", type=int, default=1, help="medians over so many repetitions (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write one record per input and repetition, JSONL")


def read_options(options: argparse.Namespace) -> list[dict[str, Any]]:
    """The questions asked for: "id", "category", "prompt", "images". Lines that are none are told on stderr.

    Raises ValueError for a file or a number that cannot be used.
    """
    check_counts(options, "max_new_tokens", "limit", "repeats")
    found = manifest.read(options.file)
    for problem in found.problems:
        print(problem, file=sys.stderr)
    return [
        {"id": one.id, "category": one.category, "prompt": one.turns[0], "images": list(one.images)}
        for one in found.inputs[: options.limit]
    ]


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
