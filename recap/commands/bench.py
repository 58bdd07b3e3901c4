"""Measure: the drafting core, passes by their size, or acceptance, speed and equality on a file of prompts."""

from __future__ import annotations

import argparse

from ..bench import core, exact, passes, prompts


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name, module in (("core", core), ("passes", passes), ("prompts", prompts), ("exact", exact)):
        kind = kinds.add_parser(name, help=(module.__doc__ or "").splitlines()[0])
        module.add_arguments(kind)
        kind.set_defaults(measure=module.run)


def run(options: argparse.Namespace) -> int:
    return options.measure(options) or 0
