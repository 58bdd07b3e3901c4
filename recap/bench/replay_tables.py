"""The paper's tables from the records of a replay."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

from ..analysis.bootstrap import interval
from ..analysis.recall import REFERENCE, RULES, SOURCES
from ..analysis.trees import CAPS, POLICIES
from .sheets import Table

Record = dict[str, Any]


def tables(result: dict[str, Any]) -> list[Table]:
    """All of them, rows by category and over all inputs; means weight states within each, as in the paper."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in result["inputs"]:
        groups[record["category"] or "-"].append(record)
    parts = {**dict(sorted(groups.items())), "all": result["inputs"]} if len(groups) > 1 else {"all": result["inputs"]}
    return [
        coverage(parts), recall(parts), disagreement(parts), both(parts), lengths(parts), suffix(parts),
        budget(result["inputs"]), weights(parts), growth(result["growth"]),
    ]  # fmt: skip


def coverage(parts: dict[str, list[Record]]) -> Table:
    rows = []
    for name, group in parts.items():
        states = _sum(group, "states")
        covered = {one: _sum(group, "sources", one, "covered") for one in SOURCES}
        hits = {one: _sum(group, "sources", one, "hits") for one in SOURCES}
        rows.append(
            [name, states, *(_percent(covered[one], states) for one in SOURCES),
             *(_percent(hits[one], covered[one]) for one in SOURCES)]
        )  # fmt: skip
    columns = ["category", "states", *(f"coverage {one}" for one in SOURCES), *(f"recall {one}" for one in SOURCES)]
    title = "Figure 3(a), Table 5: query coverage and conditional Recall@8 in %, memories empty at the start"
    return Table("coverage", title, columns, rows)


def recall(parts: dict[str, list[Record]]) -> Table:
    rows = []
    for name, group in parts.items():
        states = _sum(group, "states")
        level = _percent(_sum(group, "rules", "hits", REFERENCE), states)
        rows.append(
            [name, states, level, *(
                _minus(_percent(_sum(group, "rules", "hits", rule), states), level) for rule in RULES if rule != REFERENCE
            )]
        )  # fmt: skip
    columns = ["category", "states", f"{REFERENCE} (%)", *(rule for rule in RULES if rule != REFERENCE)]
    title = f"Table 14: all-query Recall@8, changes against {REFERENCE} in percentage points; U seeded from the prompt"
    return Table("recall", title, columns, rows)


def disagreement(parts: dict[str, list[Record]]) -> Table:
    rows = []
    for name, group in parts.items():
        counts = [record["rules"]["disagreement"]["states"] for record in group]
        ours, gate = (
            [record["rules"]["disagreement"][rule] for record in group] for rule in ("recap", "confidence gate")
        )
        states = sum(counts)
        limits = interval(
            [record["cluster"] for record in group], [100 * (one - other) for one, other in zip(ours, gate)], counts
        )
        values = [_percent(sum(ours), states), _percent(sum(gate), states)]
        rows.append([name, states, *values, _minus(*values), *(limits or (None, None))])
    title = (
        "Table 16: Recall@8 in % where at least two rows found have different Top-1 tokens; 95 % interval of 2,000 paired "
        "bootstrap resamples of pictures"
    )
    columns = ["category", "states", "recap", "confidence gate", "difference", "from", "to"]
    return Table("disagreement", title, columns, rows)


def both(parts: dict[str, list[Record]]) -> Table:
    rows = []
    for name, group in parts.items():
        states = _sum(group, "rules", "both", "states")
        values = [_percent(_sum(group, "rules", "both", one), states) for one in ("G", "U")]
        rows.append([name, states, *values, _minus(*values)])
    title = "Section 5.2: Recall@8 in % where G and U both have a row; U seeded from the prompt"
    return Table("both", title, ["category", "states", "G", "U", "difference"], rows)


def lengths(parts: dict[str, list[Record]]) -> Table:
    rows = []
    for name, group in parts.items():
        states = _sum(group, "states")
        sums = [_sum(group, "policies", "matched", policy) for policy in POLICIES]
        rows.append([name, states, _sum(group, "policies", "nodes") / states, *(one / states for one in sums)])
    title = "Table 6: matched continuation length at equal node counts, memories empty at the start"
    return Table("lengths", title, ["category", "states", "nodes", *POLICIES], rows, digits=3)


def suffix(parts: dict[str, list[Record]]) -> Table:
    rows = []
    for name, group in parts.items():
        states = _sum(group, "states")
        before, after = (_sum(group, "suffix", "matched", one) / states for one in ("fusion", "+ suffix"))
        first = _percent(_sum(group, "suffix", "first"), states)
        rows.append([name, states, _sum(group, "suffix", "nodes") / states, before, after, after - before, first])
    title = "Table 7, offline: matched length at equal node counts, U seeded from the prompt; first-token hits added"
    columns = ["category", "states", "nodes", "fusion", "+ suffix", "difference", "first (%)"]
    return Table("suffix", title, columns, rows, digits=3)


def budget(records: list[Record]) -> Table:
    states, rows = _sum(records, "states"), []
    for cap in map(str, CAPS):
        each = [record["budgets"][cap]["ms"] / record["states"] for record in records]
        rows.append(
            [f"cap {cap}", *(_sum(records, "budgets", cap, figure) / states for figure in ("nodes", "matched", "ms")),
             _quantile(each, 0.95),
             max(record["budgets"][cap]["bytes"] for record in records) / 2**20]
        )  # fmt: skip
    title = (
        "Table 10, offline: drafts under a cap that includes suffix nodes, U seeded from the prompt; p95 of the inputs' mean "
        "times"
    )
    return Table("budget", title, ["", "nodes", "matched", "draft ms", "p95 ms", "host MiB"], rows, digits=3)


def weights(parts: dict[str, list[Record]]) -> Table:
    sums = {}
    for name, group in parts.items():
        sums[name] = {
            count: [sum(record["weights"][str(count)][at] for record in group) for at in range(count + 1)]
            for count in (2, 3)
        }
    title = "Table 17, offline: mean fusion weights over the calls of draft trees, by the number of rows found"
    return weight_table(sums, title)


def weight_table(sums: dict[str, dict[int, list[float]]], title: str) -> Table:
    """From `trees.calls` by the name of a row."""
    rows: list[list[Any]] = []
    for name, found in sums.items():
        row: list[Any] = [name]
        for count in (2, 3):
            calls, *totals = found[count]
            row += [int(calls), *(total / calls if calls else None for total in totals)]
        rows.append(row)
    return Table("weights", title, ["", "calls", "w1", "w2", "calls", "w1", "w2", "w3"], rows, digits=3)


def growth(points: list[dict[str, Any]]) -> Table:
    rows = [
        [str(point["requests"]), *(point["keys"][one] for one in ("mean", "least", "most")),
         *(point["bytes"][one] / 2**20 for one in ("mean", "least", "most"))]
        for point in points
    ]  # fmt: skip
    title = "Figure 5: persistent U over cyclic replay, three orders; allocated, in pages of 1,024 rows"
    return Table("growth", title, ["requests", "keys", "least", "most", "MiB", "least", "most"], rows)


def _sum(records: list[Record], *path: str) -> int:
    total = 0
    for record in records:
        value: Any = record
        for key in path:
            value = value[key]
        total += value
    return total


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def _minus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _quantile(values: list[float], share: float) -> float:
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[round(100 * share) - 1]
