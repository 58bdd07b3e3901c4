"""What a pass of the built-in model costs by its number of nodes: torch against the compiled passes.

Contenders take turns pass by pass, so that all of them meet the same machine; the median and the best of their turns
are printed. A pass counts as the decoding loop pays for it: evaluation and the 8 largest logits of every node.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

NODES = (1, 2, 4, 8, 16, 24, 32, 48, 64)
CONTENDERS = ("torch-float32", "torch-bfloat16", "compiled-4-byte", "compiled")
DEFAULT = ("torch-float32", "compiled-4-byte", "compiled")
TOP_K = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES, help="(default: %(default)s)")
    parser.add_argument("--prefix", type=int, default=160, help="tokens in the cache before (default: %(default)s)")
    parser.add_argument("--prefill", type=int, default=400, help="tokens of a prompt, 0: none (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each contender (default: %(default)s)")
    parser.add_argument(
        "--contenders", nargs="+", choices=CONTENDERS, default=DEFAULT,
        help="compiled-4-byte: the same kernels with weights kept as float32 (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's own choice)")
    parser.add_argument("--json", metavar="FILE", help="also write the milliseconds of every turn here")


def run(options: argparse.Namespace) -> int:
    if min((*options.nodes, options.rounds, options.prefix)) < 1 or options.prefill < 0:
        raise ValueError("nodes, rounds and prefix must be 1 or more, and prefill 0 or more")
    if options.threads is not None and options.threads < 1:
        raise ValueError(f"threads must be 1 or more, got {options.threads}")
    import torch

    if options.threads:
        torch.set_num_threads(options.threads)
    targets = {name: load(name) for name in options.contenders}
    for name, target in targets.items():
        print(f"{name:16s}{target.runtime.describe()}")
    rate = read_rate()
    print(f"memory is read at {rate / 1e9:.1f} GB/s: at that rate 269 MB of weights take {269e6 / rate * 1e3:.1f} ms")
    print(f"milliseconds, median (best) of {options.rounds} turns behind {options.prefix} tokens\n")
    print(f"{'nodes':16s}" + "".join(f"{name:>20s}" for name in targets))
    record: dict[str, dict[str, list[float]]] = {}
    jobs = [(str(nodes), pass_jobs(targets, nodes, options.prefix)) for nodes in options.nodes]
    if options.prefill:
        jobs.append((f"prefill of {options.prefill}", prefill_jobs(targets, options.prefill)))
    for label, made in jobs:
        record[label] = in_turns(made, options.rounds)
        cells = (f"{statistics.median(times):.1f} ({min(times):.1f})" for times in record[label].values())
        print(f"{label:16s}" + "".join(f"{cell:>20s}" for cell in cells), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"read GB/s": rate / 1e9, "milliseconds": record}, file, indent=1)
    return 0


def load(name: str) -> Any:
    """The built-in target that a contender's name stands for."""
    from ..targets import cpu
    from ..targets.builtin import BuiltinTarget
    from ..targets.builtin.language_model import open_language_model

    if name.startswith("torch"):
        return BuiltinTarget.load("cpu", name.removeprefix("torch-"), passes="torch")
    checkpoint, tokenizer = open_language_model()
    runtime = cpu.Passes(checkpoint, wide=name == "compiled-4-byte")
    return BuiltinTarget(checkpoint, tokenizer, runtime=runtime)


def read_rate() -> float:
    """Bytes per second at which torch adds up an array that no cache holds, best of 5."""
    import torch

    numbers = torch.ones(64 << 20)
    return 4 * len(numbers) / 1e-3 / min(in_turns({"read": lambda: numbers.sum()}, 5)["read"])


def pass_jobs(targets: dict[str, Any], nodes: int, prefix: int) -> dict[str, Callable[[], Any]]:
    """For each contender one pass over the same random tree, whose nodes have few children and many depths."""
    random = np.random.default_rng(nodes)
    depths, mask = np.zeros(nodes, np.int64), np.eye(nodes, dtype=bool)
    for node in range(1, nodes):
        parent = random.integers(max(0, node - 4), node)
        depths[node] = depths[parent] + 1
        mask[node] |= mask[parent]
    ids = random.integers(100, 40_000, prefix + nodes)
    jobs = {}
    for name, target in targets.items():
        cache = target.new_cache()
        target.runtime.prefill(ids[:prefix], cache)
        jobs[name] = lambda target=target, cache=cache: target.verify(ids[prefix:], depths, mask, cache, 0).top(TOP_K)
    return jobs


def prefill_jobs(targets: dict[str, Any], tokens: int) -> dict[str, Callable[[], Any]]:
    """For each contender the evaluation of a prompt and its first token, without seeding."""
    ids = np.random.default_rng(0).integers(100, 40_000, tokens)

    def job(target: Any) -> Any:
        return target.predict(target.runtime.prefill(ids, target.new_cache())[-1:]).choices()

    return {name: lambda target=target: job(target) for name, target in targets.items()}


def in_turns(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every turn, after one turn each that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, job in jobs.items():
            begin = perf_counter()
            job()
            if turn:
                times[name].append(1000.0 * (perf_counter() - begin))
    return times
