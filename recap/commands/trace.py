"""Read a recorded trace: the answer pass by pass, one draft tree, a picture of it, or which words need the picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..trace import MEMORY_NAMES, Step, Trace
from ..trace_json import read_trace
from . import lens, plot


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="show|plot|lens")
    shown = actions.add_parser("show", help="print the answer pass by pass, or one draft tree")
    drawn = actions.add_parser("plot", help=(plot.__doc__ or "").splitlines()[0])
    about = "which words of the answer need the picture (Figure 1)"
    looked = actions.add_parser("lens", help=about, description=lens.__doc__)
    lens.add_arguments(looked)
    for action in (shown, drawn):
        action.add_argument("file", help="a trace written by generate --trace, or gzip of one")
    shown.add_argument("--step", type=int, help="show the draft tree of this pass, counted from 1 as on the page")
    plot.add_arguments(drawn)


def run(options: argparse.Namespace) -> int:
    if options.action == "lens":
        return lens.run(options)
    path = Path(options.file)
    if not path.is_file():
        raise ValueError(f"there is no file {options.file!r}")
    trace = read_trace(path)
    if options.action == "plot":
        print(f"{plot.plot(trace, options)} written", file=sys.stderr)
    elif options.step is None:
        print(summary(trace))
    else:
        print(tree(trace.steps[plot.index(trace, options.step)]))
    return 0


def summary(trace: Trace) -> str:
    """The whole answer, a line per pass."""
    question = trace.messages[-1]["content"] if trace.messages else ""
    lines = [
        f"{trace.model} on {trace.device} in {trace.dtype}, method {trace.method}, drafting core: {trace.backend}",
        f"question  {visible(question)}",
        f"answer    {visible(trace.text)}",
        f"{len(trace.token_ids)} tokens ({trace.finish_reason}), {len(trace.steps)} passes, "
        f"tau {trace.acceptance_length:.2f}, {trace.tokens_per_second:.1f} tok/s, made {trace.created}",
        "",
        "pass  nodes  accepted  draft+verify+update ms  committed",
    ]
    for step in trace.steps:
        words = " ".join(visible(trace.table.text(token)) for token in step.committed)
        spent = f"{step.draft_ms:.1f}+{step.verify_ms:.1f}+{step.update_ms:.1f}"
        lines.append(f"{step.index + 1:4d}  {len(step) - 1:5d}  {len(step.accepted_nodes):8d}  {spent:>22s}  {words}")
    return "\n".join(lines)


def tree(step: Step) -> str:
    """One draft tree, indented by depth; + marks the accepted path."""
    lines: list[str] = []

    def draw(node: int) -> None:
        mark = "+" if step.accepted[node] else " "
        who = " ".join(
            f"{name} {share:.0%}" for name, share in zip(MEMORY_NAMES, step.shares[node]) if share > 0
        ) or step.origins[node]
        token = "  " * step.depths[node] + visible(step.text(node))
        lines.append(f"{mark} {token}  score {step.scores[node]:.3f}  {who}")
        for child in step.children(node):
            draw(child)

    draw(0)
    committed = " ".join(visible(step.table.text(token)) for token in step.committed)
    return "\n".join([*lines, "", f"committed: {committed}"])


def visible(text: str) -> str:
    """Text on one line, without characters that could steer a terminal."""
    shown = text.replace("\n", "⏎").replace("\t", "⇥")
    return "".join(char if char.isprintable() else "·" for char in shown)
