"""Measure: the drafting core by itself, passes by their size, or whole answers to a file of prompts."""

from __future__ import annotations

import argparse

from ..bench import core, generate, passes, prompts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, module in (("core", core), ("passes", passes), ("prompts", prompts), ("generate", generate)):
        about = module.__doc__ or ""
        kind = kinds.add_parser(name, help=about.splitlines()[0], description=about)
        module.add_arguments(kind)
        kind.set_defaults(measure=module.run)


def run(options: argparse.Namespace) -> int:
    return options.measure(options) or 0
