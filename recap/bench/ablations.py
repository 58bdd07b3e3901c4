"""The paper's ablations side by side: tau, S and gains as in Tables 4, 10, 12 and 13, and the weights of Table 17.

All presets that the tables need, and AR, take turns on every question; what a preset keeps across requests is kept over the
file. As in the paper, rows have confidence 1 except in the confidence rows, and the cap of 63 nodes includes suffix nodes.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from ..commands import options as shared
from ..config import RecapConfig
from . import questions
from .presets import COMPARISONS, PRESETS, TABLES
from .replay import EXAMPLES
from .sheets import Table

Records = list[dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", help="questions, a manifest as for `bench run` (default: those that ship)")
    parser.add_argument(
        "--table", action="append", choices=list(TABLES), help="print this table; may be repeated (default: all)"
    )
    parser.add_argument("--max-new-tokens", type=int, default=100, help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many questions")
    parser.add_argument("--repeats", type=int, default=1, help="medians over so many repetitions (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write one record per question and repetition, JSONL")
    shared.add_model(parser)


def run(options: argparse.Namespace) -> int:
    options.file = options.file or str(EXAMPLES)
    asked = questions.read_options(options)
    numbers = options.table or list(TABLES)
    names = list(dict.fromkeys(name for number in numbers for name in TABLES[number][1]))
    from ..generation import generate

    target = shared.load_model(options)
    generate(target, "Hello.", max_new_tokens=8)
    presets = {name: PRESETS[name] for name in names}
    records = questions.repeat(
        options, len(asked), lambda turn: measure(target, asked, presets, options.max_new_tokens, turn)
    )
    about = target.describe()
    where = f"{about['name']} on {about['device']} in {about['dtype']}"
    print(f"{where}, {len(asked)} questions; S against our own AR in this run")
    print("\n\n".join(table.text() for table in report(records, numbers)))
    same = sum(one["identical"] for record in records for one in record["presets"].values())
    print(f"\nsame tokens as AR: {same} of {sum(len(record['presets']) for record in records)} answers")
    return 0


def measure(
    target: Any, asked: list[dict[str, Any]], presets: dict[str, RecapConfig], max_new_tokens: int, turn: int = 0
) -> Iterator[dict[str, Any]]:
    """Once through the questions; yields a record for each: what every preset did, and AR beside it."""
    from ..analysis.trees import of_steps
    from ..generation import compare, generate
    from ..session import Session

    sessions = {"ar": Session(target, "ar")} | {name: Session(target, "recap", one) for name, one in presets.items()}
    names = list(sessions)
    for number, question in enumerate(asked):
        request = dict(prompt=question["prompt"], images=question["images"], max_new_tokens=max_new_tokens)
        first = (number + turn) % len(names)
        traces = {
            name: generate(target, session=sessions[name], **request).trace for name in names[first:] + names[:first]
        }
        plain = traces.pop("ar")
        for session in sessions.values():
            session.reset()
        found = {}
        for name in presets:
            trace = traces[name]
            identical = compare(trace, plain).identical  # S is told from here on
            prep = [step.draft_ms for step in trace.steps]
            found[name] = {
                "identical": identical, "tau": trace.acceptance_length, "S": trace.speedup,
                "tok/s": trace.tokens_per_second, "nodes": _mean([len(step) - 1 for step in trace.steps]),
                "draft ms": _mean(prep), "MiB": max((step.sizes["bytes"] for step in trace.steps), default=0) / 2**20,
            }  # fmt: skip
            if name == "recap":
                calls = of_steps(trace.steps, presets[name])
                found[name]["weights"] = {str(count): values for count, values in calls.items()}
        yield {
            "number": number, "id": question["id"], "category": question["category"], "tokens": len(plain.token_ids),
            "presets": found,
        }  # fmt: skip


def report(records: Records, numbers: Sequence[str]) -> list[Table]:
    """The tables, by number (see `presets.TABLES`), from the records of `measure`: means over questions of medians over
    repetitions. A gain is 100 x (mean over questions of the ratio of tokens per second - 1), in percent (appendix B)."""
    inputs = _medians(records)
    made = []
    for number in numbers:
        title, names = TABLES[number]
        made.append(_pairs(inputs, title) if number == "4" else _against(inputs, title, names, number))
        if number == "10":
            made[-1] = _budgets(inputs, title, names)
    sums = [record["presets"]["recap"]["weights"] for record in records if "recap" in record["presets"]]
    if sums:
        from .replay_tables import weight_table

        total = {count: [sum(one[str(count)][at] for one in sums) for at in range(count + 1)] for count in (2, 3)}
        made.append(weight_table({"recap": total}, "Table 17: mean fusion weights over the calls of draft trees"))
    return made


def gain(inputs: Sequence[dict[str, dict[str, float]]], ours: str, reference: str) -> float:
    """Percent by which one preset's tokens per second exceed another's, paired by question."""
    return 100 * (statistics.fmean(one[ours]["tok/s"] / one[reference]["tok/s"] for one in inputs) - 1)


def _pairs(inputs: Sequence[Any], title: str) -> Table:
    rows = []
    for one in COMPARISONS:
        tau = [_mean([found[name]["tau"] for found in inputs]) for name in (one.reference, one.ours)]
        speed = [_mean([found[name]["S"] for found in inputs]) for name in (one.reference, one.ours)]
        rows.append([one.label, one.part, *tau, *speed, gain(inputs, one.ours, one.reference)])
    return Table("table4", title, ["comparison", "", "tau before", "after", "S before", "after", "gain (%)"], rows)


def _against(inputs: Sequence[Any], title: str, names: Sequence[str], number: str) -> Table:
    rows = [
        [name, *(_mean([one[name][figure] for one in inputs]) for figure in ("S", "tau", "nodes")),
         gain(inputs, name, names[0])]
        for name in names
    ]  # fmt: skip
    return Table(f"table{number}", title, ["", "S", "tau", "nodes", f"gain over {names[0]} (%)"], rows)


def _budgets(inputs: Sequence[Any], title: str, names: Sequence[str]) -> Table:
    rows = []
    for name in names:
        prep = sorted(one[name]["draft ms"] for one in inputs)
        p95 = statistics.quantiles(prep, n=20, method="inclusive")[-1] if len(prep) > 1 else prep[0]
        rows.append(
            [f"cap {PRESETS[name].max_nodes}", _mean([one[name]["nodes"] for one in inputs]), _mean(prep), p95,
             max(one[name]["MiB"] for one in inputs),
             *(_mean([one[name][figure] for one in inputs]) for figure in ("S", "tau"))]
        )  # fmt: skip
    return Table("table10", title, ["", "nodes", "draft ms", "p95 ms", "host MiB", "S", "tau"], rows)


def _medians(records: Records) -> list[dict[str, dict[str, float]]]:
    """Per question and preset the medians over its repetitions."""
    repeated = defaultdict(list)
    for record in records:
        repeated[record["number"]].append(record["presets"])
    figures = ("tau", "S", "tok/s", "nodes", "draft ms", "MiB")
    return [
        {
            name: {figure: statistics.median(found[name][figure] for found in group) for figure in figures}
            for name in group[0]
        }
        for group in repeated.values()
    ]


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values) if values else 0.0
