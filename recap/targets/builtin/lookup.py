"""What a question is about, looked up in the evidence: the lines that hold its words, put right before it.

A model of 135 M parameters copies from the line before far better than it finds a cell in a grid. Nothing is inferred
here: words of the question are matched with names that the picture holds, and with plain words for what was computed
("largest", "cheapest", "how many").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .chart import Chart, counted, said

if TYPE_CHECKING:
    from .evidence import Evidence
    from .facts import Facts


class Entry(NamedTuple):
    """Something that a question may name."""

    name: str
    text: str
    """What the picture says of it."""
    whole: bool = False
    """All words of the name must be in the question; else some of them suffice where nothing else is found."""


MOST = 3
"""Entries shown before a question."""
_LETTERS = 160  # of an entry
_WORD = re.compile(r"[^\W_]+(?:[.:'’-][^\W_]+)*")
_COMMON = frozenset(
    "a about all am an and any are as at be by can could did do does for from get give given had has have he her here "
    "his how i if in is it its line list look many me more most much my name no not number of on one or our out over "
    "per picture please say says see she show sure tell than thanks that the their them then there these they thing "
    "things this those to up us was we were what when where which who whose why will with word words would write "
    "written yes you your".split()
)
"""Words that name nothing by themselves."""
_HIGH = ("largest", "biggest", "highest", "greatest", "most", "maximum", "max")
_LOW = ("smallest", "lowest", "least", "fewest", "minimum", "min")
_DEAR = ("most expensive", "dearest", "costliest", "highest price", "costs most")
_CHEAP = ("least expensive", "cheapest", "lowest price", "costs least")
_AT = {"top": "at the top", "bottom": "at the bottom", "left": "on the left", "right": "on the right",
       "middle": "in the middle"}  # fmt: skip


def entries_of(evidence: Evidence) -> tuple[Entry, ...]:
    """Everything in the evidence that has a name: bars, cells, prices, fields, lines, colours by place."""
    return tuple(
        entry if len(entry.text) <= _LETTERS else entry._replace(text=entry.text[: _LETTERS - 1] + "…")
        for entry in dict.fromkeys(_all(evidence))
    )


def found(question: str, entries: Sequence[Entry]) -> str:
    """One line with the entries that the question names, at most `MOST`; "" where it names none.

    Entries all of whose words are in the question go before those that share some of them, and leave those out; so
    does "Anna, City" leave out "Anna".
    """
    asked = _words(question)
    whole: list[tuple[set[str], str]] = []
    part: list[tuple[float, str]] = []
    for name, text, must_be_whole in entries:
        words = _words(name)
        if not words:
            continue
        shared = words & asked
        telling = [word for word in shared if word not in _COMMON and len(word) > 2]
        if shared == words:
            whole.append((words, text))
        elif telling and not must_be_whole:
            part.append((len(telling) / len(words), text))
    best = [text for words, text in whole if not any(words < others for others, _ in whole)]
    best = best or [text for _, text in sorted(part, key=lambda scored: -scored[0])]
    told = list(dict.fromkeys(best))[:MOST]
    return f"The picture says: {'; '.join(told)}." if told else ""


def _words(text: str) -> set[str]:
    return {_stem(word) for word in _WORD.findall(text.lower())}


def _stem(word: str) -> str:
    """Without the "s" of a plural, and as spelled in Britain."""
    word = word.removesuffix("'s").removesuffix("’s").replace("color", "colour")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _all(evidence: Evidence) -> Iterator[Entry]:
    if evidence.chart is not None:
        yield from _of_chart(evidence.chart)
        return
    table = evidence.facts.table
    tabled = range(0)
    if table is not None:
        tabled = range(table.first, table.first + 1 + len(table.body))
        yield from _of_table(evidence.facts)
    for number, row in enumerate(evidence.rows):
        if number in tabled:
            continue
        first, colon, rest = row.text.partition(":") if len(row.cells) == 1 else (row.cells[0], ":", "")
        if len(row.cells) > 1:
            yield Entry(first, f"{first.rstrip(' :')}: {' '.join(row.cells[1:])}")
        elif colon and rest.strip() and re.search(r"[^\W\d_]", first):
            yield Entry(first, f"{first.strip()}: {rest.strip()}")
        else:
            yield Entry(row.text, f'"{row.text}"')
    yield from _of_prices(evidence.facts)
    if not evidence.facts.kind:
        for place, name in evidence.places:
            yield Entry(f"colour {place}", f"{name} is the colour {_AT[place]}", True)


def _of_chart(chart: Chart) -> Iterator[Entry]:
    if chart.title:
        yield Entry("title", f'the title is "{chart.title}"', True)
    marks = [(series.name, mark) for series in chart.series for mark in series.marks]
    for series, mark in marks:
        if mark.value is not None:
            yield Entry(f"{series} {mark.name}".strip(), f"{series} {said(mark)}".strip())
            if series:
                yield Entry(mark.name, f"{series} {said(mark)}")
    if len(chart.series) > 1 or any(mark.value is None for _, mark in marks):
        return
    yield from _counts(counted(chart.kind), len(marks))
    order = sorted((mark for _, mark in marks), key=lambda mark: -mark.value)
    falling = f"from largest to smallest: {', '.join(mark.name for mark in order)}"
    yield from (Entry(word, falling, True) for word in ("order", "sort", "rank"))
    for words, mark, name in ((_HIGH, order[0], "largest"), (_LOW, order[-1], "smallest")):
        yield from (Entry(word, f"the {name} is {said(mark)}", True) for word in words)
    if len(order) > 2:
        yield from (Entry(f"second {word}", f"the second largest is {said(order[1])}", True) for word in _HIGH)


def _of_table(facts: Facts) -> Iterator[Entry]:
    table = facts.table
    for row in table.body:
        cells = list(zip(table.head[1:], row[1:]))
        yield Entry(row[0], f"{row[0]}: " + ", ".join(f"{head} {cell}" for head, cell in cells))
        yield from (Entry(f"{row[0]} {head}", f"{row[0]}, {head}: {cell}", True) for head, cell in cells)
    yield from (Entry(*column, True) for column in facts.columns)
    yield from _counts("rows", len(table.body))


def _of_prices(facts: Facts) -> Iterator[Entry]:
    if facts.high is None or facts.low is None:
        return
    yield from _counts("items", len(facts.priced))
    for names, words, (name, price) in ((_DEAR, "most expensive", facts.high), (_CHEAP, "cheapest", facts.low)):
        yield from (Entry(asked, f"the {words} is {name}, {price}", True) for asked in names)


def _counts(parts: str, count: int) -> Iterator[Entry]:
    yield Entry(f"many {parts}", f"{count} {parts}", True)
    yield Entry(f"count {parts}", f"{count} {parts}", True)
