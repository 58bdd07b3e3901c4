"""All methods on the same inputs, model and machine, taking turns: S and tau by category, times, and whether tokens agree.

Every method answers every input, and plain decoding (ar) always does too; which of them goes first rotates. What a
method keeps across requests is kept over the inputs, as in the paper, and cleared before each repetition; memories of
different methods never meet. Warm-up is not counted. Records are written to a folder as they are made: the same command
with the same --out goes on where it was stopped. `bench report` makes a page of it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from ..commands import INTERRUPTED
from ..commands import options as shared
from ..config import BUDGETS
from ..methods import METHODS
from . import manifest as manifests
from .contenders import Contender, contenders, warmed
from .folder import RunFolder
from .peers import PEERS, load

DEFAULT_METHODS = ("recap", "token_recycling", "suffix_decoding", "pld")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods", nargs="+", default=list(DEFAULT_METHODS), metavar="METHOD",
        help=f"some of {', '.join(METHODS)}, or all; with settings for ablations: recap:fusion=uniform,suffix=False "
        f"(default: {' '.join(DEFAULT_METHODS)})",
    )  # fmt: skip
    parser.add_argument(
        "--budget",
        nargs="+",
        choices=BUDGETS,
        default=["auto"],
        help="auto, paper or both; methods whose trees may not be cut always take their own (default: auto)",
    )
    parser.add_argument(
        "--manifest", type=Path, default=manifests.DEFAULT, metavar="FILE|DIR",
        help='JSONL, or a folder with mmspec.jsonl and images/: a line is {"prompt": ...} or {"turns": [...]}, with "id", '
        '"category" and "image" if you like (default: 30 inputs that come with RECAP)',
    )  # fmt: skip
    parser.add_argument("--limit", type=int, help="only so many inputs, as evenly over the categories as possible")
    parser.add_argument(
        "--repeat", type=int, default=1, help="repetitions, of which medians count (default: %(default)s)"
    )
    parser.add_argument("--max-new-tokens", type=int, default=64, help="of each turn (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="shuffle the inputs with it (default: the order of the file)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="(default: a new folder in runs/bench)")
    parser.add_argument(
        "--peers",
        action="store_true",
        help="also ask transformers' own generate on the same weights, greedy and with its prompt lookup",
    )
    parser.add_argument(
        "--lens", action="store_true",
        help="also look where RECAP's passes need the picture: its mean colour and another input's picture in its place, after "
        "all have answered and in nobody's time",
    )  # fmt: skip
    shared.add_warm(parser, "let RECAP take part a second time, as \"... warm\": ")
    shared.add_model(parser)
    shared.add_config(parser)


def run(options: argparse.Namespace) -> int:
    # mistakes are told before torch is imported, which takes seconds
    shared.check_counts(options, "limit", "repeat", "max_new_tokens")
    methods = list(METHODS) if options.methods == ["all"] else options.methods
    config = shared.read_config(options)
    warm = shared.read_warm(options, config)
    taking_part = warmed(contenders(methods, options.budget, config), warm)
    if warm is not None and len(taking_part) == len(contenders(methods, options.budget, config)):
        raise ValueError("--warm is rows for RECAP's memory U: have recap among the methods, or leave it out")
    lens = seer(taking_part) if options.lens else None
    manifest = manifests.read(options.manifest)
    for problem in manifest.problems:
        print(problem, file=sys.stderr)
    inputs = manifests.select(_unseen(manifest.inputs, warm), options.limit, options.seed)
    peers = PEERS if options.peers else ()
    out = options.out or Path("runs", "bench", datetime.now().strftime("%Y%m%d-%H%M%S"))
    with RunFolder(out) as folder:
        target = shared.load_model(options)
        about = describe(target, manifest, options.seed or 0)
        chosen = configuration(target, inputs, taking_part, peers, options.max_new_tokens, options.repeat, options.seed)
        chosen |= {"lens": lens} if lens else {}
        done = folder.open(chosen, about, chosen["names"])
        if done:
            print(f"{out} holds {len(done)} of {len(inputs) * options.repeat} inputs and repetitions", file=sys.stderr)
        try:
            for records in _measured(target, inputs, taking_part, peers, options, done, lens):
                folder.append(records)
        except KeyboardInterrupt:
            print(f"\nstopped; the same command with --out {out} goes on from here", file=sys.stderr)
            return INTERRUPTED
        from . import machine

        folder.end(load_after=machine.load())
        print(summary(folder.run, folder.records))
        print(f"\nrecords are in {out}; python -m recap bench report {out} makes a page of them")
    return 0


def _unseen(inputs: Sequence[manifests.Input], warm: Any) -> Sequence[manifests.Input]:
    """Those that a warm memory was not built from, nor from other questions about their pictures."""
    if warm is None:
        return inputs
    kept = [one for one in inputs if not manifests.marks(one) & set(warm.origin.sources)]
    if not kept:
        raise ValueError("the warm memory was built from these inputs or their pictures: measure it on others")
    left = len(inputs) - len(kept)
    print(f"{left} of {len(inputs)} inputs are left out: the warm memory knows them or their pictures", file=sys.stderr)
    return kept


def configuration(
    target: Any,
    inputs: Sequence[manifests.Input],
    taking_part: Sequence[Contender],
    peers: Sequence[str],
    max_new_tokens: int,
    repeats: int,
    seed: int | None = None,
) -> dict[str, Any]:
    """What two parts of one run must have in common, JSON types."""
    from ..generation import versions
    from ..targets.builtin.reader import VARIABLE
    from . import machine

    described, here = target.describe(), machine.describe()
    reader = {"reader": os.environ.get(VARIABLE, "auto")} if target.name == "builtin" else {}
    return {
        "names": [*(one.name for one in taking_part), *peers],
        "contenders": {
            one.name: {"method": one.method, **one.config.to_dict()} | ({"warm": one.warm.digest} if one.warm is not None else {})
            for one in taking_part
        },
        "model": {name: described[name] for name in ("name", "device", "dtype", "exact", "passes")} | reader,
        "inputs": len(inputs), "repeats": repeats, "max_new_tokens": max_new_tokens, "seed": seed,
        "fingerprint of the inputs": manifests.fingerprint(inputs), "versions": versions(),
        "machine": {name: here[name] for name in ("processor", "cores", "gpu")},
    }  # fmt: skip


def seer(taking_part: Sequence[Contender]) -> str:
    """Whose answers the image lens looks at: the first contender that is RECAP. Raises ValueError where none is."""
    for one in taking_part:
        if one.method == "recap":
            return one.name
    raise ValueError("the lens looks at RECAP's passes: have recap among the methods")


def describe(target: Any, manifest: manifests.Manifest, seed: int = 0) -> dict[str, Any]:
    """What else is worth knowing of a run, JSON types. `seed` draws the bootstrap."""
    from ..generation import versions
    from . import machine

    return {
        "machine": machine.describe(), "versions": versions(), "model": target.describe(), "seed": seed,
        "manifest": {"name": manifest.path.name, "folder": manifest.path.absolute().parent.name,
                     "problems": manifest.problems},
    }  # fmt: skip


def summary(run: dict[str, Any], records: Sequence[dict[str, Any]]) -> str:
    """What was run and all tables, for a terminal."""
    from . import counting, tables

    lines = "\n".join(tables.facts(run))
    if not any("error" not in record for record in records):
        return f"{lines}\n\nno input could be asked\n\n" + tables.text(
            [tables.left_out(records, run["manifest"]["problems"])]
        )
    cells = counting.everything(records, run["seed"])
    return f"{lines}\n\n" + tables.text(tables.tables(cells, records, run["manifest"]["problems"]))


def _measured(
    target: Any,
    inputs: Sequence[manifests.Input],
    taking_part: Sequence[Contender],
    names: Sequence[str],
    options: argparse.Namespace,
    done: set[tuple[int, str]],
    lens: str | None,
) -> Iterator[list[dict[str, Any]]]:
    """The records that are missing, with a bar of answers and the time that is left."""
    from tqdm import tqdm

    from . import runner

    if len(done) == len(inputs) * options.repeat:
        return
    peers = load(names, target, options.max_new_tokens, shared.tell)
    runner.warm_up(target, taking_part, peers, shared.tell)
    if any(one.images for one in inputs):
        target.warm_up(shared.tell)
    each = len(taking_part) + len(peers)
    bar = tqdm(
        total=runner.total(inputs, taking_part, names, options.repeat), initial=each * len(done), unit="answer",
        dynamic_ncols=True,
    )  # fmt: skip
    with bar:

        def answered(name: str) -> None:
            bar.set_postfix_str(name, refresh=False)
            bar.update()

        yield from runner.measure(
            target, inputs, taking_part, options.max_new_tokens, options.repeat, peers, done, answered=answered, lens=lens
        )
