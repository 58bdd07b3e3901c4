"""Everything in the evidence that a question may name, and what the picture says of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from .chart import Chart, counted, said
from .facts import when
from .families import SAME_KIND, kinds_of, seen
from .numbers import plain
from .plain_words import (
    ABOUT,
    ALL_TOGETHER,
    CALENDAR,
    CHANGE,
    CHEAP,
    DATE,
    DEAR,
    FIELDS,
    FIRST_LINE,
    HIGH,
    ITEMS,
    LAST_LINE,
    LOW,
    NO_OBJECT,
    NO_TOTAL,
    OBJECT,
    OBJECT_IN_WORDS,
    ROWS,
    SECOND,
    SELLER,
    TIME,
    TITLE,
    TOTAL,
    words_of,
)  # fmt: skip
from .wording import PAGES, object_of

if TYPE_CHECKING:
    from .evidence import Evidence
    from .facts import Facts
    from .rows import Row

_LETTERS = 160  # of an entry
_AT = {"top": "at the top", "bottom": "at the bottom", "left": "on the left", "right": "on the right",
       "middle": "in the middle"}  # fmt: skip
_TIMES = frozenset({word[:3] for word in CALENDAR} | {"may"})
_AMOUNT = re.compile(r"[£$€\d]|free", re.I)
_CLOCK = re.compile(r"\b\d{1,2}[.:]\d\d\b|\b\d{1,2} (?:to|-|–) \d{1,2}\b|noon|midnight|o.clock", re.I)
_DAY = re.compile(
    r"\d{1,2}[./ -]\d{1,2}[./ -]\d\d|\b\d{1,2}[/ -]\d{1,2}\b|\b(?:19|20)\d\d\b|"
    rf"\b(?:{'|'.join(sorted(_TIMES))})", re.I
)  # fmt: skip
"""What may be an amount, a time or a day: wide, for where one is found it cannot be said that there is none."""


class Entry(NamedTuple):
    """Something that a question may name."""

    name: str
    text: str
    """What the picture says of it."""
    kind: str = "name"
    """ "name": printed there, some of its words may do where nothing else is found; "cell": a cell by row and column;
    "word": a plain word for what was computed; "weak": one that means this only where nothing better is found."""
    unless: frozenset[str] = frozenset()
    """Words of a question that rule it out."""


@dataclass(frozen=True)
class Index:
    """One picture's entries, and what must be known to say that something is not among them."""

    entries: tuple[Entry, ...]
    known: frozenset[str]
    """Every word of the evidence."""
    letters: str = ""
    """Letters and digits of the text that was read, small, without spaces: a reader loses some."""
    form: bool = False
    """Whether it is a form: three fields with names, or more, and no prices."""
    listed: bool = False
    """Whether there is text or a chart, in which names can be missing."""
    holds: frozenset[str] = frozenset()
    """Of "text", "price", "date" and "time" what it has, or may have: whatever else is asked for is not there."""

    @cached_property
    def worded(self) -> tuple[tuple[frozenset[str], Entry], ...]:
        """The entries whose names have words, with these."""
        pairs = ((frozenset(words_of(entry.name)), entry) for entry in self.entries)
        return tuple(pair for pair in pairs if pair[0])


def index_of(evidence: Evidence) -> Index:
    """What can be looked up in a picture's evidence."""
    entries = tuple(
        entry if len(entry.text) <= _LETTERS else entry._replace(text=entry.text[: _LETTERS - 1] + "…")
        for entry in dict.fromkeys(_all(evidence))
    )
    form = len([*_fields(evidence.rows)]) >= 3 and not evidence.facts.priced
    written = " ".join(row.text for row in evidence.rows)
    letters = "".join(filter(str.isalnum, written.lower()))
    known = frozenset(words_of(evidence.to_text()) | words_of(written))
    return Index(entries, known, letters, form, _listed(evidence), frozenset(_holds(evidence)))


def _listed(evidence: Evidence) -> bool:
    """Whether what it shows is text or a chart. In a photo there is more than was recognised, whatever is written on
    it."""
    if evidence.chart is not None or not evidence.text:
        return evidence.chart is not None
    best = seen(evidence.objects)
    return bool(evidence.facts.kind) or best.name in PAGES or bool(best.name) and not best.level


