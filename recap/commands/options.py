"""Options that several commands share."""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..config import RecapConfig


def add_model(parser: argparse.ArgumentParser) -> None:
    """--model, --device, --dtype, --exact, --threads, --graphs."""
    parser.add_argument("--model", help='"builtin", a folder or a hub id (default: builtin, on CUDA Qwen2.5-VL-7B)')
    parser.add_argument("--device", help="cpu, cuda, cuda:1 (default: cuda when there is one)")
    parser.add_argument("--dtype", default="auto", help="auto, bfloat16, float16 or float32 (default: %(default)s)")
    parser.add_argument(
        "--exact", choices=("auto", "off"), default="auto",
        help="in half precision, make passes of every size alike, so that a draft cannot change the answer: on a CPU where "
        "that can be had, or off (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's own choice)")
    parser.add_argument(
        "--graphs", action="store_true", help="on CUDA, replay passes as CUDA graphs (written without a GPU, not run yet)"
    )


def load_model(options: argparse.Namespace) -> Any:
    """The target that the options name."""
    from ..targets.loading import default_model, load_target

    name = options.model or default_model()
    return load_target(
        name, options.device, options.dtype, options.exact, options.threads, progress=tell, graphs=options.graphs
    )


def add_warm(parser: argparse.ArgumentParser, where: str = "") -> None:
    """--warm."""
    parser.add_argument("--warm", metavar="FILE", help=f"{where}look rows up in a file of `memory build` where U has none")


def read_warm(options: argparse.Namespace, config: RecapConfig) -> Any:
    """The memory that --warm names, read once; None for none. Raises ValueError for one that cannot be used."""
    from ..warm import given

    memory = given(options.warm)
    if memory is not None:
        memory.require_rows(config)
    return memory


def check_writable(option: str, name: str) -> None:
    """Raises ValueError now rather than after the work, for a file that cannot be written."""
    path = Path(name)
    if path.is_dir() or not path.name:
        raise ValueError(f"{option} takes the name of a file, got {name!r}")
    try:
        with tempfile.TemporaryFile(dir=path.absolute().parent):
            pass
    except OSError as error:
        raise ValueError(f"{option}: nothing can be written to the folder of {name!r} ({error.strerror})") from None


def check_counts(options: argparse.Namespace, *names: str) -> None:
    """Raises ValueError for an option among these that is there and not 1 or more."""
    for name in names:
        value = getattr(options, name, None)
        if value is not None and value < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be 1 or more, got {value}")


def tell(text: str, fraction: float | None) -> None:
    """Show what is being done, and how far it is, on one line of stderr."""
    end = "\n" if fraction in (None, 1.0) else "\r"
    print(text if fraction is None else f"{text} {fraction:4.0%}", end=end, file=sys.stderr, flush=True)


def add_config(parser: argparse.ArgumentParser) -> None:
    """--set NAME=VALUE for every setting of RecapConfig."""
    names = ", ".join(f"{field.name}={field.default}" for field in fields(RecapConfig)).replace("%", "%%")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help=f"change a setting, such as --set max_nodes=31 --set fusion=prior; settings and defaults: {names}",
    )


def read_config(options: argparse.Namespace) -> RecapConfig:
    """The paper's settings with the changes of --set. Raises ValueError for an unknown name or a bad value."""
    changes = {}
    for text in options.set:
        name, equals, value = text.partition("=")
        if not equals:
            raise ValueError(f"--set takes NAME=VALUE, got {text!r}")
        try:
            changes[name.strip()] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            changes[name.strip()] = value.strip()
    return RecapConfig().replace(**changes)
