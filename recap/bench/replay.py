"""Replay saved greedy continuations: what each memory, fusion rule and budget would have proposed, without decoding.

FILE holds questions (a manifest, as for `bench run`), saved continuations (JSONL), or a trace. Questions are answered once
with plain decoding and kept in the output folder, where a later run finds them. The tables are the paper's: Figure 3(a)
with Table 5, Tables 6, 7, 10, 14, 16 and 17, Figure 5.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from ..commands import options as shared
from . import questions, replay_tables

CONTINUATIONS = "continuations.jsonl"
EXAMPLES = Path(__file__).parent.parent.parent / "assets" / "examples" / "questions.jsonl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="questions, continuations or a trace (default: the questions that ship)")
    parser.add_argument("--max-new-tokens", type=int, default=150, help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many")
    parser.add_argument(
        "--requests", type=int, default=10_000, help="length of the stream of Figure 5 (default: %(default)s)"
    )
    parser.add_argument(
        "-o", "--output", metavar="DIR", default="replay",
        help="folder for the continuations, replay.json and a CSV per table (default: %(default)s)",
    )  # fmt: skip
    shared.add_model(parser)


def run(options: argparse.Namespace) -> int:
    from ..analysis.replaying import replay

    shared.check_counts(options, "max_new_tokens", "limit", "requests")
    file = options.file = Path(options.file) if options.file else EXAMPLES
    if not file.is_file():
        raise ValueError(f"there is no file {str(file)!r}" + ("" if options.file else "; name one with questions"))
    folder = Path(options.output)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output takes a folder, {options.output!r} is a file")
    about, pool = _continuations(file, folder, options)
    from tqdm import tqdm

    result = replay(tqdm(pool, desc="replaying", unit="input"), options.requests)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "replay.json").write_text(json.dumps({"about": about, **result}, indent=1), encoding="utf-8")
    tables = replay_tables.tables(result)
    for table in tables:
        (folder / f"{table.name}.csv").write_text(table.csv(), encoding="utf-8")
    print(f"{about.get('model', 'a trace')}: {result['states']} states of {len(pool)} greedy continuations")
    print("\n\n".join(table.text() for table in tables))
    print(f"written to {folder}", file=sys.stderr)
    return 0


def _continuations(file: Path, folder: Path, options: argparse.Namespace) -> tuple[dict[str, Any], list[Any]]:
    """From a file, from an earlier run in the output folder, or decoded now."""
    from ..analysis.continuation import Continuation, greedy, save, saved

    if file.suffix == ".gz" or file.suffix == ".json":
        from ..trace_json import read_trace

        trace = read_trace(file)
        return {"model": trace.model}, [Continuation.from_trace(trace, file.name)]
    with file.open("rb") as opened:
        if b'"format"' in opened.readline()[:40]:
            about, found = saved(file)
            if not found:
                raise ValueError(f"{file} holds no continuations")
            return about, found[: options.limit]
    asked = questions.read_options(options)
    kept = folder / CONTINUATIONS
    target = None
    name = options.model
    if name is None:
        from ..targets.loading import default_model

        name = default_model()
    about = {
        "model": name, "reader": os.environ.get("RECAP_READER", "auto"), "dtype": options.dtype,
        "max_new_tokens": options.max_new_tokens, "questions": file.name,
    }  # fmt: skip
    known: list[Any] = []
    if kept.is_file():
        head, known = saved(kept)
        other = [key for key, value in about.items() if head.get(key) != value]
        if other:
            raise ValueError(
                f"{kept} was made with {other[0]} {head.get(other[0])!r}, not {about[other[0]]!r}; name another folder with "
                "-o, or delete it"
            )
        about = {key: value for key, value in head.items() if key != "format"}
    held = {one.id: one for one in known}
    missing = [question for question in asked if question["id"] not in held]
    if missing:
        target = shared.load_model(options)
        about |= {"passes": target.runtime.describe(), "loaded_dtype": target.dtype}
        folder.mkdir(parents=True, exist_ok=True)
        from tqdm import tqdm

        decoded = (greedy(target, question, options.max_new_tokens) for question in missing)
        for one in tqdm(save(kept, about, decoded, known), desc="decoding", total=len(missing), unit="input"):
            held[one.id] = one
    return about, [held[question["id"]] for question in asked]
