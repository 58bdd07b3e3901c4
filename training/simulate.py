"""A fast stand-in for drawing and looking: the evidence the front end would give for a scene, its mistakes included."""

from __future__ import annotations

import random
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache

from recap.targets.builtin.axis import Scale
from recap.targets.builtin.chart import Chart, Mark, Series
from recap.targets.builtin.colours import NAMES
from recap.targets.builtin.evidence import Evidence, TextLine
from recap.targets.builtin.families import kinds_of
from recap.targets.builtin.front_end import class_names

from .draw_chart import ticks_of
from .scenes import Line, Scene
from .words import lists

_MISREAD = {"O": "0", "l": "1", "I": "l", "S": "5", "rn": "m", "e": "c", "B": "8", "é": "e"}
_SPOILT = 0.02  # share of pieces with a letter misread, of spaces lost as many again
_MISSED = 0.03  # share of labels and of printed numbers beside bars that are not found
_AXES = {"month": "Month", "year": "Year", "day": "Day", "region": "Region"}
_VIVID = ("blue", "orange", "green", "pink", "red", "purple", "teal", "yellow")


def simulate(scene: Scene, noise: float = 1.0) -> tuple[Scene, Evidence]:
    """The scene as it would be read, and the evidence. `noise` scales the mistakes; the same call gives the same."""
    rng = random.Random(f"simulate {scene.kind} {scene.split} {scene.seed}")
    size = (rng.randint(400, 1000), rng.randint(400, 1000))
    if scene.chart is not None:
        return _chart(scene, rng, size, noise)
    if scene.shapes:
        return _shapes(scene, rng, size)
    spoilt = tuple(replace(line, cells=tuple(_spoil(cell, rng, noise) for cell in line.cells)) for line in scene.lines)
    scene = replace(scene, lines=spoilt)
    text = tuple(piece for number, line in enumerate(spoilt) for piece in _pieces(scene, line, number, rng))
    colours = _colours(rng)
    return scene, Evidence(size, _objects(rng, scene.kind), text, colours, _places(rng, colours))


def photo(split: str, seed: int) -> Evidence:
    """Evidence as of a photo: an object more or less sure, colours, no text."""
    rng = random.Random(f"photo {split} {seed}")
    names = class_names()
    half = [name for n, name in enumerate(names) if (n % 5 == 0) == (split == "held")]
    first = rng.choice((rng.uniform(0.5, 0.99), rng.uniform(0.5, 0.99), rng.uniform(0.2, 0.5), rng.uniform(0.02, 0.2)))
    shares, left = [first], 1 - first
    for _ in range(4):
        shares.append(min(shares[-1], left * rng.uniform(0.2, 0.7)))
        left -= shares[-1]
    objects = tuple((name, round(share, 4)) for name, share in zip(_alike(half, rng), shares))
    colours = _colours(rng)
    size = (rng.randint(300, 4000), rng.randint(300, 4000))
    stray = _stray(rng) if split == "train" else ()
    return Evidence(size, objects, stray, colours, _places(rng, colours))


def _alike(names: list[str], rng: random.Random) -> list[str]:
    """Five classes: any, or ones that a classifier takes for each other."""
    best = rng.choice(names)
    same = [name for name in names if name != best and {*kinds_of(best)[:1]} & {*kinds_of(name)}]
    others = same if len(same) >= 4 and rng.random() < 0.6 else [name for name in names if name != best]
    return [best, *rng.sample(others, 4)]


def _stray(rng: random.Random) -> tuple[TextLine, ...]:
    """Text that photos have by the way: a word on a cup, the number of a car, what is none at all."""
    count = rng.choice((0, 0, 0, 1, 1, 2, 3))
    names = lists("train")
    found = []
    for row in range(count):
        word = rng.choice((*names["shops"], *names["signs"], *names["towns"], str(rng.randint(1, 9999)), "SM",
            "1L", "ho", "EXIT"))
        left, top = rng.uniform(0, 0.7), 0.1 + 0.25 * row + rng.uniform(0, 0.2)
        found.append(TextLine(word, 0.8, (left, top, left + 0.2, top + rng.uniform(0.02, 0.1)), row))
    return tuple(found)


def as_read(scene: Scene, evidence: Evidence) -> Scene:
    """The scene with every line as the real front end read it; lines it missed, or cut differently, are left out."""
    rows, kept, at = [row.cells for row in evidence.rows], [], 0
    for line in scene.lines:
        for number in range(at, len(rows)):
            alike = SequenceMatcher(None, " ".join(rows[number]), line.text).ratio()
            if alike > 0.75 and len(rows[number]) == len(line.cells):
                kept.append(Line(line.role, rows[number]))
                at = number + 1
                break
    return replace(scene, lines=tuple(kept))


