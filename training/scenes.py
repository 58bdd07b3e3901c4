"""What a drawn picture says, before it is drawn: lines with roles, or a chart, or coloured shapes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .words import DAYS, MONTHS, lists, varied

VARIED = 300_000
"""Seeds of training scenes from which on most names are of no list."""


@dataclass(frozen=True)
class Line:
    """A line of text: its cells, and what it is for ("title", "item", "total", "date", ...)."""

    role: str
    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join(self.cells)


@dataclass(frozen=True)
class ChartPlan:
    """A chart to be drawn: one list of values per series."""

    kind: str
    title: str
    names: tuple[str, ...]
    series: tuple[tuple[str, tuple[float, ...]], ...]
    printed: bool
    unit: str = ""

    def shown(self, value: float) -> str:
        """A value as it is printed: no needless zeros, with the unit."""
        text = f"{value:.1f}".rstrip("0").rstrip(".")
        return text + self.unit


@dataclass(frozen=True)
class Scene:
    """One picture. `seed` decides fonts, layout and colours when it is drawn."""

    kind: str
    split: str
    seed: int
    lines: tuple[Line, ...] = ()
    chart: ChartPlan | None = None
    shapes: tuple[tuple[str, str], ...] = ()
    """(colour, place) of a simple scene."""
    facts: dict[str, str] = field(default_factory=dict)
    """What an exam may ask: "total": "17.90", ..."""

    def said(self, role: str) -> list[Line]:
        """Lines of one role, in order."""
        return [line for line in self.lines if line.role == role]


def make(kind: str, split: str, seed: int) -> Scene:
    """The scene of a kind, the same for the same seed. `KINDS` lists the kinds; another one raises KeyError."""
    rng = random.Random(f"{kind} {split} {seed}")
    words = lists(split)
    if split == "train" and seed >= VARIED:
        words = varied(words, random.Random(f"words {kind} {seed}"))
    parts = KINDS[kind](rng, words)
    return Scene(kind, split, seed, **parts)


def _price(rng: random.Random, low: float = 0.6, high: float = 19) -> str:
    value = rng.uniform(low, high)
    return f"{round(value * 20) / 20:.2f}" if rng.random() < 0.6 else f"{value:.2f}"


def _date(rng: random.Random) -> str:
    day, month, year = rng.randint(1, 28), rng.randint(1, 12), rng.randint(2021, 2029)
    name = MONTHS[month - 1]
    forms = (f"{day} {name} {year}", f"{day} {name[:3]} {year}", f"{day:02}/{month:02}/{year}", f"{name} {day}, {year}",
             f"{day:02}.{month:02}.{year}", f"{year}-{month:02}-{day:02}")  # fmt: skip
    return rng.choice(forms)


def _receipt(rng: random.Random, words: dict) -> dict:
    sign = rng.choice(("", "", "", "£", "$", "€"))
    names = rng.sample(words["goods"], rng.randint(2, 8))
    prices = [_price(rng) for _ in names]
    total = f"{sum(round(float(price) * 100) for price in prices) / 100:.2f}"
    shop, date = rng.choice(words["shops"]), _date(rng)
    time = f"{rng.randint(8, 21):02}:{rng.randint(0, 59):02}"
    lines = [Line("title", (shop.upper() if rng.random() < 0.6 else shop,))]
    if rng.random() < 0.7:
        place = f"{rng.randint(1, 99)} {rng.choice(words['streets'])}, {rng.choice(words['towns'])}"
        lines.append(Line("address", (place,)))
    if rng.random() < 0.8:
        lines.append(Line("date", (date, time) if rng.random() < 0.7 else (date,)))
    lines += [Line("item", (name, sign + price)) for name, price in zip(names, prices)]
    label = rng.choice(("TOTAL", "Total", "TOTAL", "Total due", "Amount due", "Grand total"))
    lines.append(Line("total", (label, sign + total)))
    if rng.random() < 0.5:
        given = int(float(total)) + rng.choice((1, 5, 10))
        lines.append(Line("cash", ("Cash", f"{sign}{given}.00")))
        lines.append(Line("change", ("Change", f"{sign}{given - float(total):.2f}")))
    elif rng.random() < 0.4:
        lines.append(Line("card", ("Card", sign + total)))
    if rng.random() < 0.6:
        lines.append(Line("slogan", (rng.choice(words["slogans"]) + rng.choice(("", "!")),)))
    return {"lines": tuple(lines)}


def _menu(rng: random.Random, words: dict) -> dict:
    sign = rng.choice(("", "", "£", "$", "€"))
    dishes = rng.sample(words["dishes"], rng.randint(4, 9))
    lines = [Line("title", (rng.choice(words["restaurants"]),))]
    if rng.random() < 0.6:
        hours = rng.choice(
            ("Open daily from 11 to 22", "Lunch from 12:00 to 15:00", "Today's menu", "Breakfast all day")
        )
        lines.append(Line("note", (hours,)))
    heads = ("Starters", "Main dishes", "Desserts") if rng.random() < 0.6 else ("",)
    for n, head in enumerate(heads):
        if head:
            lines.append(Line("head", (head,)))
        lines += [Line("item", (dish, sign + _price(rng, 3, 24))) for dish in dishes[n :: len(heads)]]
    if rng.random() < 0.4:
        lines.append(Line("slogan", (rng.choice(words["slogans"]),)))
    return {"lines": tuple(lines)}


def _table(rng: random.Random, words: dict) -> dict:
    topic = rng.choice(("names", "products", "regions"))
    first = {"names": "Name", "products": "Product", "regions": "Region"}[topic]
    columns = {
        "names": ("Age", "City", "Score", "Points", "Team"), "products": ("Price", "Stock", "Sold", "Weight"),
        "regions": ("2023", "2024", "Shops", "Staff"),
    }[topic]  # fmt: skip
    chosen = [column for column in columns if column in rng.sample(columns, rng.randint(2, 3))]
    makers: dict[str, Callable[[], str]] = {
        "Age": lambda: str(rng.randint(18, 79)), "City": lambda: rng.choice(words["towns"]),
        "Team": lambda: rng.choice(("Red", "Blue", "Green")), "Price": lambda: _price(rng, 5, 200),
    }  # fmt: skip
    lines = [Line("title", (f"{rng.choice(words['measures'])} list",))] if rng.random() < 0.6 else []
    lines.append(Line("columns", (first, *chosen)))
    for name in rng.sample(words[topic], min(len(words[topic]), rng.randint(3, 7))):
        cells = (makers.get(column, lambda: str(rng.randint(2, 480)))() for column in chosen)
        lines.append(Line("row", (name, *cells)))
    return {"lines": tuple(lines)}


def _chart(kind: str, printed: bool) -> Callable[[random.Random, dict], dict]:
    def build(rng: random.Random, words: dict) -> dict:
        count = rng.randint(3, 5 if kind == "pie chart" else 7)
        measure = rng.choice(words["measures"])
        topic = rng.choice(("products", "regions", "causes", "sports", "months", "years", "days"))
        if kind == "line chart" and topic not in ("months", "years", "days"):
            topic = rng.choice(("months", "years", "days"))
        if kind == "pie chart":
            topic = rng.choice(("causes", "sports", "products"))
        start = rng.randint(0, 5)
        if topic == "months":
            names = [month[:3] for month in MONTHS[start : start + count]]
        elif topic == "days":
            names = [day[:3] for day in DAYS[:count]]
        elif topic == "years":
            names = [str(2014 + start + n) for n in range(count)]
        else:
            names = rng.sample(words[topic], count)
        top = rng.choice((10, 20, 50, 80, 100, 200, 500, 1000))
        values = [round(top * rng.uniform(0.1, 1.0), 1 if top <= 10 else 0) for _ in names]
        unit = ""
        if kind == "pie chart":
            weights = [rng.uniform(0.5, 3) for _ in names]
            values = [round(100 * weight / sum(weights)) for weight in weights]
            values[0] += 100 - sum(values)
            unit = "%"
        unit_words = rng.choice(("", "", " (thousands)", " (tonnes)"))
        by = {"months": "by month", "years": "by year", "days": "by day", "regions": "by region"}.get(topic, "by type")
        title = f"{measure} {by}{unit_words}" if rng.random() < 0.85 else ""
        return {"chart": ChartPlan(kind, title, tuple(names), (("", tuple(values)),), printed, unit)}

    return build


def _poster(rng: random.Random, words: dict) -> dict:
    lines = [Line("title", (rng.choice(words["events"]),))]
    day = f"{rng.choice(DAYS)}, {rng.randint(1, 28)} {rng.choice(MONTHS)}"
    hour = rng.randint(1, 11)
    rest = [
        Line("date", (day if rng.random() < 0.7 else _date(rng),)),
        Line("time", (rng.choice((f"{hour}:30 pm", f"{hour} pm", f"{hour + 12}:00", f"from {hour} am")),)),
        Line("place", (rng.choice(words["venues"]) + rng.choice(("", f", {rng.choice(words['towns'])}")),)),
        Line("price", (rng.choice((f"Tickets {_price(rng, 4, 30)}", "Free entry", f"Entry ${rng.randint(3, 25)}")),)),
        Line("slogan", (rng.choice(words["slogans"]),)),
    ]
    kept = [line for line in rest if rng.random() < 0.75] or rest[:2]
    return {"lines": (*lines, *kept)}


def _sign(rng: random.Random, words: dict) -> dict:
    if rng.random() < 0.6:
        lines = [Line("title", (rng.choice(words["signs"]),))]
        if rng.random() < 0.3:
            lines.append(Line("slogan", (rng.choice(words["slogans"]),)))
    else:
        lines = [Line("title", (rng.choice(words["streets"]),))]
        if rng.random() < 0.7:
            lines.append(Line("place", (f"{rng.choice(words['towns'])} {rng.randint(2, 60)} km",)))
    if rng.random() < 0.5:
        lines = [Line(line.role, tuple(map(str.upper, line.cells))) for line in lines]
    return {"lines": tuple(lines)}


def _form(rng: random.Random, words: dict) -> dict:
    name = f"{rng.choice(words['names'])} {rng.choice(words['surnames'])}"
    fields = {
        "Name": name, "Date of birth": _date(rng), "Address": f"{rng.randint(1, 99)} {rng.choice(words['streets'])}",
        "City": rng.choice(words["towns"]),
        "Phone": f"0{rng.randint(100, 999)} {rng.randint(100, 999)} {rng.randint(100, 999)}",
        "Email": f"{name.split()[0].lower()}@{rng.choice(('mail', 'post', 'web'))}.org",
        "Course": rng.choice(words["sports"]),
        "Member no.": str(rng.randint(1000, 99999)), "Date": _date(rng),
    }  # fmt: skip
    chosen = ["Name", *sorted(rng.sample(list(fields)[1:], rng.randint(3, 6)), key=list(fields).index)]
    title = rng.choice(("Registration form", "Application", "Membership form", "Booking request", "Order form"))
    together = rng.random() < 0.5
    lines = [Line("field", (f"{key}: {fields[key]}",) if together else (key + ":", fields[key])) for key in chosen]
    return {"lines": (Line("title", (title,)), *lines), "facts": {key: fields[key] for key in chosen}}


def _shapes(rng: random.Random, words: dict) -> dict:
    hues = ("red", "orange", "yellow", "green", "blue", "purple", "white", "black", "light blue", "brown", "grey")
    top, middle, bottom = rng.sample(hues, 3)
    return {"shapes": (("top", top), ("middle", middle), ("bottom", bottom))}


KINDS: dict[str, Callable[[random.Random, dict], dict]] = {
    "receipt": _receipt, "menu": _menu, "table": _table, "poster": _poster, "sign": _sign, "form": _form,
    "shapes": _shapes,
    **{
        f"{short}-{'printed' if printed else 'plain'}": _chart(kind, printed)
        for short, kind in (("bars", "bar chart"), ("hbars", "horizontal bar chart"), ("line", "line chart"),
                            ("pie", "pie chart"))
        for printed in (True, False)
    },
}  # fmt: skip
