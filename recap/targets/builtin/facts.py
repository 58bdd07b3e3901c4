"""What can be computed from the text of a picture, so that a small reader need not: sums, extremes, order, dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .numbers import Number
from .rows import Row, Table, table_of

_SUMMARY = re.compile(
    r"(grand |sub ?-?|gross |net |final )?(total|amount)|sum|balance( due)?|amount (due|payable)|payable|to pay|tax|vat|gst|"
    r"cash|change|card|visa|paid|tip|service|discount|rounding|deposit|received|tender(ed)?|mastercard|debit|due|gross|net", re.I
)  # fmt: skip
_TOTAL = re.compile(r"(grand )?total|total\b.*|(net|gross|final) amount|gross|(balance|amount) (due|payable)|payable|to pay|sum|due", re.I)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? ?{_MONTH}\.?(?: ?\d{{4}})?|"
    rf"{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}})?|"
    r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})",
    re.I,
)
_TIME = re.compile(r"\b\d{1,2}[:.]\d\d ?(?:[ap]\.?m\.?)?(?!\d|\.\d)|\b\d{1,2} ?[ap]\.?m\b\.?", re.I)
_DAY = re.compile(r"\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", re.I)


@dataclass(frozen=True)
class Facts:
    """What the rows of a picture amount to."""

    rows: int
    priced: tuple[tuple[str, str], ...] = ()
    """Items and their prices as printed, in order; sums and payments left out."""
    total: tuple[str, str] | None = None
    """Label and number of the printed total."""
    table: Table | None = None
    statements: tuple[str, ...] = ()
    """Sentences for the reader."""
    high: tuple[str, str] | None = None
    """The dearest item and its price as printed, where several items have one."""
    low: tuple[str, str] | None = None
    """The cheapest."""
    columns: tuple[tuple[str, str], ...] = ()
    """Head of each column of numbers, and its extremes and sum in words."""
    extremes: tuple[tuple[str, tuple[str, str], tuple[str, str]], ...] = ()
    """Head of each column of numbers, (name, value) of its largest and of its smallest."""
    others: tuple[tuple[str, str], ...] = ()
    """Label and number of sums and payments other than the total: tax, cash, change."""

    @property
    def kind(self) -> str:
        """A plain guess from the layout: "a receipt", "a menu or price list", "a table", "a page of text", ""."""
        if self.table is not None and not self.total:
            return "a table"
        if len(self.priced) >= 2:
            return "a receipt or bill" if self.total else "a menu or price list"
        return "a page of text" if self.rows >= 9 else ""


def facts_of(rows: Sequence[Row]) -> Facts:
    """All facts, computed in exact decimal cents."""
    table = table_of(rows)
    priced, numbers, total, others = _prices(rows, table)
    said = []
    columns = _columns(table) if table is not None else []
    if table is not None:
        size = f"{len(table.body)} rows below the head, {len(table.head)} columns"
        said += [f"Table: {size} ({', '.join(table.head)}).", *(f"{words}." for _, words, *_ in columns)]
    high = low = None
    if len(priced) >= 2 and (table is None or total is not None):
        values = [number.value for number in numbers]
        high, low = priced[values.index(max(values))], priced[values.index(min(values))]
        said += _price_words(high, low, numbers, total)
    said += _when_words(rows)
    printed = (total[0], total[1]) if total else None
    worded, extremes = tuple(column[:2] for column in columns), tuple((head, *pair) for head, _, *pair in columns)
    return Facts(len(rows), tuple(priced), printed, table, tuple(said), high, low, worded, extremes, tuple(others))


def _prices(rows: Sequence[Row], table: Table | None):
    """(items, their numbers, total, others); rows whose last cell is a price, or a number where most are."""
    tabled = range(table.first, table.first + 1 + len(table.body)) if table is not None else range(0)
    found = [(n, row.label, row.number, row.cells[-1]) for n, row in enumerate(rows) if row.number is not None]
    found = [entry for entry in found if entry[1] is not None]
    money = [entry for entry in found if entry[2].money]
    if len(money) * 2 >= len(found) and money:
        found = money
    elif table is None and len(found) < 3:
        found = []
    items, numbers, total, others = [], [], None, []
    for n, label, number, cell in found:
        word = label.strip(" :.").lower()
        if _SUMMARY.match(word) and not (n in tabled and table is not None and n < tabled[-1]):
            if _TOTAL.fullmatch(word):
                total = (label.strip(" :."), cell, number)
            else:
                others.append((label.strip(" :."), cell))
        elif total is None:
            items.append((label, cell))
            numbers.append(number)
    return items, numbers, total, others


def _price_words(
    high: tuple[str, str], low: tuple[str, str], numbers: list[Number], total: tuple[str, str, Number] | None
) -> list[str]:
    values = [number.value for number in numbers]
    shape = max(numbers, key=lambda number: number.decimals)
    summed = shape.like(sum(round(value * 100) for value in values) / 100)
    words = [f"Items with a price: {len(numbers)}."]
    words += [f"Most expensive: {' '.join(high)}.", f"Cheapest: {' '.join(low)}."]
    if total is None:
        words.append(f"All prices together: {summed}.")
    else:
        same = abs(round(sum(values) * 100) - round(total[2].value * 100)) < 1
        words.append(f"Printed total: {total[1]}. The items add up to {summed}, "
                     + ("the same." if same else "not the same."))  # fmt: skip
    if len(values) > 2 and (order := _order(values)):
        words.append(f"Prices are sorted {order}.")
    return words


def _columns(table: Table) -> list[tuple[str, str, tuple[str, str], tuple[str, str]]]:
    """(head, its extremes and sum in words, the largest, the smallest) of each column of numbers."""
    found = []
    for index in range(1, len(table.head)):
        column, head = table.column(index), table.head[index]
        if len(column) < max(2, len(table.body) - 1):
            continue
        values = [number.value for _, number in column]
        (top, high), (bottom, low) = column[values.index(max(values))], column[values.index(min(values))]
        summed = high.like(sum(round(value * 1000) for value in values) / 1000)
        largest, smallest = (top, high.like(high.value)), (bottom, low.like(low.value))
        words = f"{head}: largest {' '.join(largest)}, smallest {' '.join(smallest)}, sum {summed}"
        found.append((head, words, largest, smallest))
    return found


def _order(values: list[float]) -> str:
    if values == sorted(values):
        return "from low to high"
    return "from high to low" if values == sorted(values, reverse=True) else ""


def when(rows: Sequence[Row]) -> tuple[list[str], list[str], list[str]]:
    """Dates, days of the week and times as printed."""
    text = "\n".join(row.text for row in rows)
    dates = dict.fromkeys(match.group().strip() for match in _DATE.finditer(text))
    bare = _DATE.sub(" ", text)
    prices = {cell for row in rows if row.number is not None for cell in row.cells[-1:]}
    times = dict.fromkeys(match.group().strip() for match in _TIME.finditer(bare))
    times = [time for time in times if ":" in time or time[-1] in "mM." and time not in prices]
    days = dict.fromkeys(match.group() for match in _DAY.finditer(text))
    return list(dates), list(days), times


def _when_words(rows: Sequence[Row]) -> list[str]:
    said = zip(("Date", "Day", "Time"), when(rows))
    words = [f"{name}: {', '.join(found[:3])}." for name, found in said if found and len(found) <= 3]
    return [" ".join(words)] if words else []
