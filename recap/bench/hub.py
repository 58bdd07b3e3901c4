"""Builds manifests of the paper's seven single-turn benchmarks from the hub: `python -m recap.bench.hub chartqa`.

Not tried against the hub yet: where this was written there was none, so names and columns are as public code uses them.
What is done with a row is tested on made-up rows. The paper does not say which 1,000 inputs of each it took; these are the first
that have a picture. Needs the package `datasets`, which nothing else here does: pip install datasets.
"""

from __future__ import annotations

import argparse
import base64
import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

Row = dict[str, Any]
_SHORT = "Answer the question with a single word or phrase."
_LETTER = "Answer with the letter of the right choice and explain why."
_LONGEST = 2**27
"""A picture inside a TSV file, in characters."""


@dataclass(frozen=True)
class Benchmark:
    """Where a benchmark is, and how a row of it is asked."""

    title: str
    repository: str
    split: str
    """A split, or the name of a TSV file."""
    ask: Callable[[Row], str]
    picture: Callable[[Row], Any]
    """A PIL image or encoded bytes; None for a row without one."""


def _choices(question: str, choices: Iterable[Any], before: str = "") -> str:
    letters = [f"{letter}. {choice}" for letter, choice in zip("ABCDEFGHI", choices)]
    return "\n".join([part for part in (before, question) if part] + [*letters, _LETTER])


def _seed(row: Row) -> str:
    return _choices(row["question"], [row[f"choice_{letter}"] for letter in "abcd"])


def _mmt(row: Row) -> str:
    found = [row[letter] for letter in "ABCDEFGHI" if row.get(letter) not in (None, "", "nan")]
    return _choices(row["question"], found, row.get("hint") or "")


def _first(value: Any) -> Any:
    """SEED-Bench keeps a list of frames: one for a picture, several for a video, which is left out."""
    if isinstance(value, (list, tuple)):
        return value[0] if len(value) == 1 else None
    return value


BENCHMARKS = {
    "mmt_bench": Benchmark(
        "MMT-Bench", "Kaining/MMT-Bench", "MMT-Bench_VAL.tsv", _mmt, lambda row: base64.b64decode(row["image"])
    ),
    "seed_bench": Benchmark("SEED-Bench", "lmms-lab/SEED-Bench", "test", _seed, lambda row: _first(row["image"])),
    "scienceqa": Benchmark(
        "ScienceQA", "lmms-lab/ScienceQA-IMG", "test",
        lambda row: _choices(row["question"], row["choices"], row.get("hint") or ""), lambda row: row["image"],
    ),
    "ocrbench": Benchmark(
        "OCRBench", "echo840/OCRBench", "test", lambda row: row["question"], lambda row: row["image"]
    ),
    "chartqa": Benchmark(
        "ChartQA", "lmms-lab/ChartQA", "test", lambda row: f"{row['question']}\n{_SHORT}", lambda row: row["image"]
    ),
    "mathvista": Benchmark(
        "MathVista", "AI4Math/MathVista", "testmini", lambda row: row["query"], lambda row: row["decoded_image"]
    ),
    "textvqa": Benchmark(
        "TextVQA", "lmms-lab/textvqa", "validation", lambda row: f"{row['question']}\n{_SHORT}", lambda row: row["image"]
    ),
}  # fmt: skip
"""By the name that the command takes, in the order of Table 1."""


def rows(benchmark: Benchmark) -> Iterator[Row]:
    """The rows on the hub, fetched as they are asked for. Raises RuntimeError where the package `datasets` is missing."""
    if benchmark.split.endswith(".tsv"):
        from huggingface_hub import hf_hub_download

        path = hf_hub_download(benchmark.repository, benchmark.split, repo_type="dataset")
        csv.field_size_limit(_LONGEST)
        with open(path, encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file, delimiter="\t")
        return
    try:
        from datasets import load_dataset
    except ModuleNotFoundError:
        raise RuntimeError("the hub's data sets are read by the package datasets: pip install datasets") from None
    yield from load_dataset(benchmark.repository, split=benchmark.split, streaming=True)


def write(name: str, found: Iterable[Row], folder: Path, limit: int) -> int:
    """Writes manifest.jsonl and images/ of the first `limit` rows that have a picture; how many those were."""
    benchmark = BENCHMARKS[name]
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for number, (row, picture) in enumerate(islice(_pictured(benchmark, found), limit), start=1):
        file = f"{name}_{number:04}.png"
        if isinstance(picture, bytes):
            picture = Image.open(io.BytesIO(picture))
        picture.convert("RGB").save(folder / "images" / file)
        line = {"id": f"{name}_{number:04}", "image": file, "prompt": benchmark.ask(row), "category": benchmark.title}
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    (folder / "manifest.jsonl").write_text("".join(lines), encoding="utf-8")
    return len(lines)


def _pictured(benchmark: Benchmark, found: Iterable[Row]) -> Iterator[tuple[Row, Any]]:
    for row in found:
        picture = benchmark.picture(row)
        if picture is not None:
            yield row, picture


def main(arguments: list[str] | None = None) -> int:
    """Build the benchmarks named, or all seven. The exit status is 1 when one could not be had; the others are."""
    parser = argparse.ArgumentParser(prog="python -m recap.bench.hub", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument(
        "--limit", type=int, default=1000, help="inputs of each (default: %(default)s, as in the paper)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs", "data"), help="a folder each below it (default: %(default)s)"
    )
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    failed = 0
    for name in options.names or BENCHMARKS:
        try:
            count = write(name, rows(BENCHMARKS[name]), options.out / name, options.limit)
            print(f"{options.out / name}: {count} inputs")
        except Exception as error:  # whatever one data set does wrong, the others are still wanted
            print(f"{name} could not be built: {type(error).__name__}: {error}", file=sys.stderr)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
