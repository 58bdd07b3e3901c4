"""From records to figures: medians over repetitions, means and percentiles over inputs, bootstrap intervals.

Pure functions. S and tau are those of section 4.1, an input's turns pooled as in equation 11.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..roots import Roots
from .contenders import PLAIN
from .peers import REFERENCE

ALL, BY_TURNS = "all", "all, by turns"
"""Rows over all inputs, each counting once, and each of their turns counting once (as the paper's Table 2 does)."""
PARTS = ("encode", "prefill", "draft", "verify", "update", "other")
"""Where time goes. "other": decoding beside the three parts of a pass; all of it for peers."""
SLOWER, LONG = 0.97, 32
"""An answer counts as slower than plain decoding below this S; one of fewer tokens than this is not counted there:
noise would decide."""
RESAMPLES = 2000


class Estimate(NamedTuple):
    """A mean over inputs with its 95 % bootstrap interval, which is None for a single input."""

    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Measured:
    """What a method did with one input: medians over repetitions. None: not known of peers."""

    id: str
    category: str
    name: str
    tokens: int
    S: float
    """Tokens per second over those of plain decoding in the same repetition."""
    over: float | None
    """The same over transformers' own greedy generate, where it ran."""
    writing: float | None
    """S of decoding alone: tokens behind the first one of each turn, over seconds of decoding."""
    tau: float | None
    nodes: float | None
    """Packed nodes per pass, the root included."""
    T: float
    """Encoding + prefill + decoding, seconds."""
    rate: float
    """Tokens / T."""
    parts: dict[str, float]
    """Seconds by PARTS."""
    identical: bool
    """The tokens of plain decoding, in every repetition."""
    difference: dict[str, Any] | None
    """Where they first part, in the first repetition that does."""


@dataclass(frozen=True)
class Cell:
    """A method in a category: means over inputs."""

    category: str
    name: str
    inputs: int
    tokens: int
    S: Estimate
    over: Estimate | None
    writing: Estimate | None
    tau: Estimate | None
    nodes: float | None
    rate: float
    ratios: tuple[float, float, float]
    """10th, 50th and 90th percentile of S over inputs (Table 18)."""
    faster: float
    """Share of inputs with S above 1."""
    slower: float | None
    """Share of inputs with S below SLOWER, of those with LONG tokens or more; None where there is none."""
    latency: tuple[float, float, float, float]
    """50th, 90th, 95th and 99th percentile of T, seconds (Table 15)."""
    parts: dict[str, float]
    """Milliseconds per token by PARTS: time of all inputs over tokens of all inputs."""
    identical: int


def measured(records: Sequence[dict[str, Any]]) -> list[Measured]:
    """One for each input and method, in the order of the records. Inputs that could not be asked are left out."""
    rates: Rates = defaultdict(dict)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        if "error" not in record:
            rates[record["repeat"], record["id"]][record["name"]] = record["tokens"] / record["T"], _writing(record)
            groups[record["id"], record["name"]].append(record)
    return [_median(group, rates) for group in groups.values()]


def by_turns(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records as if every turn had been an input of its own."""
    return [turn for record in records if "error" not in record for turn in _turns(record)]


def cells(rows: Sequence[Measured], category: str, seed: int = 0) -> list[Cell]:
    """Each method over these rows, in their order, under the name of a category. `seed` draws the bootstrap resamples,
    which are the same for all methods."""
    groups: dict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        groups[row.name].append(row)
    return [_cell(category, name, group, seed) for name, group in groups.items()]


def by_category(rows: Sequence[Measured]) -> dict[str, list[Measured]]:
    """Rows by category, in order of appearance."""
    groups: dict[str, list[Measured]] = defaultdict(list)
    for row in rows:
        groups[row.category].append(row)
    return dict(groups)


def everything(records: Sequence[dict[str, Any]], seed: int = 0) -> list[Cell]:
    """All cells of a run: by category, then ALL, then BY_TURNS if there are conversations of several turns."""
    rows = measured(records)
    found = [cell for category, group in by_category(rows).items() for cell in cells(group, category, seed)]
    found += cells(rows, ALL, seed)
    if any(len(record.get("turns", ())) > 1 for record in records):
        found += cells(measured(by_turns(records)), BY_TURNS, seed)
    return found


def roots(records: Sequence[dict[str, Any]]) -> list[Roots]:
    """What the image lens found, over all records that have it: groups by accepted length (Figure 1, middle left)."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        for group in record.get("lens", ()):
            groups[group["accepted"]].append(group)
    found = []
    for name in sorted(groups):  # "0", "1-4", "5+"
        count = sum(one["roots"] for one in groups[name])
        changed, dependence = (
            math.fsum(one["roots"] * one[figure] for one in groups[name]) / count for figure in ("changed", "dependence")
        )
        found.append(Roots(name, count, changed, dependence))
    return found


def estimate(values: Sequence[float], seed: int = 0, resamples: int = RESAMPLES) -> Estimate:
    """Mean and percentile bootstrap interval, 95 %, over `resamples` draws of as many values with replacement."""
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    if len(numbers) < 2:
        return Estimate(mean, None, None)
    drawn = np.random.default_rng(seed).integers(0, len(numbers), (resamples, len(numbers)))
    low, high = np.percentile(numbers[drawn].mean(axis=1), [2.5, 97.5])
    return Estimate(mean, float(low), float(high))


def percentiles(values: Sequence[float], which: Sequence[float]) -> tuple[float, ...]:
    """Percentiles 0 to 100, linear between neighbours."""
    return tuple(float(one) for one in np.percentile(np.asarray(values, dtype=np.float64), which))


def _cell(category: str, name: str, rows: list[Measured], seed: int) -> Cell:
    tokens = sum(row.tokens for row in rows)
    long = [row.S < SLOWER for row in rows if row.tokens >= LONG]
    over, writing, tau = (
        [value for row in rows if (value := getattr(row, name)) is not None] for name in ("over", "writing", "tau")
    )
    nodes = [row.nodes for row in rows if row.nodes is not None]
    return Cell(
        category, name, len(rows), tokens, estimate([row.S for row in rows], seed),
        *(estimate(values, seed) if values else None for values in (over, writing, tau)),
        statistics.fmean(nodes) if nodes else None, statistics.fmean(row.rate for row in rows),
        percentiles([row.S for row in rows], (10, 50, 90)), sum(row.S > 1 for row in rows) / len(rows),
        sum(long) / len(long) if long else None, percentiles([row.T for row in rows], (50, 90, 95, 99)),
        {part: 1000.0 * sum(row.parts[part] for row in rows) / tokens for part in PARTS},
        sum(row.identical for row in rows),
    )  # fmt: skip


Rates = dict[tuple[int, str], dict[str, tuple[float, "float | None"]]]
"""By repetition and input, then by name: tokens per second, in all and of decoding alone."""


def _writing(record: dict[str, Any]) -> float | None:
    """Tokens per second of decoding; None of peers, which tell the whole alone, and of answers of one token."""
    later, seconds = record["tokens"] - len(record["turns"]), record["seconds"]["decode"]
    return later / seconds if "verify" in record["seconds"] and later > 0 and seconds > 0 else None


def _median(group: list[dict[str, Any]], rates: Rates) -> Measured:
    first = group[0]

    def median(of: Callable[[dict[str, Any]], float | None]) -> float | None:
        values = [of(record) for record in group]
        return None if None in values else statistics.median(values)

    def ratio(record: dict[str, Any], other: str, which: int = 0) -> float | None:
        beside = rates[record["repeat"], record["id"]]
        ours, theirs = beside[record["name"]][which], beside.get(other, (None, None))[which]
        return ours / theirs if ours is not None and theirs is not None else None

    apart = [record["difference"] for record in group if not record["identical"]]
    return Measured(
        first["id"], first["category"], first["name"], round(statistics.median(r["tokens"] for r in group)),
        median(lambda record: ratio(record, PLAIN)), median(lambda record: ratio(record, REFERENCE)),
        median(lambda record: ratio(record, PLAIN, 1)), median(lambda record: record.get("tau")),
        median(lambda record: record.get("nodes")),
        median(lambda record: record["T"]), median(lambda record: record["tokens"] / record["T"]),
        {part: median(lambda record, part=part: _parts(record)[part]) for part in PARTS},
        not apart, apart[0] if apart else None,
    )  # fmt: skip


def _parts(record: dict[str, Any]) -> dict[str, float]:
    seconds = record["seconds"]
    known = {part: seconds.get(part, 0.0) for part in PARTS[:-1]}
    return known | {"other": seconds["decode"] - known["draft"] - known["verify"] - known["update"]}


def _turns(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for number, turn in enumerate(record["turns"]):
        seconds = turn["seconds"]
        apart = record["difference"]
        differs = apart is not None and apart["turn"] == number
        known = {"tau": 1.0 + turn["accepted"] / turn["passes"] if turn["passes"] else 1.0} if "passes" in turn else {}
        yield {
            "repeat": record["repeat"], "id": f"{record['id']} turn {number + 1}", "category": record["category"],
            "name": record["name"], "tokens": turn["tokens"], "seconds": seconds, "turns": [turn],
            "T": seconds["encode"] + seconds["prefill"] + seconds["decode"], "identical": not differs,
            "difference": apart if differs else None, **known,
        }  # fmt: skip
