"""Draws the example pictures of this folder, with Pillow's own font: `python assets/examples/draw.py`."""

from __future__ import annotations

import math
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).parent
SCALE = 2  # drawn twice as large and reduced, for smooth edges


class Sheet:
    """A canvas in final pixels."""

    def __init__(self, width: int, height: int, colour: str) -> None:
        self.image = Image.new("RGB", (width * SCALE, height * SCALE), colour)
        self.pen = ImageDraw.Draw(self.image)

    def text(self, x: float, y: float, words: str, size: float, colour="#222222", anchor="la", bold=False) -> None:
        stroke = max(1, round(size * SCALE / 40)) if bold else 0
        font = ImageFont.load_default(size * SCALE)
        self.pen.text((x * SCALE, y * SCALE), words, colour, font, anchor, stroke_width=stroke, stroke_fill=colour)

    def box(self, *edges: float, fill=None, outline=None, width=1, radius=0.0) -> None:
        edges = [edge * SCALE for edge in edges]
        self.pen.rounded_rectangle(edges, radius * SCALE, fill, outline, width * SCALE)

    def line(self, *points: float, colour: str = "#444444", width: float = 1):
        self.pen.line([point * SCALE for point in points], colour, round(width * SCALE))

    def shape(self, points: list[tuple[float, float]], colour: str):
        self.pen.polygon([(x * SCALE, y * SCALE) for x, y in points], colour)

    def save(self, name: str) -> None:
        self.image.reduce(SCALE).save(HERE / name, optimize=True)


def receipt() -> None:
    sheet = Sheet(520, 760, "#8a6f56")
    for row in range(0, 760, 38):
        sheet.line(0, row, 520, row + 14, colour="#7d634c", width=2)
    sheet.box(70, 30, 450, 730, fill="#fdfcf8")
    sheet.text(260, 60, "GREEN LEAF MARKET", 27, anchor="ma", bold=True)
    sheet.text(260, 100, "14 Harbour Street, Brighton", 18, anchor="ma")
    sheet.text(260, 126, "Tel. 01273 555 014", 18, anchor="ma")
    sheet.text(95, 170, "12 May 2025", 18)
    sheet.text(425, 170, "18:42", 18, anchor="ra")
    sheet.line(95, 205, 425, 205)
    items = [("Apples 1 kg", 2.40), ("Whole milk", 1.15), ("Rye bread", 3.20), ("Cheddar 200 g", 4.60),
             ("Tomatoes", 1.85), ("Orange juice", 2.75), ("Dark chocolate", 1.95)]  # fmt: skip
    for index, (name, price) in enumerate(items):
        sheet.text(95, 225 + 40 * index, name, 21)
        sheet.text(425, 225 + 40 * index, f"{price:.2f}", 21, anchor="ra")
    total = sum(price for _, price in items)
    sheet.line(95, 515, 425, 515)
    sheet.text(95, 532, "TOTAL", 27, bold=True)
    sheet.text(425, 532, f"{total:.2f}", 27, anchor="ra", bold=True)
    sheet.text(95, 578, "Cash", 21)
    sheet.text(425, 578, "20.00", 21, anchor="ra")
    sheet.text(95, 612, "Change", 21)
    sheet.text(425, 612, f"{20 - total:.2f}", 21, anchor="ra")
    sheet.text(260, 674, "Thank you, come again!", 20, anchor="ma")
    sheet.save("receipt.png")


def bar_chart() -> None:
    sheet = Sheet(800, 540, "#ffffff")
    sheet.text(400, 28, "Museum visitors in 2024 (thousands)", 28, anchor="ma", bold=True)
    values = {"Jan": 12, "Feb": 15, "Mar": 21, "Apr": 28, "May": 34, "Jun": 46}
    left, bottom, top = 100, 450, 100
    for tick in range(0, 51, 10):
        y = bottom - (bottom - top) * tick / 50
        sheet.line(left, y, 760, y, colour="#dddddd")
        sheet.text(left - 14, y, str(tick), 20, anchor="rm")
    for index, (month, value) in enumerate(values.items()):
        x, y = left + 40 + 108 * index, bottom - (bottom - top) * value / 50
        sheet.box(x, y, x + 62, bottom, fill="#0072B2")
        sheet.text(x + 31, y - 8, str(value), 21, anchor="ms", bold=True)
        sheet.text(x + 31, bottom + 14, month, 21, anchor="ma")
    sheet.line(left, bottom, 760, bottom, width=2)
    sheet.text(430, 500, "Month", 20, anchor="ma")
    sheet.save("bar_chart.png")


def street_sign() -> None:
    sheet = Sheet(760, 520, "#9cc9ee")
    for y in range(520):
        mix = y / 520
        red, green, blue = (round(dark + more * mix) for dark, more in ((110, 110), (170, 60), (225, 20)))
        sheet.line(0, y, 760, y, colour=f"#{red:02x}{green:02x}{blue:02x}")
    for x, y, r in ((90, 90, 34), (130, 76, 44), (178, 92, 32), (610, 60, 30), (648, 52, 38), (690, 64, 26)):
        sheet.box(x - r, y - r * 0.6, x + r, y + r * 0.6, fill="#ffffff", radius=r * 0.6)
    hills = [(x, 430 + 26 * math.sin(x / 90)) for x in range(0, 761, 10)]
    sheet.shape([*hills, (760, 520), (0, 520)], "#5d9a53")
    sheet.image = sheet.image.filter(ImageFilter.GaussianBlur(2))
    sheet.pen = ImageDraw.Draw(sheet.image)
    sheet.box(368, 90, 392, 500, fill="#6f757a")
    signs = (((120, 120, 640, 220), "MAPLE AVENUE", 52), ((170, 250, 590, 330), "City Centre  2 km", 38))
    for edges, words, size in signs:
        sheet.box(*edges, fill="#0b6b3a", outline="#ffffff", width=4, radius=12)
        sheet.text((edges[0] + edges[2]) / 2, (edges[1] + edges[3]) / 2, words, size, "#ffffff", "mm", bold=True)
    sheet.save("street_sign.png")


def menu() -> None:
    sheet = Sheet(640, 800, "#23313f")
    sheet.box(24, 24, 616, 776, outline="#d9b36c", width=3, radius=10)
    sheet.text(320, 60, "The Olive Tree", 46, "#f3e3bd", "ma", bold=True)
    sheet.text(320, 122, "Lunch menu, served from 12 to 3", 21, "#d8d2c4", "ma")
    sections = {
        "Starters": [("Tomato soup", "5.50"), ("Garlic bread", "4.20"), ("Greek salad", "6.80")],
        "Main dishes": [("Grilled salmon", "14.90"), ("Mushroom risotto", "12.50"), ("Chicken curry", "13.20")],
        "Desserts": [("Lemon tart", "6.00"), ("Chocolate cake", "6.50")],
    }
    y = 180
    for title, dishes in sections.items():
        sheet.text(80, y, title, 29, "#d9b36c", bold=True)
        y += 50
        for dish, price in dishes:
            sheet.text(80, y, dish, 24, "#ffffff")
            sheet.text(560, y, price, 24, "#ffffff", "ra")
            y += 40
        y += 24
    sheet.text(320, 722, "Vegetarian options on request", 20, "#d8d2c4", "ma")
    sheet.save("menu.png")


if __name__ == "__main__":
    for draw in (receipt, bar_chart, street_sign, menu):
        draw()
