"""One page with the tables and pictures of a run, and a CSV of its figures beside it.

The page works offline: S and tau by category (Tables 1 and 2), spread over inputs (Table 18, Figure 8), time per input
(Table 15, Figure 6), where time goes, whether tokens agree with plain decoding's, and what it was measured on.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import counting, folder, tables
from .counting import ALL, BY_TURNS, PARTS, Cell, Estimate

THEMES = ("light", "dark")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder that `bench run` wrote")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="(default: report.html in the folder)")


def run(options: argparse.Namespace) -> int:
    about, records = folder.read(options.folder)
    output = options.output or options.folder / "report.html"
    if output.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--output must end in .html, got {str(output)!r}")
    if not output.absolute().parent.is_dir():
        raise ValueError(f"--output: there is no folder {str(output.parent)!r}")
    if not any("error" not in record for record in records):
        raise ValueError(f"{str(options.folder)!r} holds no record yet")
    try:
        from visual import export
    except ModuleNotFoundError as error:
        raise RuntimeError(f"the report needs the package {error.name!r}, which is not installed") from None

    cells = counting.everything(records, about["seed"])
    export.write(output, page(about, records, cells).encode())
    beside = output.with_suffix(".csv")
    export.write(beside, csv_of(cells).encode())
    print(f"{output} and {beside} written")
    return 0


def page(about: dict[str, Any], records: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> str:
    """The HTML. `about`: run.json; `cells`: counting.everything of the records."""
    from visual import report

    words = [shown(one) for one in tables.tables(cells, records, about["manifest"]["problems"])]
    return report.html(
        f"RECAP benchmark: {about['manifest']['name']}, {about['model']['name']}", tables.facts(about),
        [words[0], *pictures(records, cells), *words[1:]],
    )  # fmt: skip


def shown(table: tables.Table) -> Any:
    """A table as `visual.report` takes it."""
    from visual.report import Words

    return Words(table.title, table.note, table.head, table.rows)


def pictures(records: Sequence[dict[str, Any]], cells: Sequence[Cell]) -> list[Any]:
    """The figures: S by category with intervals, its spread over inputs, time per input, where time goes."""
    from visual import cdf, dependence, parts, ranges
    from visual.report import Picture

    by_name: dict[str, list[float]] = {}
    for row in counting.measured(records):
        by_name.setdefault(row.name, []).append(row.T)
    whole = [cell for cell in cells if cell.category == ALL]
    speeds: dict[str, list[Any]] = {}
    for cell in cells:
        if cell.name != "ar" and cell.category != BY_TURNS:
            tau = "" if cell.tau is None else f"tau {cell.tau.mean:.2f}"
            category = cell.category or "(no category)"
            speeds.setdefault(category, []).append(ranges.Range(cell.name, *cell.S, tau))
    spread = [
        ranges.Range(cell.name, cell.ratios[1], cell.ratios[0], cell.ratios[2], f"{cell.faster:.0%} of inputs faster than ar")
        for cell in whole if cell.name != "ar"
    ]  # fmt: skip
    spent = {cell.name: cell.parts for cell in whole}

    def themed(made: Any) -> dict[str, Any]:
        return {theme: made(theme) for theme in THEMES}

    roots = counting.roots(records)
    seen = [
        Picture("Who needs the picture", "Passes of RECAP by the drafts they accepted: where the model would choose otherwise "
                "without the picture, and how much its choice depends on it (Figure 1).",
                themed(lambda theme: dependence.spec(roots, theme))),
    ] if roots else []  # fmt: skip
    return [
        Picture("Speed by category", "S with its 95 % interval over inputs; the dashed line is plain decoding.",
                themed(lambda theme: ranges.spec(speeds, "S, times plain decoding", theme))),
        Picture("Spread over inputs", "Median of S, and from the 10th to the 90th percentile (Figure 8).",
                themed(lambda theme: ranges.spec({"": spread}, "S of an input", theme))),
        Picture("Time per input", "The share of inputs answered within a time; further left is faster (Figure 6).",
                themed(lambda theme: cdf.spec(by_name, theme))),
        Picture("Where the time goes", "Time of all inputs over their tokens.",
                themed(lambda theme: parts.spec(spent, theme))),
        *seen,
    ]  # fmt: skip


def csv_of(cells: Sequence[Cell]) -> str:
    """A line per category and method."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([
        "category", "method", "inputs", "tokens", "S", "S_low", "S_high", "tau", "tau_low", "tau_high",
        "over_transformers", "S_writing", "nodes",
        "tokens_per_second", "S_p10", "S_p50", "S_p90", "faster", "slower", "T_p50", "T_p90",
        "T_p95", "T_p99", *(f"{part}_ms_per_token" for part in PARTS), "identical",
    ])  # fmt: skip
    for cell in cells:
        writer.writerow([
            _plain(cell.category), _plain(cell.name), cell.inputs, cell.tokens, *_three(cell.S), *_three(cell.tau),
            _three(cell.over)[0], _three(cell.writing)[0], _digits(cell.nodes), _digits(cell.rate),
            *map(_digits, cell.ratios),
            _digits(cell.faster), _digits(cell.slower), *map(_digits, cell.latency),
            *(_digits(cell.parts[part]) for part in PARTS), cell.identical,
        ])  # fmt: skip
    return file.getvalue()


def _plain(text: str) -> str:
    """Text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _three(one: Estimate | None) -> list[str]:
    return ["", "", ""] if one is None else [_digits(value) for value in one]


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
