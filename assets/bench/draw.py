"""Draws the pictures of this folder as training draws its own: `PYTHONPATH=. python assets/bench/draw.py`."""

from __future__ import annotations

from pathlib import Path

from training.draw import draw
from training.scenes import make

SCENES = {
    "table.png": ("table", 501), "poster.png": ("poster", 500), "form.png": ("form", 500), "lane_sign.png": ("sign", 501),
    "line_chart.png": ("line-printed", 520), "pie_chart.png": ("pie-printed", 520),
}  # fmt: skip
"""File, kind and seed. Fonts, palettes and words are those kept for the exam, which training never saw."""

if __name__ == "__main__":
    for name, (kind, seed) in SCENES.items():
        draw(make(kind, "held", seed)).quantize(64).save(Path(__file__).parent / name, optimize=True)
