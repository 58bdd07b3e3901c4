"""The command line: python -m recap generate | bench | trace | memory | info."""

from __future__ import annotations

import argparse
import io
import sys
from importlib import import_module

from .commands import INTERRUPTED

COMMANDS = {
    "generate": "ask a question, with pictures or without, and stream the answer",
    "trace": "read a recorded trace",
    "bench": "measure: all methods on the same inputs, and the parts by themselves",
    "memory": "rows of U for many sessions to share: build a file of them, or say what is in one",
    "info": "what is installed and what would be used",
}


VARIABLES = """environment:
  RECAP_READER   what reads the built-in model's evidence: tuned (as shipped), plain (SmolLM2 as published), or the path
                 of an adapter
  RECAP_PASSES   compiled, torch, or auto: how the built-in model is evaluated
  RECAP_LEARN    off: keep no record of costs and acceptance between runs
  RECAP_CACHE    folder of the built-in model
"""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit status is 0, 1 for a failure, 2 for bad input, 130 when interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console that lacks a character still shows the rest
            stream.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(
        prog="python -m recap", description="RECAP: training-free speculative decoding.", epilog=VARIABLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="|".join(COMMANDS))
    for name, summary in COMMANDS.items():
        command = import_module(f".commands.{name}", __package__)
        subparser = subparsers.add_parser(
            name, help=summary, description=(command.__doc__ or summary).splitlines()[0],
            epilog=VARIABLES if name == "generate" else None, formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    options = parser.parse_args(arguments)
    try:
        return options.run(options) or 0
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        print(f"recap {options.command}: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ValueError, TypeError)) else 1


if __name__ == "__main__":
    sys.exit(main())
