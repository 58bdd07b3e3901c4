"""A run's figures as tables of words, the same for the terminal and for the report: the paper's Tables 1, 2, 15, 18 and
what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .counting import ALL, LONG, PARTS, SLOWER, Cell, Estimate, roots
from .peers import REFERENCE


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column is left-aligned, the others are right-aligned."""

    title: str
    note: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(cells: Sequence[Cell], records: Sequence[dict[str, Any]], problems: Sequence[str] = ()) -> list[Table]:
    """All tables of a run that have a row."""
    made = [
        speed(cells), overall(cells), writing(cells), over_reference(cells), split(cells), latency(cells),
        needs_picture(records), differences(records), left_out(records, problems),
    ]  # fmt: skip
    return [table for table in made if table.rows]


def speed(cells: Sequence[Cell]) -> Table:
    """S and tau per category and method (Tables 1 and 2)."""
    grid = _grid(cells)
    categories = list(grid)
    names = list(dict.fromkeys(cell.name for cell in cells))
    rows = [(name, *(_pair(grid[category].get(name)) for category in categories)) for name in names]
    inputs = ("inputs", *(str(max(cell.inputs for cell in grid[category].values())) for category in categories))
    return Table(
        "S and tau by category",
        "S: tokens per second over those of plain decoding (ar) on the same input in the same repetition, tokens over "
        "encoding + prefill + decoding. tau: 1 + accepted drafts per pass. Means over inputs of medians over repetitions.",
        ("S, tau", *(category or "(no category)" for category in categories)), (*map(tuple, rows), inputs),
    )  # fmt: skip


def overall(cells: Sequence[Cell]) -> Table:
    """All inputs together: means with 95 % intervals, percentiles over inputs, shares (Table 18)."""
    return Table(
        "All inputs",
        f"In brackets: 95 % bootstrap interval over inputs. P10, P50, P90: percentiles of S over inputs. faster: S above 1; "
        f"slower: S below {SLOWER}, of the answers of {LONG} tokens or more. same tokens: as plain decoding, in all "
        "repetitions. nodes: packed nodes per pass, the root included.",
        ("", "tok/s", "S", "tau", "nodes", "P10", "P50", "P90", "faster", "slower", "same tokens"),
        tuple(
            (
                cell.name, f"{cell.rate:.1f}", interval(cell.S), interval(cell.tau), _number(cell.nodes, 1),
                *(f"{one:.2f}" for one in cell.ratios), f"{cell.faster:.0%}",
                "–" if cell.slower is None else f"{cell.slower:.0%}", f"{cell.identical}/{cell.inputs}",
            )
            for cell in _all(cells)
        ),
    )  # fmt: skip


def writing(cells: Sequence[Cell]) -> Table:
    """S of decoding alone: what is left when pictures and prompts are read."""
    return _by_category(
        cells, "writing", "S of writing alone",
        "Tokens behind the first one over seconds of decoding, relative to plain decoding's: encoding of pictures and "
        "prefill, which are the same work for every method but for seeding, are left out.",
    )  # fmt: skip


def over_reference(cells: Sequence[Cell]) -> Table:
    """Speed over transformers' own generate, where it ran."""
    return _by_category(
        [cell for cell in cells if cell.name != REFERENCE], "over", "Times transformers' own generate",
        "Tokens per second over those of transformers' greedy generate with the same weights, on the same inputs in the "
        "same run; prompt_lookup is its assisted generation.",
    )  # fmt: skip


def split(cells: Sequence[Cell]) -> Table:
    """Where the time of all inputs goes."""
    return Table(
        "Milliseconds per token",
        "Time of all inputs over their tokens. other: decoding beside the three parts of a pass; transformers tells the "
        "whole alone.",
        ("", *PARTS, "in all"),
        tuple(
            (cell.name, *(f"{cell.parts[part]:.2f}" for part in PARTS), f"{sum(cell.parts.values()):.2f}")
            for cell in _all(cells)
        ),
    )  # fmt: skip


def latency(cells: Sequence[Cell]) -> Table:
    """Percentiles of T over inputs (Table 15)."""
    return Table(
        "Seconds per input", "Percentiles over inputs; the turns of an input are summed.", ("", "P50", "P90", "P95", "P99"),
        tuple((cell.name, *(f"{one:.2f}" for one in cell.latency)) for cell in _all(cells)),
    )  # fmt: skip


def needs_picture(records: Sequence[dict[str, Any]]) -> Table:
    """Where the passes of RECAP depend on the picture, by how many drafts they accepted; without rows where nobody looked."""
    return Table(
        "Who needs the picture",
        "The model's choice at the roots of passes, with the picture and with its mean colour or another input's picture in "
        "its place. changes: the choice is another one then. dependence: by how much its log probability falls at least, nats "
        "(Figure 1).",
        ("accepted drafts", "passes", "changes", "dependence"),
        tuple((one.accepted, str(one.roots), f"{one.changed:.0%}", f"{one.dependence:.2f}") for one in roots(records)),
    )  # fmt: skip


