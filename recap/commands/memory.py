"""Build a warm memory, rows of U for many sessions to share, from texts; or say what is in one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..bench import manifest as manifests
from ..bench.manifest import Input
from . import options as shared
from .trace import visible

_BUILD = """The model answers the inputs with RECAP, and what U holds at the end is written: for each token that came up, the
model's latest prediction after it. Whoever uses the file gets proposals that these texts and answers have shaped, and can
read from it which tokens followed which: build it from texts that may be public."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True)
    build = kinds.add_parser("build", help="answer inputs and keep what U holds", description=_BUILD)
    source = build.add_mutually_exclusive_group()
    source.add_argument(
        "--manifest", type=Path, metavar="FILE|DIR",
        help="inputs as for `bench run`, with pictures and several turns if you like (default: the 30 that come with RECAP)",
    )  # fmt: skip
    source.add_argument("--prompts", type=Path, metavar="FILE", help="a text file with a question on each line")
    build.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write, such as warm.safetensors")
    build.add_argument("--limit", type=int, help="only so many inputs, as evenly over the categories as possible")
    build.add_argument("--seed", type=int, help="shuffle the inputs with it (default: the order of the file)")
    build.add_argument("--max-new-tokens", type=int, default=200, help="of each turn (default: %(default)s)")
    shared.add_model(build)
    shared.add_config(build)
    build.set_defaults(do=_build, set=["budget=paper"])
    info = kinds.add_parser("info", help="what a file holds and what it was built for", description="What a file holds.")
    info.add_argument("file", help="a file that `memory build` wrote")
    info.set_defaults(do=_info)


def run(options: argparse.Namespace) -> int:
    return options.do(options) or 0


def _build(options: argparse.Namespace) -> int:
    shared.check_counts(options, "limit", "max_new_tokens")
    config = shared.read_config(options)
    inputs = manifests.select(_inputs(options), options.limit, options.seed)
    shared.check_writable("--output", options.output)
    target = shared.load_model(options)

    from tqdm import tqdm

    from ..warm import file
    from ..warm.build import build

    if config.budget == "auto":
        target.measure(shared.tell)
    with tqdm(total=len(inputs), unit="input", dynamic_ncols=True) as bar:
        built = build(target, inputs, config, options.max_new_tokens, lambda one: bar.update())
    for problem in built.problems:
        print(problem, file=sys.stderr)
    file.write(options.output, *built[:4])
    print(_about(options.output))
    return 0


def _inputs(options: argparse.Namespace) -> list[Input]:
    if options.prompts is None:
        found = manifests.read(options.manifest or manifests.DEFAULT)
        for problem in found.problems:
            print(problem, file=sys.stderr)
        return found.inputs
    try:
        lines = options.prompts.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--prompts: {str(options.prompts)!r} is no text file that can be read ({error})") from None
    inputs = [Input(str(number), "", (line.strip(),)) for number, line in enumerate(lines, start=1) if line.strip()]
    if not inputs:
        raise ValueError(f"--prompts: {str(options.prompts)!r} is empty; write a question on each line")
    return inputs


def _info(options: argparse.Namespace) -> int:
    print(_about(options.file))
    return 0


def _about(path: str) -> str:
    from ..warm import WarmMemory

    memory = WarmMemory.load(path)
    origin = memory.origin
    versions = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
    lines = {
        "file": f"{path}, {Path(path).stat().st_size / 1e6:.2f} MB; {memory.base.bytes / 1e6:.2f} MB in memory, once for all sessions",
        "rows": f"{memory.base.rows:,} of {origin.vocabulary:,} tokens, {origin.top_k} ids each, digest {memory.digest}",
        "model": f"{origin.model}, weights {origin.weights}",
        "built from": f"{origin.inputs:,} inputs, {origin.tokens:,} tokens of answers",
        "built": f"{origin.created} with {versions}",
    }
    return "\n".join(f"{name:12s}{visible(text)}" for name, text in lines.items())
