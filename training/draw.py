"""Draws a scene: the layout, font and colours follow from its seed and its half of the split."""

from __future__ import annotations

import random

from PIL import Image, ImageDraw

from . import palette
from .draw_chart import draw_chart
from .scenes import Scene


def draw(scene: Scene) -> Image.Image:
    """The picture, RGB, 400 to 1,000 pixels a side."""
    rng = random.Random(f"draw {scene.kind} {scene.split} {scene.seed}")
    if scene.chart is not None:
        return draw_chart(scene.chart, scene.split, rng)
    return {"poster": _poster, "sign": _sign, "shapes": _shapes}.get(scene.kind, _document)(scene, rng)


def _document(scene: Scene, rng: random.Random) -> Image.Image:
    """Receipts, menus, tables and forms: lines below each other, cells in columns."""
    paper, ink = palette.paper(rng, scene.split)
    name, size = palette.family(rng, scene.split), rng.randint(17, 24)
    columns = max(len(line.cells) for line in scene.lines)
    width = rng.randint(440, 620) if columns <= 2 else rng.randint(180, 220) * columns
    gap, margin = size * rng.uniform(1.6, 2.2), rng.randint(30, 60)
    height = round(gap * (len(scene.lines) + 2) + 2 * margin + 2 * size)
    image = Image.new("RGB", (width, height), paper)
    pen, y = ImageDraw.Draw(image), float(margin)
    leaders = scene.kind == "menu" and rng.random() < (0.3 if scene.split == "train" else 0.5)
    grid = scene.kind == "table" and rng.random() < 0.5
    for line in scene.lines:
        big = {"title": rng.uniform(1.3, 2.0), "head": 1.25, "total": rng.choice((1.0, 1.2))}.get(line.role, 1.0)
        letters = _fit(pen, name, line, size * big, width - 2 * margin)
        if len(line.cells) == 1:
            left = line.role in ("field", "head", "note") or rng.random() < 0.1
            where, anchor = (margin, "la") if left else (width / 2, "ma")
            pen.text((where, y), line.cells[0], ink, letters, anchor)
        elif scene.kind == "form":
            pen.text((margin, y), line.cells[0], ink, letters)
            pen.text((width * 0.45, y), line.cells[1], ink, letters)
        elif len(line.cells) == 2 and columns == 2:
            pen.text((margin, y), line.cells[0], ink, letters)
            pen.text((width - margin, y), line.cells[1], ink, letters, "ra")
            if leaders:
                begin, end = pen.textlength(line.cells[0], letters), pen.textlength(line.cells[1], letters)
                dots = int((width - 2 * margin - begin - end - size) / pen.textlength(".", letters))
                pen.text((margin + begin + size / 2, y), "." * max(0, dots), ink, letters)
        else:
            for column, cell in enumerate(line.cells):
                pen.text((margin + column * (width - 2 * margin) / columns, y), cell, ink, letters)
            if grid:
                pen.line((margin - 8, y + gap * 0.85, width - margin + 8, y + gap * 0.85), "#999999")
        if line.role in ("date", "columns") and rng.random() < 0.6:
            pen.line((margin, y + size * 1.5, width - margin, y + size * 1.5), ink)
        y += gap * max(1.0, big)
    return image


def _fit(pen: ImageDraw.ImageDraw, name: str, line, size: float, room: float):
    """The font in the largest size, up to `size`, in which the line has room."""
    wanted = sum(pen.textlength(cell, palette.font(name, 20)) for cell in line.cells) / 20 + 1.5 * (len(line.cells) - 1)
    return palette.font(name, max(9, int(min(size, room / max(wanted, 1)))))


def _poster(scene: Scene, rng: random.Random) -> Image.Image:
    paper, ink = palette.paper(rng, scene.split)
    accent = palette.hues(rng, scene.split, 1)[0]
    width, height = rng.randint(480, 640), rng.randint(560, 800)
    image = Image.new("RGB", (width, height), paper)
    pen = ImageDraw.Draw(image)
    if rng.random() < 0.6:
        pen.rectangle((0, 0, width, rng.randint(20, 60)), accent)
        pen.rectangle((0, height - 30, width, height), accent)
    name = palette.family(rng, scene.split)
    step = (height - 160) / len(scene.lines)
    for n, line in enumerate(scene.lines):
        letters = _fit(pen, name, line, 54 if line.role == "title" else rng.randint(22, 30), width - 80)
        pen.text((width / 2, 100 + step * n), line.cells[0], ink, letters, "ma")
    return image


def _sign(scene: Scene, rng: random.Random) -> Image.Image:
    sky, board = rng.choice(("#9cc9ee", "#c8d4dc", "#b5d6a8")), palette.hues(rng, scene.split, 1)[0]
    width, height = rng.randint(560, 800), rng.randint(400, 560)
    image = Image.new("RGB", (width, height), sky)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, height * 0.8, width, height), rng.choice(("#5d9a53", "#8a8a80", "#a89060")))
    pen.rectangle((width / 2 - 12, height * 0.2, width / 2 + 12, height * 0.95), "#6f757a")
    box = (width * 0.1, height * 0.18, width * 0.9, height * 0.62)
    pen.rounded_rectangle(box, 12, board, "#ffffff", 5)
    name = palette.family(rng, scene.split)
    for n, line in enumerate(scene.lines):
        letters = _fit(pen, name, line, 60 if n == 0 else 34, width * 0.72)
        y = box[1] + (box[3] - box[1]) * (n + 1) / (len(scene.lines) + 1)
        pen.text((width / 2, y), line.cells[0], "#ffffff", letters, "mm")
    return image


def _shapes(scene: Scene, rng: random.Random) -> Image.Image:
    """Bands of colour, as sky, sea and sand, with a plain disc."""
    named = {"red": "#d62020", "orange": "#ff8c00", "yellow": "#ffe000", "green": "#20a030", "blue": "#0050d0",
             "purple": "#8030b0", "white": "#ffffff", "black": "#000000", "light blue": "#a8d0f0", "brown": "#7a4a20",
             "grey": "#808080"}  # fmt: skip
    width, height = rng.randint(400, 800), rng.randint(400, 800)
    image = Image.new("RGB", (width, height))
    pen = ImageDraw.Draw(image)
    for n, (_, colour) in enumerate(scene.shapes):
        pen.rectangle((0, height * n / 3, width, height * (n + 1) / 3), named[colour])
    return image
