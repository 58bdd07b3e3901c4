"""The exam: questions about held-out pictures in words that training never used (`exam_words`), with what an answer
must say."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from recap.targets.builtin.numbers import read_number

from .exam_words import ASKED
from .scenes import ChartPlan, Scene

CATEGORIES = ("reading", "receipts, tables, menus", "charts with values", "charts without", "honesty", "photos")
_NOT_SEEN = re.compile(
    r"\b(can(no|')?t (see|tell|find|say)|cannot (see|tell|find|say)|don'?t (see|know)|do not (see|know)|isn'?t|"
    r"(is|are) not (among|in|there|listed)|aren'?t|"
    r"there is no|there's no|not (listed|given|shown|visible|sure|in the (picture|chart|form))|no,|"
    r"no \w+ (is|was|are)|doesn'?t say|does not say)",
    re.I,
)


@dataclass(frozen=True)
class Question:
    """One question of the exam. `wanted`: every one of these must be said; `rivals`: none of these before the first."""

    category: str
    text: str
    wanted: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    near: tuple[float, float] | None = None
    """(value, tolerance): some number of the answer must lie this close, instead of a literal one."""
    unseen: bool = False
    """The honest answer is that it cannot be seen."""


def right(question: Question, answer: str) -> bool:
    """Whether the answer says what it must, regardless of capitals, commas and spaces."""
    if question.unseen:
        return bool(_NOT_SEEN.search(answer))
    told = _plain(answer)
    if question.near is not None:
        value, tolerance = question.near
        numbers = [float(found) for found in re.findall(r"\d+(?:\.\d+)?", answer.replace(",", ""))]
        labels = {float(found) for rival in question.rivals for found in re.findall(r"\d+(?:\.\d+)?", rival)}
        if not any(abs(number - value) <= tolerance for number in numbers if number not in labels):
            return False
    places = [_find(_plain(word), told) for word in question.wanted]
    if any(place < 0 for place in places):
        return False
    if not places:
        return True
    others = [_find(_plain(rival), told) for rival in question.rivals]
    return all(other < 0 or other > min(places) for other in others)


def _plain(text: str) -> str:
    return re.sub(r"[\s,;:\"'|*]+", " ", text.lower()).strip()


def _find(word: str, told: str) -> int:
    """Where `word` stands in `told` with no letter or digit beside it, -1 if nowhere."""
    match = re.search(rf"(?<![\w]){re.escape(word)}(?![\w]|\.\d)", told)
    return match.start() if match else -1


def questions(scene: Scene) -> Iterator[Question]:
    """Those that a held-out scene gives rise to, the truth being what was drawn."""
    rng = random.Random(f"exam {scene.kind} {scene.seed}")
    if scene.chart is not None:
        yield from _chart(scene.chart, rng)
    elif scene.shapes:
        by = dict(scene.shapes)
        yield Question("honesty", _asked(rng, "print.absent"), unseen=True)
        for place, others in (("bottom", ("top", "middle")), ("top", ("bottom", "middle"))):
            rivals = tuple(by[other] for other in others)
            yield Question("reading", _asked(rng, f"colour.{place}"), (by[place],), rivals)
    else:
        yield from {"receipt": _receipt, "menu": _menu, "table": _table, "form": _form}.get(scene.kind, _words)(
            scene, rng
        )
    thing = rng.choice(("an elephant", "a bridge", "a guitar", "a fountain", "an aeroplane", "a ladder", "a sheep"))
    yield Question("honesty", _asked(rng, "thing.absent", thing=thing), unseen=True)


def _asked(rng: random.Random, kind: str, **names: str) -> str:
    return rng.choice(ASKED[kind]).format(**names)


def _words(scene: Scene, rng: random.Random) -> Iterator[Question]:
    first = scene.lines[0].text
    yield Question("reading", _asked(rng, "words.first"), (first,))
    yield Question("reading", _asked(rng, "words.all"), tuple(line.text for line in scene.lines))
    for role in ("date", "place", "time"):
        for line in scene.said(role)[:1]:
            yield Question("reading", _asked(rng, f"words.{role}"), (line.cells[0],))
    if scene.kind == "poster" and not scene.said("price"):
        yield Question("honesty", _asked(rng, "poster.price_absent"), unseen=True)


def _form(scene: Scene, rng: random.Random) -> Iterator[Question]:
    for key, value in rng.sample(sorted(scene.facts.items()), 2):
        yield Question("reading", _asked(rng, "form.field", key=key.lower()), (value,))
    yield Question("reading", _asked(rng, "form.title"), (scene.lines[0].text,))
    missing = [key for key in ("Email", "Phone", "City", "Course") if key not in scene.facts]
    if missing:
        yield Question("honesty", _asked(rng, "form.absent", key=missing[0].lower()), unseen=True)


def _items(scene: Scene, rng: random.Random) -> Iterator[Question]:
    items = [line.cells for line in scene.said("item")]
    values = [read_number(price).value for _, price in items]
    name, price = rng.choice(items)
    category = "receipts, tables, menus"
    yield Question(category, _asked(rng, "item.price", name=name), (_digits(price),))
    if values.count(max(values)) == 1:
        high = items[values.index(max(values))]
        others = tuple(name for name, _ in items if name != high[0])
        yield Question(category, _asked(rng, "item.dearest"), (high[0],), others)
    if values.count(min(values)) == 1:
        low = items[values.index(min(values))]
        others = tuple(name for name, _ in items if name != low[0])
        yield Question(category, _asked(rng, "item.cheapest"), (low[0],), others)
    missing = rng.choice(("oysters", "sausages", "strawberries", "dumplings"))
    yield Question("honesty", _asked(rng, "item.absent", name=missing), unseen=True)


def _digits(price: str) -> str:
    return price.strip("£$€")


def _receipt(scene: Scene, rng: random.Random) -> Iterator[Question]:
    category = "receipts, tables, menus"
    total = _digits(scene.said("total")[0].cells[1])
    yield Question(category, _asked(rng, "receipt.total"), (total,))
    yield from _items(scene, rng)
    for line in scene.said("date"):
        yield Question(category, _asked(rng, "receipt.date"), (line.cells[0],))
    for line in scene.said("change"):
        yield Question(category, _asked(rng, "receipt.change"), (_digits(line.cells[1]),))
    yield Question("reading", _asked(rng, "receipt.store"), (scene.lines[0].text,))


def _menu(scene: Scene, rng: random.Random) -> Iterator[Question]:
    yield from _items(scene, rng)
    count = len(scene.said("item"))
    yield Question("receipts, tables, menus", _asked(rng, "menu.count"), near=(count, 0))
    yield Question("reading", _asked(rng, "menu.name"), (scene.lines[0].text,))


def _table(scene: Scene, rng: random.Random) -> Iterator[Question]:
    category = "receipts, tables, menus"
    head, body = scene.said("columns")[0].cells, [line.cells for line in scene.said("row")]
    for row in rng.sample(body, 2):
        column = rng.randrange(1, len(head))
        yield Question(category, _asked(rng, "table.cell", column=head[column].lower(), row=row[0]), (row[column],))
    yield Question(category, _asked(rng, "table.count"), near=(len(body), 0))
    for column in range(1, len(head)):
        values = [read_number(row[column]) for row in body]
        if all(values) and len({number.value for number in values}) == len(values):
            high = max(zip(values, body), key=lambda pair: pair[0].value)[1]
            others = tuple(row[0] for row in body if row[0] != high[0])
            yield Question(category, _asked(rng, "table.greatest", column=head[column].lower()), (high[0],), others)


def _chart(plan: ChartPlan, rng: random.Random) -> Iterator[Question]:
    category = "charts with values" if plan.printed else "charts without"
    values = dict(zip(plan.names, plan.series[0][1]))
    grain = (100 if plan.kind == "pie chart" else max(values.values())) * (0.0 if plan.printed else 0.05)
    name = rng.choice(plan.names)
    years = (name,) if _year(name) else ()
    yield Question(category, _asked(rng, "chart.value", name=name), rivals=years, near=(values[name], grain))
    order = sorted(values, key=lambda key: -values[key])
    if values[order[0]] > 1.05 * values[order[1]]:
        yield Question(category, _asked(rng, "chart.largest"), (order[0],), tuple(order[1:]))
    if values[order[-1]] < 0.95 * values[order[-2]]:
        yield Question(category, _asked(rng, "chart.smallest"), (order[-1],), tuple(order[:-1]))
    yield Question(category, _asked(rng, "chart.count", parts=_PARTS[plan.kind]), near=(len(values), 0))
    if plan.title:
        yield Question("reading", _asked(rng, "chart.title"), (plan.title,))
    missing = rng.choice(("Saturn", "Silver", "1887", "Pepper"))
    yield Question("honesty", _asked(rng, "chart.absent", name=missing), unseen=True)


_PARTS = {"bar chart": "bars", "horizontal bar chart": "bars", "line chart": "points", "pie chart": "slices"}


def _year(name: str) -> bool:
    return bool(re.fullmatch(r"\d{4}", name))