def _holds(evidence: Evidence) -> Iterator[str]:
    if evidence.text or evidence.text is None:
        yield "text"
    written = " ".join(row.text for row in evidence.rows)
    dates, days, times = when(evidence.rows)
    for found in (*dates, *times):
        written = written.replace(found, " ")
    open_ended = evidence.chart is not None or evidence.facts.table is not None or not evidence.text
    if open_ended or _AMOUNT.search(written):
        yield "price"
    if open_ended or times or _CLOCK.search(written):
        yield "time"
    if open_ended or dates or days or times or _DAY.search(written):
        yield "date"


def _all(evidence: Evidence) -> Iterator[Entry]:
    if evidence.chart is not None:
        yield from _of_chart(evidence.chart)
        return
    table = evidence.facts.table
    tabled = range(0)
    if table is not None:
        tabled = range(table.first, table.first + 1 + len(table.body))
        yield from _of_table(evidence.facts)
    yield from _of_rows([row for number, row in enumerate(evidence.rows) if number not in tabled])
    yield from _of_prices(evidence.facts)
    yield from _of_lines(evidence)
    if not evidence.facts.kind:
        yield from _of_object(evidence)
        for place, name in evidence.places:
            yield Entry(f"colour {place}", f"{name} is the colour {_AT[place]}", "word")


def _weak(words: Iterable[str], text: str, unless: frozenset[str] = frozenset()) -> Iterator[Entry]:
    return (Entry(word, text, "weak", unless) for word in words)


def _of_rows(rows: list[Row]) -> Iterator[Entry]:
    for row in rows:
        first, colon, rest = row.text.partition(":") if len(row.cells) == 1 else (row.cells[0], ":", "")
        if len(row.cells) > 1:
            yield Entry(first, f"{first.rstrip(' :')}: {' '.join(row.cells[1:])}")
        elif colon and rest.strip() and re.search(r"[^\W\d_]", first):
            yield Entry(first, f"{first.strip()}: {rest.strip()}")
        else:
            yield Entry(row.text, f'"{row.text}"')
    for key, value in _fields(rows):
        for group in FIELDS:
            if words_of(key) & {*group}:
                yield from _weak(group, f"{key}: {value}")


def _fields(rows: Iterable[Row]) -> Iterator[tuple[str, str]]:
    """Rows such as "City: Bath"."""
    for row in rows:
        key, colon, value = " ".join(row.cells).partition(":")
        if colon and value.strip() and re.search(r"[^\W\d_]", key) and len(key.split()) <= 3:
            yield key.strip(), value.strip()


def _of_lines(evidence: Evidence) -> Iterator[Entry]:
    """The first and the last line by the words that ask for them, and dates and times."""
    rows, kind = evidence.rows, evidence.facts.kind
    if not rows:
        return
    yield from _weak(FIRST_LINE, f'the first line is "{rows[0].text}"')
    if kind.startswith(("a receipt", "a menu")):
        yield from _weak(SELLER, f'the first line is "{rows[0].text}"', frozenset(("item", "thing", "product")))
    if len(rows) > 1:
        yield from _weak(LAST_LINE, f'the last line is "{rows[-1].text}"')
    dates, days, times = when(rows)
    for words, name, found in ((DATE, "date", [*days, *dates]), (TIME, "time", times)):
        if found:
            yield from _weak(words, f"the {name} is {', '.join(found[:3])}")


def _of_object(evidence: Evidence) -> Iterator[Entry]:
    """What the classifier is sure of, or takes for likely, by the words that ask for it and by those for its kind.
    Pages of text have no object."""
    verb, phrase = object_of(evidence.objects)
    name = seen(evidence.objects).name
    if not phrase or name in PAGES:
        return
    kinds = {word for kind in kinds_of(name) for word in (kind, *SAME_KIND.get(kind, ()))}
    words = (*OBJECT, *sorted(kinds - {*OBJECT}))
    text = f"the object {verb} {phrase}"
    yield from _weak(words, text, NO_OBJECT)
    yield from _weak(OBJECT_IN_WORDS, text, NO_OBJECT - {"word"})


