"""What looking costs the built-in model: opening a picture, looking at it, and all of it until the first token, in seconds.

Wall and processor time, of every part the turn that took the least processor time: other programs make a part wait, and its
processor time less so. "first token" opens and looks once more, in a session that remembers nothing, and reads the prompt.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

QUESTION = "What does the picture show?"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pictures", nargs="+", metavar="PICTURE", help="files to look at")
    parser.add_argument("--turns", type=int, default=3, help="times that each is looked at (default: %(default)s)")
    parser.add_argument("--question", default=QUESTION, help="(default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    if options.turns < 1:
        raise ValueError(f"turns must be 1 or more, got {options.turns}")
    import recap

    target = recap.load_target("builtin")
    target.warm_up()
    print(f"{target.runtime.describe()}; {os.cpu_count()} cores; load before: {_load()}")
    print(f"\n{'picture':28s}{'part':>16s}{'wall s':>9s}{'CPU s':>9s}")
    for path in options.pictures:
        turns = [_turn(target, path, options.question) for _ in range(options.turns)]
        for part in turns[0]:
            wall, cpu = min((turn[part] for turn in turns), key=lambda taken: taken[1])
            print(f"{os.path.basename(path)[:27]:28s}{part:>16s}{wall:9.2f}{cpu:9.2f}", flush=True)
    print(f"\nload after: {_load()}; peak memory {_peak()}")
    return 0


def _turn(target: Any, path: str, question: str) -> dict[str, tuple[float, float]]:
    """Wall and processor seconds of each part."""
    import recap

    taken: dict[str, tuple[float, float]] = {}
    opened = _timed(taken, "open", lambda: target.open(path))
    _timed(taken, "look", lambda: target.see(opened))
    answers: list[Any] = []

    def ask() -> None:
        answers.append(recap.stream(target, question, images=[path], max_new_tokens=8))
        next(answers[0])

    _timed(taken, "first token", ask)
    answers[0].close()
    return taken


def _timed(taken: dict[str, tuple[float, float]], part: str, work: Callable[[], Any]) -> Any:
    wall, cpu = perf_counter(), process_time()
    made = work()
    taken[part] = perf_counter() - wall, process_time() - cpu
    return made


def _peak() -> str:
    try:
        import resource
    except ImportError:  # Windows
        return "unknown"
    unit = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9:.2f} GB"


def _load() -> str:
    """Of the machine over the last minute, this program included."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
