"""Draws bars, lines and pies with Pillow: axes, ticks, labels, legends."""

from __future__ import annotations

import math
import random

from PIL import Image, ImageDraw

from . import palette
from .scenes import ChartPlan

_SCALE = 2  # drawn larger and reduced: smooth edges


class _Page:
    """A canvas in final pixels."""

    def __init__(self, width: int, height: int, paper: str, ink: str, name: str) -> None:
        self.image = Image.new("RGB", (width * _SCALE, height * _SCALE), paper)
        self.pen, self.width, self.height, self.ink, self.name = ImageDraw.Draw(self.image), width, height, ink, name

    def text(self, x: float, y: float, words: str, size: float, anchor: str, colour: str | None = None) -> None:
        letters = palette.font(self.name, round(size * _SCALE))
        self.pen.text((x * _SCALE, y * _SCALE), words, colour or self.ink, letters, anchor)

    def line(self, *points: float, colour: str, width: float = 1.0) -> None:
        self.pen.line([p * _SCALE for p in points], colour, max(1, round(width * _SCALE)), joint="curve")

    def box(self, *edges: float, fill: str) -> None:
        self.pen.rectangle([edge * _SCALE for edge in edges], fill)

    def done(self) -> Image.Image:
        return self.image.reduce(_SCALE)


def draw_chart(plan: ChartPlan, split: str, rng: random.Random) -> Image.Image:
    """The chart as an RGB picture."""
    paper, ink = palette.paper(rng, split, light=True)
    sides = ((640, 900), (420, 600)) if split == "train" else ((700, 1000), (460, 680))
    width, height = (rng.randint(*side) for side in sides)
    page = _Page(width, height, paper, ink, palette.family(rng, split))
    if plan.title:
        where, anchor = (width / 2, "ma") if rng.random() < 0.7 else (40, "la")
        page.text(where, 16, plan.title, 25, anchor)
    if plan.kind == "pie chart":
        _pie(page, plan, split, rng)
    elif plan.kind == "horizontal bar chart":
        _lying(page, plan, split, rng)
    else:
        _upright(page, plan, split, rng)
    return page.done()


def ticks_of(top: float) -> tuple[float, list[float]]:
    """(end of the axis, tick values) for values up to `top`: 4 to 7 round steps."""
    for step in (0.5, 1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500):
        count = math.ceil(top / step)
        if 3 <= count <= 6:
            return step * count, [step * n for n in range(count + 1)]
    return top, [0, top / 2, top]


def _ticks(plan: ChartPlan, values: list[float], rng: random.Random) -> tuple[float, list[float]]:
    """(end of the axis, ticks to draw): where values are printed, the axis often has none."""
    end, ticks = ticks_of(max(values))
    return end, ticks if not plan.printed or rng.random() < 0.6 else []


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _upright(page: _Page, plan: ChartPlan, split: str, rng: random.Random) -> None:
    """Bars or a line over a horizontal axis."""
    (_, values), size = plan.series[0], rng.randint(16, 20)
    left, right, top, bottom = 80, page.width - 40, 90, page.height - 70
    end, ticks = _ticks(plan, values, rng)
    for tick in ticks:
        y = bottom - (bottom - top) * tick / end
        page.line(left, y, right, y, colour="#dddddd" if rng.random() < 0.7 else "#eeeeee")
        page.text(left - 10, y, _number(tick), size, "rm")
    spacing = (right - left) / len(values)
    colours = palette.hues(rng, split, min(7, len(values))) if rng.random() < 0.3 else palette.hues(rng, split, 1)
    centres = [left + spacing * (n + 0.5) for n in range(len(values))]
    heights = [bottom - (bottom - top) * value / end for value in values]
    if plan.kind == "line chart":
        points = [coordinate for point in zip(centres, heights) for coordinate in point]
        page.line(*points, colour=colours[0], width=rng.uniform(2, 4))
        if rng.random() < 0.6:
            for x, y in zip(centres, heights):
                page.pen.ellipse([c * _SCALE for c in (x - 5, y - 5, x + 5, y + 5)], colours[0])
    half = spacing * rng.uniform(0.25, 0.4)
    for n, (x, y, value) in enumerate(zip(centres, heights, values)):
        if plan.kind == "bar chart":
            page.box(x - half, y, x + half, bottom, fill=colours[n % len(colours)])
        if plan.printed:
            page.text(x, y - (15 if plan.kind == "line chart" else 9), plan.shown(value), size, "ms")
        longest = max(len(name) for name in plan.names)
        page.text(x, bottom + 12, plan.names[n], min(size, spacing / max(1, longest) * 1.6), "ma")
    page.line(left, bottom, right, bottom, colour="#444444", width=1.5)


def _lying(page: _Page, plan: ChartPlan, split: str, rng: random.Random) -> None:
    """Bars to the right of their names."""
    (_, values), size = plan.series[0], rng.randint(16, 20)
    left, right, top, bottom = 170, page.width - 90, 80, page.height - 60
    end, ticks = _ticks(plan, values, rng)
    for tick in ticks:
        x = left + (right - left) * tick / end
        page.line(x, top, x, bottom, colour="#dddddd")
        page.text(x, bottom + 10, _number(tick), size, "ma")
    spacing = (bottom - top) / len(values)
    colour, half = palette.hues(rng, split, 1)[0], spacing * rng.uniform(0.25, 0.4)
    for n, value in enumerate(values):
        y, x = top + spacing * (n + 0.5), left + (right - left) * value / end
        page.box(left, y - half, x, y + half, fill=colour)
        page.text(left - 10, y, plan.names[n], size, "rm")
        if plan.printed:
            page.text(x + 8, y, plan.shown(value), size, "lm")
    page.line(left, top, left, bottom, colour="#444444", width=1.5)


def _pie(page: _Page, plan: ChartPlan, split: str, rng: random.Random) -> None:
    (_, values), size = plan.series[0], rng.randint(16, 20)
    colours = palette.hues(rng, split, len(values))
    x, y, radius = page.width * 0.42, page.height * 0.55, min(page.width, page.height) * 0.3
    legend, begin = rng.random() < 0.5, -90.0
    for n, value in enumerate(values):
        end = begin + 3.6 * value
        box = [c * _SCALE for c in (x - radius, y - radius, x + radius, y + radius)]
        page.pen.pieslice(box, begin, end, colours[n], "#ffffff", _SCALE)
        middle = math.radians((begin + end) / 2)
        near, far = (radius * 0.62, radius * 1.12)
        number = plan.shown(value)
        if plan.printed:
            place = (x + near * math.cos(middle), y + near * math.sin(middle))
            page.text(*place, number, size, "mm", "#ffffff")
        if not legend:
            anchor = "lm" if math.cos(middle) >= 0 else "rm"
            page.text(x + far * math.cos(middle), y + far * math.sin(middle), plan.names[n], size, anchor)
        else:
            row = page.height * 0.3 + n * size * 2
            page.box(
                page.width * 0.76, row - size * 0.45, page.width * 0.76 + size * 0.9, row + size * 0.45, fill=colours[n]
            )
            page.text(page.width * 0.76 + size * 1.3, row, plan.names[n], size, "lm")
        begin = end
