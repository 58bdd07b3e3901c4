"""Charts by geometry: drawn charts with known values, their texts taken from the drawing instead of a text reader."""

import random
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from recap.targets.builtin.axis import Piece, scale_of
from recap.targets.builtin.chart import said
from recap.targets.builtin.charts import find_chart
from recap.targets.builtin.evidence import Evidence, TextLine
from recap.targets.builtin.text_reader import in_reading_order
from training import draw_chart
from training.scenes import ChartPlan

NAMES = ("North", "East", "South", "West", "Coast")
VALUES = (12.0, 46.0, 30.0, 21.0, 38.0)
UPRIGHT, LYING, LINE, PIE = "bar chart", "horizontal bar chart", "line chart", "pie chart"


@pytest.fixture
def drawn(monkeypatch):
    """drawn(plan, seed) -> (picture, text lines as they were drawn)."""
    noted = []
    plain = draw_chart._Page.text

    def text(page, x, y, words, size, anchor, colour=None):
        plain(page, x, y, words, size, anchor, colour)
        letters = draw_chart.palette.font(page.name, round(size * draw_chart._SCALE))
        box = page.pen.textbbox((x * draw_chart._SCALE, y * draw_chart._SCALE), words, letters, anchor)
        edges = [edge / side for edge, side in zip(box, page.image.size * 2)]
        noted.append((words, 0.99, tuple(edges)))

    monkeypatch.setattr(draw_chart._Page, "text", text)

    def draw(plan, seed=0, split="train"):
        noted.clear()
        image = draw_chart.draw_chart(plan, split, random.Random(seed))
        return image, tuple(in_reading_order(noted))

    return draw


def plan(kind, printed, names=NAMES, values=VALUES, title="Visitors by region"):
    unit = ""
    if kind == PIE:
        values, unit = tuple(round(100 * value / sum(values)) for value in values), "%"
        values = (*values[:-1], 100 - sum(values[:-1]))
    return ChartPlan(kind, title, names, (("", values),), printed, unit)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("split", ["train", "held"])
@pytest.mark.parametrize("printed", [True, False])
@pytest.mark.parametrize("kind", [UPRIGHT, LYING, LINE, PIE])
def test_kind_title_labels_and_values_are_found(drawn, kind, printed, split, seed):
    asked = plan(kind, printed)
    chart = find_chart(*drawn(asked, seed, split))
    assert chart is not None and chart.kind == kind and chart.title == "Visitors by region"
    (series,) = chart.series
    assert [mark.name for mark in series.marks] == list(NAMES)
    tolerance = 0 if printed else 1.0
    for mark, value in zip(series.marks, asked.series[0][1]):
        assert mark.printed == printed and abs(mark.value - value) <= tolerance
    assert ("about" in said(series.marks[0])) != printed


def test_what_is_said_of_a_chart(drawn):
    words = "\n".join(find_chart(*drawn(plan(UPRIGHT, True))).statements())
    assert "This is a bar chart with 5 bars." in words and "Title: Visitors by region." in words
    assert "Values: North 12, East 46, South 30, West 21, Coast 38." in words
    assert "Largest: East 46.\nSmallest: North 12." in words and "Sum: 147." in words
    assert "From largest to smallest: East, Coast, South, West, North." in words
    line = plan(LINE, True, names=("2019", "2020", "2021", "2022"), values=(10.0, 14.0, 22.0, 30.0))
    assert "it rises all the way." in "\n".join(find_chart(*drawn(line)).statements())


def test_a_number_that_contradicts_its_bar_is_not_believed(drawn):
    image, text = drawn(plan(UPRIGHT, True), seed=next(s for s in range(9) if "50" in texts(drawn, s)))
    wrong = tuple(replace(line, text="4") if line.text == "46" else line for line in text)
    mark = find_chart(image, wrong).series[0].marks[1]
    assert not mark.printed and abs(mark.value - 46) <= 1


def texts(drawn, seed):
    return [line.text for line in drawn(plan(UPRIGHT, True), seed)[1]]