def differences(records: Sequence[dict[str, Any]], most: int = 20) -> Table:
    """Answers whose tokens are not plain decoding's."""
    apart = [record for record in records if "error" not in record and not record["identical"]]
    rows = [
        (
            record["name"], record["id"], str(record["repeat"] + 1), str(record["difference"]["turn"] + 1),
            str(record["difference"]["token"] + 1), _number(record["difference"]["margin"], 4),
        )
        for record in apart[:most]
    ]  # fmt: skip
    more = f" The first {most} of {len(apart)}." if len(apart) > most else ""
    return Table(
        "Answers that are not plain decoding's",
        "Where they first part, and by how much the model's logit of the method's token exceeds that of plain decoding's "
        f"there, where that is on record.{more}",
        ("", "input", "repetition", "turn", "token", "margin"), tuple(rows),
    )  # fmt: skip


def left_out(records: Sequence[dict[str, Any]], problems: Sequence[str]) -> Table:
    """Lines of the manifest that were none, and inputs that could not be asked."""
    failed = {(record["id"], record["name"]): record["error"] for record in records if "error" in record}
    rows = [(problem,) for problem in problems]
    rows += [
        (f"{who + ' could not answer' if who else 'nobody could be asked'} {name}: {why}",)
        for (name, who), why in failed.items()
    ]
    return Table("Left out", "Everything else went on.", ("why",), tuple(rows))


def interval(estimate: Estimate | None) -> str:
    """ "1.52 [1.40, 1.61]"."""
    if estimate is None:
        return "–"
    return f"{estimate.mean:.2f}" + ("" if estimate.low is None else f" [{estimate.low:.2f}, {estimate.high:.2f}]")


def facts(run: dict[str, Any]) -> list[str]:
    """What was run, on what, in sentences for people."""
    chosen, model, machine = run["configuration"], run["model"], run["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    lines = [
        f"{run['manifest']['name']}: {chosen['inputs']} inputs, {chosen['repeats']} repetition"
        f"{'' if chosen['repeats'] == 1 else 's'}, at most {chosen['max_new_tokens']} tokens a turn, greedy",
        f"{model['name']} on {model['device']} in {model['dtype']}; {model['passes']}; "
        f"{'exact' if model['exact'] else 'not exact'}: {model['exactness']}",
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads"
        + (f", {machine['memory_gib']} GiB" if machine["memory_gib"] else "")
        + (f", {machine['gpu']}" if machine["gpu"] else "")
        + f", {machine['system']}",
        f"load of the machine: {_load(machine['load'])} before, {_load(run.get('load_after'))} after",
        versions,
        f"{run['started']} to {run['ended'] or 'now: it is not complete'} (UTC)",
    ]
    for again in run["resumed"]:
        lines.append(f"stopped and gone on with at {again['at']}, after {again['complete']} inputs and repetitions")
    return lines


def text(tables: Sequence[Table]) -> str:
    """Tables for a terminal."""
    return "\n\n".join(_lines(table) for table in tables)


def _lines(table: Table) -> str:
    grid = [table.head, *table.rows]
    widths = [max(len(row[at]) for row in grid) for at in range(len(table.head))]
    lines = [
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths)))
        for row in grid
    ]
    return "\n".join([table.title, *(line.rstrip() for line in lines)])


def _grid(cells: Sequence[Cell]) -> dict[str, dict[str, Cell]]:
    grid: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        grid.setdefault(cell.category, {})[cell.name] = cell
    return grid


def _by_category(cells: Sequence[Cell], figure: str, title: str, note: str) -> Table:
    """A table of one figure, methods down and categories across; without rows where nobody has it."""
    known = [cell for cell in cells if getattr(cell, figure) is not None]
    grid = _grid(known)
    rows = [
        (name, *(f"{getattr(group[name], figure).mean:.2f}" if name in group else "–" for group in grid.values()))
        for name in dict.fromkeys(cell.name for cell in known)
    ]
    return Table(title, note, ("", *(category or "(no category)" for category in grid)), tuple(rows))


def _all(cells: Sequence[Cell]) -> list[Cell]:
    # a category of the manifest may have the same name; the rows over all inputs come last
    return list({cell.name: cell for cell in cells if cell.category == ALL}.values())


def _pair(cell: Cell | None) -> str:
    return "–" if cell is None else f"{cell.S.mean:.2f}, {_number(cell.tau.mean if cell.tau else None, 2)}"


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _load(value: float | None) -> str:
    return "unknown" if value is None else f"{value:g}"
