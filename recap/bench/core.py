"""The drafting core by itself: host time per pass (the paper's Table 9) and a full U (Table 11)."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from time import perf_counter_ns

import numpy as np

from ..config import FUSIONS, RecapConfig
from ..drafter import BACKENDS, Draft, Drafter

CAPS = (31, 63, 127)
OCCUPANCIES = (1_000, 10_000, 32_064, 152_064)
PHASES = ("suffix lookup", "lookup, fusion, search", "packing", "memory refresh", "index update", "commit")
PAPER_MS = {"suffix lookup": 0.010, "lookup, fusion, search": 0.506, "packing": 0.391, "memory refresh": 0.461}
PAPER_MS |= {"index update": 0.027, "commit": 0.256}
"""Table 9, Qwen2.5-VL-7B at 63 nodes, wall milliseconds."""
PAPER_FULL = {1_000: (0.67, 109), 10_000: (7.03, 141), 32_064: (23.36, 183), 152_064: (109.14, 386)}
"""Table 11: rows -> host MiB, lookup nanoseconds."""
TARGET_MS, TARGET_MIB, TARGET_NS = 0.15, 12.0, 60.0
"""At 63 nodes without commit, as the paper's comparable 1.395 ms; at 152,064 rows."""


class MarkovText:
    """A second-order Markov language: the next token's distribution depends on the last two tokens.

    Rows are computed from a hash of those two, so that any node of a draft tree gets its true row. Eleven tokens can
    follow a given one and rows are peaked, so phrases recur and contexts of two and three tokens are found again often.
    """

    VOCABULARY, FOLLOWERS = 97, 11  # primes: steps through them never repeat within a row

    def __init__(self, top_k: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.ranks = np.arange(top_k)

    def rows(self, before: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, K) ids and float32 logits after the token pairs (before, last)."""
        mixed = (before.astype(np.uint64) * 1_000_003 + last.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        start, step, sharpness = ((mixed >> np.uint64(shift)).astype(np.int64)[:, None] for shift in (40, 24, 56))
        follower = (start + (step % (self.FOLLOWERS - 1) + 1) * self.ranks) % self.FOLLOWERS
        ids = (last[:, None] * 13 + follower * 29) % self.VOCABULARY
        logits = -(self.ranks**0.7) * (1.0 + 4.0 * sharpness / 255.0)
        return ids, logits.astype(np.float32)

    def draw(self, ids: np.ndarray, logits: np.ndarray) -> int:
        weights = np.exp(logits - logits.max(), dtype=np.float64)
        return int(self.random.choice(ids, p=weights / weights.sum()))

    def write(self, count: int) -> list[int]:
        text = [1, 2]
        while len(text) < count:
            ids, logits = self.rows(np.array(text[-2:-1]), np.array(text[-1:]))
            text.append(self.draw(ids[0], logits[0]))
        return text


@dataclass
class PassTimes:
    """Milliseconds per pass, medians over the passes after warm-up, and what the stream was like."""

    backend: str
    fusion: str
    max_nodes: int
    passes: int
    nodes: float
    acceptance_length: float
    found: dict[str, float]
    """Share of nodes whose parent had a row in G, C, U."""
    phases: dict[str, float]
    total_median: float
    total_mean: float
    total_p95: float


def _passes(
    drafter: Drafter, text: MarkovText, requests: int, passes: int, weights: np.ndarray
) -> Iterator[tuple[list[int], Draft, int]]:
    """Decode: per pass the six phases in nanoseconds, the draft and the number of accepted nodes. Reading `weights`
    stands for the target's pass, which leaves nothing of the drafter in the processor's caches."""
    core_times = getattr(drafter._core, "_times", lambda: (0, 0, 0, 0, 0))
    for _ in range(requests):
        prompt = text.write(300)
        drafter.begin(prompt)
        pairs = np.array(prompt)
        drafter.seed(pairs[1:], *text.rows(pairs[:-1], pairs[1:]))
        drafter.commit([text.draw(*(part[0] for part in text.rows(pairs[-2:-1], pairs[-1:])))])
        before_root = prompt[-1]
        for _ in range(passes):
            before = core_times()
            start = perf_counter_ns()
            tree = drafter.draft()
            drafted = perf_counter_ns() - start
            above = np.where(tree.parents < 0, before_root, tree.tokens[tree.parents])
            weights.sum()
            ids, logits = text.rows(above, tree.tokens)
            start = perf_counter_ns()
            drafter.observe(ids, logits)
            observed = perf_counter_ns() - start
            at, committed = 0, []
            while True:
                token = text.draw(ids[at], logits[at])
                committed.append(token)
                children = np.flatnonzero((tree.parents == at) & (tree.tokens == token))
                if not len(children):
                    break
                at = int(children[0])
            start = perf_counter_ns()
            drafter.commit(committed)
            spent = perf_counter_ns() - start
            before_root = committed[-2] if len(committed) > 1 else int(tree.tokens[0])
            suffix, search, _, _, index = (now - then for now, then in zip(core_times(), before))
            yield [suffix, search, drafted - suffix - search, observed, index, spent - index], tree, len(committed) - 1


def time_passes(backend: str, fusion: str, max_nodes: int, requests: int, passes: int, cold_mib: int = 0) -> PassTimes:
    """Time one stream, with `cold_mib` MiB read between drafting and observing. The Python twin has no timers inside:
    all of drafting counts as packing, all of commit as commit."""
    drafter = Drafter(RecapConfig(fusion=fusion, max_nodes=max_nodes), backend=backend)
    if drafter.backend == "c":
        drafter._core._timing(True)
    text = MarkovText(drafter.config.top_k, seed=17)
    read = np.ones(cold_mib * 2**17)
    for _ in _passes(drafter, text, 1, passes, read):
        pass  # warm-up
    seen = list(_passes(drafter, text, requests, passes, read))
    times = np.array([row for row, _, _ in seen]) / 1e6
    totals = times.sum(axis=1)
    weights = np.concatenate([tree.weights[1 : tree.suffix_start] for _, tree, _ in seen])
    return PassTimes(
        drafter.backend,
        fusion,
        max_nodes,
        len(seen),
        float(np.mean([len(tree) - 1 for _, tree, _ in seen])),
        1 + float(np.mean([accepted for _, _, accepted in seen])),
        {name: float(share) for name, share in zip("GCU", (weights > 0).mean(axis=0))},
        dict(zip(PHASES, np.median(times, axis=0).tolist())),
        float(np.median(totals)),
        float(totals.mean()),
        float(np.quantile(totals, 0.95)),
    )


@dataclass
class Occupancy:
    """A U of so many rows in a fresh process."""

    backend: str
    rows: int
    allocated_mib: float
    rss_mib: float | None
    lookup_ns: float | None
    lookup_best_ns: float | None
    draft_ms: float
    checksum: int | None


def _resident() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def fill(backend: str, count: int, repeats: int = 7, lookups: int = 100_000) -> Occupancy:
    """Fill U with `count` synthetic rows; time seeded lookups inside C and 63-node drafts (both median of repeats)."""
    random = np.random.default_rng(29)
    drafter = Drafter(backend=backend)
    k = drafter.config.top_k
    keys = random.permutation(count)
    wanted = random.integers(0, count, lookups).astype(np.int32)

    def seed(drafter: Drafter, part: np.ndarray) -> None:
        ids = (random.integers(0, count, (len(part), 1)) + np.arange(k) * 97) % count
        drafter.seed(part, ids, random.normal(0, 2, (len(part), k)).astype(np.float32))

    other = Drafter(backend=backend)  # so that the RSS before already holds what seeding itself needs
    other.begin([0])
    seed(other, keys[:1000])
    drafter.begin([0])
    before = _resident()
    for start in range(0, count, 2000):
        seed(drafter, keys[start : start + 2000])
    after = _resident()
    drafter.commit([0])
    stats = drafter.stats()
    if stats["U"] != count:
        raise RuntimeError(f"U holds {stats['U']} rows instead of {count}")
    lookup, best, checksum = None, None, None
    if drafter.backend == "c":
        runs = [drafter._core._time_lookups(wanted) for _ in range(repeats)]
        if any(hits != lookups for _, hits, _ in runs) or len({run[1:] for run in runs}) != 1:
            raise RuntimeError("lookups missed rows or read different ones")
        lookup = statistics.median(spent for spent, *_ in runs) / lookups
        best = min(spent for spent, *_ in runs) / lookups
        checksum = runs[0][2]
    drafts = []
    for root in wanted[:128]:
        drafter.commit([int(root)])
        start = perf_counter_ns()
        drafter.draft()
        drafts.append(perf_counter_ns() - start)
    rss = None if before is None else (after - before) / 2**20
    draft_ms = statistics.median(drafts) / 1e6
    return Occupancy(drafter.backend, count, stats["bytes"] / 2**20, rss, lookup, best, draft_ms, checksum)


def fill_apart(backend: str, count: int) -> Occupancy:
    """`fill` in a fresh process, so that RSS growth is that of the rows."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(fill, backend, count).result()


def _verdict(value: float, target: float) -> str:
    return "reached" if value <= target else "MISSED"


def print_passes(results: list[PassTimes]) -> None:
    print("Host time per pass, median milliseconds (mean and 95th percentile of the sum below)")
    heads = [f"{result.fusion} {result.max_nodes}" for result in results]
    print(f"{'':26}{'paper 63':>12}" + "".join(f"{head:>16}" for head in heads))
    for phase in PHASES:
        print(f"{phase:26}{PAPER_MS[phase]:12.3f}" + "".join(f"{result.phases[phase]:16.4f}" for result in results))
    paper = sum(ms for phase, ms in PAPER_MS.items() if phase != "commit")
    print(f"{'sum without commit':26}{paper:12.3f}" + "".join(
        f"{sum(ms for phase, ms in result.phases.items() if phase != 'commit'):16.4f}" for result in results))
    for label, name in (("sum, median", "total_median"), ("sum, mean", "total_mean"), ("sum, p95", "total_p95")):
        paper_sum = f"{sum(PAPER_MS.values()):12.3f}" if name == "total_mean" else " " * 12
        print(f"{label:26}{paper_sum}" + "".join(f"{getattr(result, name):16.4f}" for result in results))
    print(f"{'nodes':38}" + "".join(f"{result.nodes:16.1f}" for result in results))
    print(f"{'acceptance length':38}" + "".join(f"{result.acceptance_length:16.2f}" for result in results))
    for name in "GCU":
        print(f"{'rows found in ' + name:38}" + "".join(f"{result.found[name]:16.0%}" for result in results))
    for result in results:
        if result.max_nodes == 63:
            comparable = sum(ms for phase, ms in result.phases.items() if phase != "commit")
            print(f"63 nodes, {result.fusion}: {comparable:.4f} ms of {TARGET_MS} ms, {_verdict(comparable, TARGET_MS)}"
                  f" (with commit {result.total_median:.4f})")


def print_occupancies(results: list[Occupancy]) -> None:
    print("\nU at capacity, a fresh process each (paper: Qwen at 1,000, 10,000, 152,064; LLaVA at 32,064)")
    print(f"{'rows':>9}{'MiB':>9}{'paper':>9}{'RSS MiB':>9}{'lookup ns':>11}{'best':>7}{'paper':>7}{'draft ms':>10}")
    for result in results:
        mib, ns = PAPER_FULL[result.rows]
        rss = "-" if result.rss_mib is None else f"{result.rss_mib:.2f}"
        lookup = "-" if result.lookup_ns is None else f"{result.lookup_ns:.1f}"
        best = "-" if result.lookup_best_ns is None else f"{result.lookup_best_ns:.1f}"
        print(f"{result.rows:9,}{result.allocated_mib:9.2f}{mib:9.2f}{rss:>9}{lookup:>11}{best:>7}{ns:7}"
              f"{result.draft_ms:10.4f}")
    full = results[-1]
    print(f"full: {full.allocated_mib:.2f} MiB of {TARGET_MIB:g}, {_verdict(full.allocated_mib, TARGET_MIB)}", end="")
    if full.lookup_ns is not None:
        print(f"; {full.lookup_ns:.1f} ns of {TARGET_NS:g}, {_verdict(full.lookup_ns, TARGET_NS)}", end="")
    print()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", choices=BACKENDS, default="auto")
    parser.add_argument("--fusion", choices=FUSIONS, nargs="+", default=["entropy", "prior"])
    parser.add_argument("--requests", type=int, default=10, help="requests per stream, after one for warm-up")
    parser.add_argument("--passes", type=int, default=60, help="passes per request")
    parser.add_argument("--cold", type=int, default=0, metavar="MIB",
                        help="read this much memory between drafting and observing, as a target's pass would")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers here")


def run(args: argparse.Namespace) -> int:
    results = [
        time_passes(args.backend, fusion, cap, args.requests, args.passes, args.cold)
        for fusion in args.fusion
        for cap in CAPS
    ]
    print(f"backend {results[0].backend}, Python {platform.python_version()}, {platform.machine()}, "
          f"{os.cpu_count()} cores\n")
    print_passes(results)
    occupancies = [fill_apart(args.backend, count) for count in OCCUPANCIES]
    print_occupancies(occupancies)
    if args.json:
        numbers = {"passes": [asdict(result) for result in results], "full": [asdict(item) for item in occupancies]}
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(numbers, file, indent=1)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m recap.bench.core", description=__doc__)
    add_arguments(parser)
    sys.exit(run(parser.parse_args()))