def test_a_label_that_was_not_read_gets_the_colour_for_a_name(drawn):
    image, text = drawn(plan(UPRIGHT, True))
    chart = find_chart(image, tuple(line for line in text if line.text != "South"))
    names = [mark.name for mark in chart.series[0].marks]
    assert names[0] == "North" and names[2].endswith(" bar") and names[3] == "West"


def test_stacked_bars_and_pictures_without_a_chart_are_left_alone():
    image = Image.new("RGB", (600, 400), "white")
    pen = ImageDraw.Draw(image)
    for n, height in enumerate((80, 120, 160)):
        left = 100 + 150 * n
        pen.rectangle((left, 300 - height, left + 60, 299), "#0072B2")
        pen.rectangle((left, 240 - height, left + 60, 299 - height), "#D55E00")
    labels = tuple(TextLine(f"Part {n}", 0.9, ((0.17 + 0.25 * n), 0.8, 0.27 + 0.25 * n, 0.85), 0) for n in range(3))
    assert find_chart(image, labels) is None
    assert find_chart(Image.new("RGB", (300, 200), "white"), labels) is None
    assert find_chart(image, ()) is None


def test_a_legend_names_the_series_of_grouped_bars():
    image = Image.new("RGB", (640, 480), "white")
    pen, texts = ImageDraw.Draw(image), []

    def write(words, x, y):
        pen.text((x, y), words, "black", anchor="mm", font_size=18)
        box = pen.textbbox((x, y), words, anchor="mm", font_size=18)
        texts.append((words, 0.99, (box[0] / 640, box[1] / 480, box[2] / 640, box[3] / 480)))

    for n, (one, two) in enumerate(((10, 20), (30, 25), (15, 5))):
        left = 100 + 170 * n
        pen.rectangle((left, 400 - 10 * one, left + 49, 399), "#0072B2")
        pen.rectangle((left + 55, 400 - 10 * two, left + 104, 399), "#E69F00")
        write(("Mon", "Tue", "Wed")[n], left + 52, 420)
    for tick in (0, 10, 20, 30):
        write(str(tick), 60, 400 - 10 * tick)
    for n, (name, colour) in enumerate((("Cats", "#0072B2"), ("Dogs", "#E69F00"))):
        pen.rectangle((450 + 90 * n, 30, 463 + 90 * n, 43), colour)
        write(name, 490 + 90 * n, 37)
    chart = find_chart(image, tuple(in_reading_order(texts)))
    values = {series.name: [(mark.name, round(mark.value)) for mark in series.marks] for series in chart.series}
    assert values == {"Cats": [("Mon", 10), ("Tue", 30), ("Wed", 15)], "Dogs": [("Mon", 20), ("Tue", 25), ("Wed", 5)]}


def test_a_scale_needs_three_numbers_in_line():
    def tick(n, text, y, left=10.0):
        return Piece(n, text, left, y - 8, left + 8 * len(text), y + 8)

    ticks = [tick(n, str(20 * n), 400 - 80 * n) for n in range(5)]
    scale = scale_of([*ticks, tick(9, "17", 99, left=300.0)], vertical=True)
    assert len(scale.ticks) == 5 and scale.step == 20 and scale.value(400 - 4 * 33) == 33
    assert scale.shown(33.0) == "33"
    assert scale_of(ticks[:2], vertical=True) is None and scale_of([], vertical=True) is None
    percent = [tick(n, f"{20 * n}%", 400 - 80 * n) for n in range(4)]
    assert scale_of(percent, vertical=True).shown(40.0) == "40%"


def test_a_chart_is_in_the_evidence_as_data_and_as_words(drawn):
    image, text = drawn(plan(PIE, True))
    evidence = Evidence(image.size, (("web page", 0.9),), text, (("white", 0.8),), (), find_chart(image, text))
    data = evidence.to_dict()
    assert data["chart"]["kind"] == PIE and data["chart"]["series"][0]["marks"][0]["name"] == "North"
    assert data["words"] == evidence.to_text() and "This is a pie chart with 5 slices." in data["words"]
