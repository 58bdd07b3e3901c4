"""Which words of an answer need the picture: the model's choices with its mean colour and another picture in its place."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..trace import Trace
from . import options as shared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="a trace; without one, --prompt is answered first")
    parser.add_argument(
        "--image", action="append", default=[], help="the answer's picture; several in order (a trace keeps no pictures)"
    )
    parser.add_argument("--prompt", help="a question to answer with RECAP and look at, in place of FILE")
    parser.add_argument(
        "--other", action="append", default=[],
        help="a picture to put in its place, beside its mean colour; one for all or one for each",
    )  # fmt: skip
    parser.add_argument("--max-new-tokens", type=int, default=100, help="of an answer to --prompt (default: %(default)s)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write the trace with what was found (default: FILE itself)"
    )
    shared.add_model(parser)


def run(options: argparse.Namespace) -> int:
    if (options.file is None) == (options.prompt is None):
        raise ValueError("give either a trace or a question with --prompt")
    if not options.image:
        raise ValueError("give the picture with --image: a trace keeps none")
    for name in ("image", "other"):
        for picture in getattr(options, name):
            if not Path(picture).is_file():
                raise ValueError(f"--{name}: there is no file {picture!r}")
    if options.max_new_tokens < 1:
        raise ValueError(f"--max-new-tokens must be 1 or more, got {options.max_new_tokens}")
    output = options.output or options.file
    if output is not None and Path(output).suffix not in (".json", ".gz"):
        raise ValueError(f"--output must end in .json or .gz, got {output!r}")
    trace = _trace(options)
    if options.model is None and trace is not None:
        options.model = trace.model
    target = shared.load_model(options)
    if trace is None:
        from ..generation import generate

        trace = generate(
            target, options.prompt, images=options.image, max_new_tokens=options.max_new_tokens
        ).trace
    from ..lens import look

    look(target, trace, options.image, options.other)
    print(report(trace))
    if output is not None:
        _write(Path(output), trace)
        print(f"written to {output}", file=sys.stderr)
    return 0


def report(trace: Trace) -> str:
    """Every token with its verdict, what the passes' roots say, and what Figure 1 makes of them."""
    from ..roots import by_accepted
    from .trace import visible

    lens: Any = trace.lens
    count = len(lens.choices)
    changed = [token for token in range(count) if lens.changed(token)]
    roots = {trace.first_of(step.index): step.index for step in trace.steps}
    lines = [
        f"answer    {visible(trace.text)}",
        f"controls  {', '.join(lens.controls)}; {len(changed)} of {count} tokens change, "
        f"{sum(token in roots for token in changed)} of {len(roots)} at a pass's root",
        "",
        "pass  with the pictures  " + "  ".join(f"{name:>26s}" for name in lens.controls) + "   dependence",
    ]
    for token in range(count):
        own = f"{visible(trace.table.text(lens.choices[token])):>12.12s} {lens.probs[token]:5.2f}"
        others = "  ".join(
            f"{visible(trace.table.text(row[token])):>12.12s} {taken[token]:5.2f} ({kept[token]:4.2f})"
            if row[token] != lens.choices[token] else f"{'same':>12s}       ({kept[token]:4.2f})"
            for row, taken, kept in zip(lens.swapped, lens.taken, lens.kept)
        )  # fmt: skip
        number = f"{roots[token] + 1:4d}" if token in roots else "    "
        mark = "*" if lens.changed(token) else " "
        lines.append(f"{number} {mark}{own:>18s}  {others}  {lens.dependence(token):8.2f}")
    lines += ["", "in brackets: the probability left to the choice with the pictures; * changes under a control", ""]
    lines.append("accepted  roots  changed  dependence (nats)")
    for group in by_accepted([trace]):
        lines.append(f"{group.accepted:8s}{group.roots:7d}{group.changed:9.0%}{group.dependence:12.2f}")
    return "\n".join(lines)


def _trace(options: argparse.Namespace) -> Trace | None:
    if options.file is None:
        return None
    if not Path(options.file).is_file():
        raise ValueError(f"there is no file {options.file!r}")
    from ..trace_json import read_trace

    return read_trace(options.file)


def _write(path: Path, trace: Trace) -> None:
    import gzip

    text = trace.to_json().encode()
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
