"""What is chosen at the start, by arguments or by the environment: model, device, number format, threads, logs and port.

Loads neither torch nor gradio: a mistake is told at once.
"""

from __future__ import annotations

import argparse
import os

from . import health, logs
from .limits import Limits

DTYPES = ("auto", "bfloat16", "float16", "float32")


def add(parser: argparse.ArgumentParser) -> None:
    """The arguments, each with its variable."""
    given = os.environ.get
    parser.add_argument("--model", default=given("MODEL") or None, help='"builtin", a folder, or a hub id (default: $MODEL, or '
                        "builtin without CUDA, Qwen/Qwen2.5-VL-7B-Instruct with it)")  # fmt: skip
    parser.add_argument("--device", default=given("DEVICE") or None, help='"cpu", "cuda", ... (default: $DEVICE, or CUDA where '
                        "there is one)")  # fmt: skip
    parser.add_argument("--dtype", default=given("DTYPE") or "auto", help=f"{', '.join(DTYPES)} (default: $DTYPE, or auto)")
    parser.add_argument("--threads", type=int, default=given("THREADS") or None,
                        help="CPU threads of a pass (default: $THREADS, or torch's own choice)")  # fmt: skip
    parser.add_argument("--warm", default=given("WARM_MEMORY") or None, metavar="FILE",
                        help="rows of U for every visitor, a file of `python -m recap memory build` (default: $WARM_MEMORY, or "
                        "none)")  # fmt: skip


def settled(chosen: argparse.Namespace) -> tuple[str, Limits, bool | str, int | None]:
    """The format of the log, which is set up, limits, whether /metrics is served (`health.wanted`), and the port if one is
    named. Raises ValueError with a sentence that names what makes no sense."""
    log_format, limits, watched = logs.prepare(), Limits.read(), health.wanted()
    port = os.environ.get("GRADIO_SERVER_PORT", "")
    if port and not port.isdecimal():
        raise ValueError(f"GRADIO_SERVER_PORT must be a number such as 7860, got {port!r}")
    if chosen.dtype not in DTYPES:
        raise ValueError(f"--dtype or DTYPE must be one of {', '.join(DTYPES)}, got {chosen.dtype!r}")
    return log_format, limits, watched, int(port) if port else None