def _of_chart(chart: Chart) -> Iterator[Entry]:
    if chart.title:
        yield Entry("title", f'the title is "{chart.title}"', "word")
        yield from _weak((*TITLE, *ABOUT), f'the title is "{chart.title}"')
    marks = [(series.name, mark) for series in chart.series for mark in series.marks]
    for series, mark in marks:
        if mark.value is not None:
            yield Entry(f"{series} {mark.name}".strip(), f"{series} {said(mark)}".strip())
            if series:
                yield Entry(mark.name, f"{series} {said(mark)}")
    if len(chart.series) > 1 or any(mark.value is None for _, mark in marks):
        return
    parts = counted(chart.kind)
    yield from _counts(
        (parts, "value", "category", "label", "month" if parts == "points" else parts), f"{len(marks)} {parts}"
    )
    order = sorted((mark for _, mark in marks), key=lambda mark: -mark.value)
    falling = f"from largest to smallest: {', '.join(mark.name for mark in order)}"
    yield from (Entry(word, falling, "word") for word in ("order", "sort", "rank"))
    in_time = all(mark.name[:3].lower() in _TIMES or mark.name.isdigit() for _, mark in marks)
    last = () if in_time else ("last",)  # of months, "the last" is the one at the end
    for words, mark, name in (
        (HIGH, order[0], "largest"),
        ((*LOW, "last in value", "last place", *last), order[-1], "smallest"),
    ):
        yield from (Entry(word, f"the {name} is {said(mark)}", "word") for word in words)
    if len(order) > 2:
        second = f"the second largest is {said(order[1])}"
        yield from (Entry(word, second, "word") for word in (*SECOND, *(f"second {word}" for word in HIGH)))
    if chart.kind != "pie chart":
        about = "" if all(mark.printed for _, mark in marks) else "about "
        summed = f"the sum is {about}{plain(sum(mark.value for mark in order), 2)}"
        yield from (Entry(word, summed, "word") for word in ALL_TOGETHER)


def _of_table(facts: Facts) -> Iterator[Entry]:
    table = facts.table
    for row in table.body:
        cells = list(zip(table.head[1:], row[1:]))
        yield Entry(row[0], f"{row[0]}: " + ", ".join(f"{head} {cell}" for head, cell in cells))
        yield from (Entry(f"{row[0]} {head}", f"{row[0]}, {head}: {cell}", "cell") for head, cell in cells)
    yield from (Entry(*column, "word") for column in facts.columns)
    yield from _counts(ROWS, f"{len(table.body)} rows")
    for head, top, low in facts.extremes:
        money, years = words_of(head) & {"price", "cost"}, words_of(head) & {"age"}
        for words, (name, value), rank in ((HIGH, top, "highest"), (LOW, low, "lowest")):
            text = f"the {rank} {head} is {value}, {name}"
            yield from (Entry(f"{head} {word}", text, "word") for word in words)
            if money:
                yield from (Entry(word, text, "word") for word in (DEAR if rank == "highest" else CHEAP))
            if years:
                yield Entry("oldest" if rank == "highest" else "youngest", text, "word")


def _of_prices(facts: Facts) -> Iterator[Entry]:
    if facts.total is not None:
        yield from _weak(TOTAL, f"{facts.total[0]}: {facts.total[1]}", NO_TOTAL)
    for label, cost in facts.others:
        if words_of(label) & {*CHANGE}:
            yield from _weak(CHANGE, f"{label}: {cost}")
    if facts.high is None or facts.low is None:
        return
    yield from _counts(ITEMS, f"{len(facts.priced)} items")
    for names, words, (name, price) in ((DEAR, "most expensive", facts.high), (CHEAP, "cheapest", facts.low)):
        yield from (Entry(asked, f"the {words} is {name}, {price}", "word") for asked in names)


def _counts(parts: Iterable[str], text: str) -> Iterator[Entry]:
    for part in dict.fromkeys(parts):
        yield from (Entry(f"{asked} {part}", text, "word") for asked in ("many", "count", "number of"))