def _spoil(text: str, rng: random.Random, noise: float) -> str:
    if rng.random() < _SPOILT * noise:
        good = [wrong for wrong in _MISREAD if wrong in text and not any(map(str.isdigit, text))]
        if good:
            wrong = rng.choice(good)
            text = text.replace(wrong, _MISREAD[wrong], 1)
    if rng.random() < _SPOILT * noise and text.count(" ") == 1:
        text = text.replace(" ", "")
    return text


def _pieces(scene: Scene, line: Line, number: int, rng: random.Random) -> list[TextLine]:
    step = 0.9 / max(len(scene.lines), 3)
    height = step * 0.5 * (1.7 if line.role == "title" and rng.random() < 0.6 else 1.0)
    top = 0.05 + number * step
    count = len(line.cells)
    found = []
    for column, cell in enumerate(line.cells):
        wide = min(0.8 / count, 0.02 * len(cell) + 0.02)
        if count == 1:
            left = 0.5 - wide / 2
        elif count == 2 and scene.kind in ("receipt", "menu"):
            left = 0.1 if column == 0 else 0.9 - wide
        else:
            left = 0.1 + column * 0.8 / count
        found.append(TextLine(cell, 0.98, (left, top, left + wide, top + height), number))
    return found


def _chart(scene: Scene, rng: random.Random, size: tuple[int, int], noise: float) -> tuple[Scene, Evidence]:
    plan = scene.chart
    end, ticks = ticks_of(max(max(values) for _, values in plan.series))
    scale = Scale(-1.0, 0.0, ticks[1] - ticks[0], (), "")
    palette = rng.sample(_VIVID, len(_VIVID))
    one = rng.random() < 0.7 and plan.kind != "pie chart"
    series = []
    for name, values in plan.series:
        marks = []
        for number, (label, value) in enumerate(zip(plan.names, values)):
            colour = palette[0 if one else number % len(palette)]
            if rng.random() < _MISSED * noise:
                label = f"the {colour} slice" if plan.kind == "pie chart" else f"{colour} bar"
            if plan.printed and rng.random() >= _MISSED * noise:
                marks.append(Mark(label, value, plan.shown(value), True, colour, value))
                continue
            if plan.kind == "pie chart":
                near = max(1, round(value + rng.gauss(0, 0.4 * noise)))
                marks.append(Mark(label, near, f"{near}%", False, colour, near / 100))
                continue
            near = max(0.0, scale.value(-(value + rng.gauss(0, 0.004 * end * noise))))
            marks.append(Mark(label, near, scale.shown(near), False, colour, near))
        series.append(Series(name, tuple(marks)))
    title = _spoil(plan.title, rng, noise)
    axis = _AXES.get(plan.title.rpartition(" by ")[2].split(" ")[0], "") if rng.random() < 0.2 else ""
    chart = Chart(plan.kind, title, tuple(series), axis, tuple(range(len(plan.names) + bool(title))))
    boxes = (0.1, 0.1, 0.2, 0.15)
    text = tuple(TextLine(words, 0.98, boxes, n) for n, words in enumerate((*((title,) if title else ()), *plan.names)))
    paper = (rng.choice(("white", "white", "beige", "light blue")), round(rng.uniform(0.6, 0.9), 3))
    return scene, Evidence(size, _objects(rng, "chart"), text, (paper,), (), chart)


def _shapes(scene: Scene, rng: random.Random, size: tuple[int, int]) -> tuple[Scene, Evidence]:
    by = dict(scene.shapes)
    colours = tuple((name, 0.333) for name in by.values())
    middle = by["middle"]
    places = (("top", by["top"]), ("left", middle), ("middle", middle), ("right", middle), ("bottom", by["bottom"]))
    return scene, Evidence(size, _objects(rng, "shapes"), (), colours, places)


def _objects(rng: random.Random, kind: str) -> tuple[tuple[str, float], ...]:
    if kind in ("poster", "sign", "shapes"):
        first = rng.choice((rng.uniform(0.03, 0.1), rng.uniform(0.1, 0.2), rng.uniform(0.2, 0.45)))
        best = "street sign" if kind == "sign" and rng.random() < 0.6 else rng.choice(_class_names())
    else:
        first, best = rng.uniform(0.3, 0.95), "web page"
    return ((best, round(first, 4)), *((name, 0.02) for name in rng.sample(_class_names(), 4)))


@lru_cache(maxsize=1)
def _class_names() -> list[str]:
    return class_names()


def _colours(rng: random.Random) -> tuple[tuple[str, float], ...]:
    names, left, found = rng.sample(NAMES, rng.randint(1, 5)), 1.0, []
    for name in names:
        share = left * rng.uniform(0.4, 0.9)
        left -= share
        if not found or share >= 0.04:
            found.append((name, round(share, 3)))
    return tuple(found)


def _places(rng: random.Random, colours: tuple[tuple[str, float], ...]) -> tuple[tuple[str, str], ...]:
    names = [name for name, _ in colours]
    return tuple((place, rng.choice(names)) for place in ("top", "left", "middle", "right", "bottom"))
