"""Acceptance length, speed and equality with plain decoding on a JSONL file of prompts.

The methods, each with each budget, and AR run side by side on every prompt, in turns which of them goes first; what a
method keeps across requests is kept over the file, as in the paper. `--repeats` goes through the whole file again, each
time with empty memories.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..commands import options as shared
from ..config import BUDGETS, RecapConfig
from ..methods import AUTO_METHODS, METHODS
from . import questions

SLOWER = 0.97
"""An answer counts as slower than plain decoding below this S."""
_LONG = 32
"""Tokens from which on an answer is counted there: in shorter ones noise decides."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    questions.add_arguments(parser)
    parser.add_argument(
        "--budget", action="append", choices=BUDGETS, help="measure this budget only; may be repeated (default: all)"
    )
    parser.add_argument(
        "--method", action="append", choices=[one for one in METHODS if one != "ar"],
        help="measure this method; may be repeated (default: recap). Only the budget \"paper\" where \"auto\" has no say",
    )  # fmt: skip
    shared.add_model(parser)
    shared.add_config(parser)


def run(options: argparse.Namespace) -> int:
    asked = questions.read_options(options)
    config = shared.read_config(options)
    contenders = {
        (f"budget {budget}" if method == "recap" else f"{method} {budget}"): (method, budget)
        for method in options.method or ["recap"]
        for budget in options.budget or BUDGETS
        if budget == "paper" or method in AUTO_METHODS
    }
    if not contenders:
        raise ValueError(f"the budget \"auto\" has no say over {', '.join(options.method)}; use --budget paper")
    from ..generation import generate

    target = shared.load_model(options)
    generate(target, "Hello.", max_new_tokens=8)
    records = questions.repeat(
        options, len(asked), lambda turn: measure(target, asked, config, contenders, options.max_new_tokens, turn)
    )
    print(report(records, list(contenders), target.describe()))
    return 0


def measure(
    target: Any, asked: list[dict[str, Any]], config: RecapConfig,
    contenders: dict[str, tuple[str, str]], max_new_tokens: int, turn: int = 0,
) -> Iterator[dict[str, Any]]:
    """Once through the questions: yields a record for each, with what every contender, a method with a budget, did and
    what AR took beside it."""
    from ..generation import compare, generate
    from ..session import Session

    # AR has a session too: a session knows the pictures that it has seen, and a file may ask about one twice
    sessions = {"ar": Session(target, "ar")}
    sessions |= {
        name: Session(target, method, config.replace(budget=budget)) for name, (method, budget) in contenders.items()
    }
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
        compared = {name: compare(trace, plain) for name, trace in traces.items()}
        yield {
            "number": number, "id": question["id"], "category": question["category"], "tokens": len(plain.token_ids),
            "tok/s": plain.tokens_per_second, "identical": all(one.identical for one in compared.values()),
            "contenders": {
                name: {
                    "tau": trace.acceptance_length, "S": trace.speedup, "tok/s": trace.tokens_per_second,
                    "nodes": statistics.fmean(map(len, trace.steps)) if trace.steps else 1.0,
                    "seeded": trace.seeded_rows, "first_difference": compared[name].first_difference,
                }
                for name, trace in traces.items()
            },
        }  # fmt: skip


def report(records: list[dict[str, Any]], contenders: list[str], model: dict[str, Any]) -> str:
    """A table by category: per contender tau, S, nodes per pass and the share of answers slower than plain decoding. Means
    over inputs, as tau and S are defined, of medians over repetitions; tokens per second are AR's own."""
    medians = _medians(records, contenders)
    groups = defaultdict(list)
    for record in medians:
        groups[record["category"]].append(record)
    columns = "".join(f"{'tau':>8s}{'S':>6s}{'nodes':>7s}{'slower':>8s}" for _ in contenders)
    titles = "".join(f"{name:>29s}" for name in contenders)
    lines = [
        f"{model['name']} on {model['device']} in {model['dtype']}; S against our own AR in the same run; slower: share of "
        f"the answers of {_LONG} tokens or more with S below {SLOWER}",
        f"{'':54s}{titles}",
        f"{'category':26s}{'inputs':>7s}{'tokens':>8s}{'AR tok/s':>10s}   {columns}{'identical':>11s}",
    ]
    for category, group in [*sorted(groups.items()), ("all", medians)]:
        line = f"{category:26s}{len(group):7d}{sum(record['tokens'] for record in group):8d}"
        line += f"{statistics.fmean(record['tok/s'] for record in group):10.1f}   "
        for name in contenders:
            tau, speed, nodes = (
                statistics.fmean(record[name][figure] for record in group) for figure in ("tau", "S", "nodes")
            )
            line += f"{tau:8.2f}{speed:6.2f}{nodes:7.1f}{_slower(group, name):>8s}"
        same = sum(record["identical"] for record in group)
        lines.append(f"{line}{same:7d}/{len(group)}")
    return "\n".join(lines)


def _medians(records: list[dict[str, Any]], contenders: list[str]) -> list[dict[str, Any]]:
    """One record per prompt, numbers being medians over its repetitions; identical: in all of them."""
    repeated = defaultdict(list)
    for record in records:
        repeated[record["number"]].append(record)
    return [
        {
            "category": group[0]["category"], "tokens": group[0]["tokens"],
            "tok/s": statistics.median(record["tok/s"] for record in group),
            "identical": all(record["identical"] for record in group),
            **{
                name: {
                    figure: statistics.median(record["contenders"][name][figure] for record in group)
                    for figure in ("tau", "S", "nodes")
                }
                for name in contenders
            },
        }
        for group in repeated.values()
    ]  # fmt: skip


def _slower(group: list[dict[str, Any]], contender: str) -> str:
    long = [record[contender]["S"] < SLOWER for record in group if record["tokens"] >= _LONG]
    return f"{sum(long) / len(long):.0%}" if long else "-"
