"""Measure: the drafting core, passes by their size, exactness, acceptance and speed on a file of prompts, ablations."""

from __future__ import annotations

import argparse

from ..bench import ablations, core, exact, generate, passes, prompts, replay, shape

KINDS = {
    "core": core, "passes": passes, "prompts": prompts, "generate": generate, "exact": exact, "shape": shape,
    "ablations": ablations, "replay": replay,
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, module in KINDS.items():
        about = module.__doc__ or ""
        kind = kinds.add_parser(name, help=about.splitlines()[0], description=about)
        module.add_arguments(kind)
        kind.set_defaults(measure=module.run)


def run(options: argparse.Namespace) -> int:
    return options.measure(options) or 0
