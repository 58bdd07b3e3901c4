"""Measure: all methods on the same inputs, ablations, and by themselves the drafting core, passes by size, exactness, looking."""

from __future__ import annotations

import argparse

from ..bench import ablations, core, exact, eyes, generate, passes, replay, report, shape, visitors
from ..bench import run as everything

KINDS = {
    "run": everything, "report": report, "ablations": ablations, "replay": replay, "generate": generate, "exact": exact,
    "passes": passes, "visitors": visitors, "core": core, "shape": shape, "eyes": eyes,
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
