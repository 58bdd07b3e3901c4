"""A view of a recorded trace as an HTML page or a PNG."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..trace import Trace

PANELS = ("tree", "weights", "throughput", "ribbon", "inspector", "memory", "race")
SUFFIXES = (".html", ".png")
LARGEST = 10_000
"""Largest side of a picture, pixels."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--panel", default="tree", choices=PANELS, help="what to show (default: %(default)s)")
    parser.add_argument(
        "--step", type=int, help="the pass to show, counted from 1 as on the page (default: the last with candidates)"
    )
    parser.add_argument(
        "--node", type=int,
        help="the node to choose: 0 is the root, -1 the model's own choice (default: the end of the accepted path)",
    )  # fmt: skip
    parser.add_argument("--theme", default="light", choices=("light", "dark"), help="(default: %(default)s)")
    parser.add_argument("--width", type=int, help="of the page, pixels (default: what the view needs)")
    parser.add_argument("--height", type=int, help="of the page, pixels (default: what the view needs)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help=".html or .png (default: named after the trace, the view and the pass)"
    )


def plot(trace: Trace, options: argparse.Namespace) -> Path:
    """Writes the picture that the options ask for and returns its path. ValueError for options that make none."""
    at = index(trace, options.step)
    output = Path(options.output or f"{_stem(options.file)}-{options.panel}-{at + 1}.html")
    if output.suffix.lower() not in SUFFIXES:
        raise ValueError(f"--output must end in {' or '.join(SUFFIXES)}, got {str(output)!r}")
    if not output.absolute().parent.is_dir():
        raise ValueError(f"--output: there is no folder {str(output.parent)!r}")
    for name in ("width", "height"):
        value = getattr(options, name)
        if value is not None and not 100 <= value <= LARGEST:
            raise ValueError(f"--{name} must be from 100 to {LARGEST} pixels, got {value}")
    try:
        from visual import export
    except ModuleNotFoundError as error:
        raise RuntimeError(f"pictures need the package {error.name!r}, which is not installed") from None

    made = export.document(options.panel, trace, at, options.node, options.theme, options.width, options.height)
    if output.suffix.lower() == ".png":
        export.png(made.html, output, min(made.width, LARGEST), min(made.height, LARGEST))
    else:
        export.write(output, made.html.encode())
    return output


def index(trace: Trace, number: int | None) -> int:
    """The index of the pass that is called `number`, counted from 1."""
    if not trace.steps:
        raise ValueError("this answer was over before the first pass: there is nothing to show")
    if number is None:
        return trace.last_drafted
    if not 1 <= number <= len(trace.steps):
        raise ValueError(f"--step must be from 1 to {len(trace.steps)}, got {number}")
    return number - 1


def _stem(file: str) -> str:
    name = Path(file).name
    for end in (".gz", ".json"):
        name = name.removesuffix(end)
    return name or "trace"
