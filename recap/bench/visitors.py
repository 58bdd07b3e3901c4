"""Several visitors on one device: their answers pass by pass in turns, against passes that all of them share.

Each visitor has a conversation of their own and asks the first turn of another input. Prompts are read first; measured is
the time from there until the last answer has ended, and the tokens of all answers over it. Both ways take turns as to
which goes first, and the same visitors ask the same every time. The answers are compared token by token.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from ..commands import options as shared
from . import manifest as manifests

METHODS = ("ar", "recap")
Run = tuple[float, list[list[int]]]
"""Tokens per second of all together, and the tokens of each."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--visitors", type=int, nargs="+", default=[1, 2, 4, 8], help="how many at a time (default: 1 2 4 8)")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), metavar="METHOD", help="(default: ar recap)")
    parser.add_argument(
        "--manifest", type=Path, default=manifests.DEFAULT, metavar="FILE|DIR",
        help="as for `bench run`; inputs with pictures are left out (default: those that come with RECAP)",
    )  # fmt: skip
    parser.add_argument("--max-new-tokens", type=int, default=64, help="of each answer (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of both ways, of which medians count (default: %(default)s)")
    shared.add_model(parser)
    shared.add_config(parser)


def run(options: argparse.Namespace) -> int:
    shared.check_counts(options, "max_new_tokens", "rounds")
    if min(options.visitors) < 1:
        raise ValueError(f"--visitors must be 1 or more, got {min(options.visitors)}")
    config = shared.read_config(options)
    found = manifests.read(options.manifest)
    for problem in found.problems:
        print(problem, file=sys.stderr)
    asked = [one.turns[0] for one in found.inputs if not one.images]
    if not asked:
        raise ValueError(f"{found.path} has no input without a picture; name another file with --manifest")
    target = shared.load_model(options)
    target.measure(shared.tell)
    if not target.packs:
        print("This target cannot verify several answers in one pass: both ways are the same.", file=sys.stderr)
    print(f"{'method':16s}{'visitors':>9s}{'in turns':>12s}{'shared':>12s}{'ratio':>8s}   tokens per second, medians of {options.rounds}")
    for method in options.methods:
        for count in options.visitors:
            questions = [asked[at % len(asked)] for at in range(count)]
            ratios, speeds, same = compare(target, questions, method, options.max_new_tokens, config, options.rounds)
            turns, together = map(statistics.median, speeds)
            print(f"{method:16s}{count:9d}{turns:12.1f}{together:12.1f}{statistics.median(ratios):8.2f}"
                  f"   {'the same tokens' if same else 'TOKENS DIFFER'}", flush=True)  # fmt: skip
    return 0


def compare(
    target: Any, questions: Sequence[str], method: str, tokens: int, config: Any, rounds: int
) -> tuple[list[float], tuple[list[float], list[float]], bool]:
    """Of every round shared over in turns, the speeds of both, and whether all answers were the same. One round before them
    is not counted."""
    ways = (in_turns, shared_passes)
    speeds: tuple[list[float], list[float]] = ([], [])
    ratios, known = [], None
    same = True
    for turn in range(rounds + 1):
        runs: dict[int, Run] = {}
        for at in (0, 1) if turn % 2 else (1, 0):
            runs[at] = answer(target, questions, method, tokens, config, ways[at])
            known = known or runs[at][1]
            same = same and runs[at][1] == known
        if turn:
            for at in (0, 1):
                speeds[at].append(runs[at][0])
            ratios.append(runs[1][0] / runs[0][0])
    return ratios, speeds, same


def answer(
    target: Any, questions: Sequence[str], method: str, tokens: int, config: Any, way: Callable[[Any, list[Any]], None]
) -> Run:
    """Everyone asks, with a fresh conversation, and is answered in that way."""
    from ..generation import stream

    streams = [stream(target, one, max_new_tokens=tokens, method=method, config=config) for one in questions]
    try:
        for one in streams:
            one.prefill()
        clock = perf_counter()
        way(target, streams)
        seconds = perf_counter() - clock
    finally:
        for one in streams:
            one.close()
    written = [one.trace.token_ids for one in streams]
    return sum(map(len, written)) / seconds, written


def in_turns(target: Any, streams: list[Any]) -> None:
    """A pass of each, one after the other."""
    while some := [one for one in streams if one.writing]:
        for one in some:
            next(one)


def shared_passes(target: Any, streams: list[Any]) -> None:
    """A pass of all."""
    from ..together import advance

    while some := [one for one in streams if one.writing]:
        for step, _ in advance(target, some):
            if isinstance(step, Exception):
                raise step
