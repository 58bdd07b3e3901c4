"""A simple chart as data: what kind, what it compares, and the values, printed or estimated."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .numbers import plain


@dataclass(frozen=True)
class Mark:
    """A bar, a point of a line, or a slice."""

    name: str
    """Its printed label, or its colour where none was found."""
    value: float | None
    """None where the chart has neither a number nor a scale for it."""
    shown: str
    """The number as printed, or the estimate in plain digits; empty without a value."""
    printed: bool
    colour: str
    size: float = 0.0
    """Length in pixels or share of the circle: orders marks without a value."""


@dataclass(frozen=True)
class Series:
    """Marks in the order of the picture, left to right, top to bottom, or clockwise from the top."""

    name: str
    """From the legend; empty for the only one."""
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """What geometry and labels tell. Estimates depend on the axis being linear and starting where its labels say."""

    kind: str
    """bar chart | horizontal bar chart | line chart | pie chart."""
    title: str
    series: tuple[Series, ...]
    axis: str = ""
    """Other text beside the axes."""
    used: tuple[int, ...] = ()
    """Indices of the text lines that became labels, numbers or title."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        data = asdict(self)
        data["series"] = [{**series, "marks": list(series["marks"])} for series in data["series"]]
        return {**data, "used": list(self.used)}

    def statements(self) -> list[str]:
        """Sentences for the reader."""
        one = self.series[0]
        article, parts = "a " + self.kind, counted(self.kind)
        if len(self.series) == 1:
            words = [f"This is {article} with {len(one.marks)} {parts}."]
        else:
            names = ", ".join(series.name for series in self.series)
            words = [f"This is {article} with {len(self.series)} series: {names}."]
        if self.title:
            words.append(f"Title: {self.title}.")
        if self.axis:
            words.append(f"Axis: {self.axis}.")
        for series in self.series:
            words += _series_words(series, parts, len(self.series) > 1, self.kind == "pie chart")
        return words


def counted(kind: str) -> str:
    """What a chart of this kind is made of: "bars", "points" or "slices"."""
    return {"line chart": "points", "pie chart": "slices"}.get(kind, "bars")


def _series_words(series: Series, parts: str, several: bool, pie: bool) -> list[str]:
    marks = series.marks
    name = f"{series.name}: " if several else ""
    if any(mark.value is None for mark in marks):
        order = sorted(marks, key=lambda mark: -mark.size)
        return [f"{name}No values can be read. From largest to smallest: {', '.join(mark.name for mark in order)}."]
    printed = all(mark.printed for mark in marks)
    head = "Values" if printed else "Estimated values"
    told = ", ".join(said(mark) for mark in marks)
    order = sorted(marks, key=lambda mark: -mark.value)
    words = [f"{name}{head}: {told}."]
    words += [f"{name}Largest: {said(order[0])}.", f"{name}Smallest: {said(order[-1])}."]
    if len(marks) > 2 and not several:
        words.append(f"From largest to smallest: {', '.join(mark.name for mark in order)}.")
    if not pie:
        summed = sum(mark.value for mark in marks)
        if not several:
            words.append(f"Sum: {'' if printed else 'about '}{plain(summed, 2)}.")
        if parts == "points":
            words.append(f"{name}From first to last it {_trend([mark.value for mark in marks])}.")
    return words


def said(mark: Mark) -> str:
    """ "Jun 46", or "Jun about 46" for an estimate."""
    return f"{mark.name} {mark.shown}" if mark.printed else f"{mark.name} about {mark.shown}"


def _trend(values: list[float]) -> str:
    steps = [after - before for before, after in zip(values, values[1:])]
    change = values[-1] - values[0]
    spread = max(values) - min(values) or 1.0
    if abs(change) < 0.08 * spread:
        return "ends about where it began"
    direction = "rises" if change > 0 else "falls"
    steady = all(step * change >= 0 for step in steps)
    return f"{direction} all the way" if steady else f"{direction}, with ups and downs"
