"""Fonts and colours of drawn pictures, in two halves that share nothing."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

from PIL import ImageFont

_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "/Library/Fonts", "C:/Windows/Fonts")
_FONTS = {
    "train": ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif", "DejaVuSansMono", "DejaVuSansCondensed"),
    "held": ("LiberationSans-Regular", "LiberationSans-Bold", "LiberationSerif-Regular", "LiberationMono-Regular",
             "LiberationSansNarrow-Regular"),
}  # fmt: skip
_PAPERS = {  # paper, ink
    "train": (("#ffffff", "#222222"), ("#fdfcf8", "#1a1a1a"), ("#f0f4f8", "#203040"), ("#23313f", "#f5efe0"),
              ("#fff6dd", "#402010"), ("#eaf5ea", "#103010")),
    "held": (("#fafafa", "#000000"), ("#f4eefa", "#2a1040"), ("#1f2a24", "#e8f4e0"), ("#fbe9e4", "#3a1810")),
}  # fmt: skip
_HUES = {
    "train": ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#d62728", "#7b3fa0"),
    "held": ("#2a6fdb", "#e4572e", "#2e933c", "#b23a9a", "#f0b400", "#17a2a2", "#8c4a2f"),
}  # fmt: skip


def paper(rng: random.Random, split: str, light: bool = False) -> tuple[str, str]:
    """(paper, ink); `light`: dark ink on light paper only."""
    choices = [pair for pair in _PAPERS[split] if not light or int(pair[0][1:3], 16) > 128]
    return rng.choice(choices)


def hues(rng: random.Random, split: str, count: int) -> list[str]:
    """`count` different vivid colours, up to seven."""
    return rng.sample(_HUES[split], count)


def family(rng: random.Random, split: str) -> str:
    """The name of a font of this half that the machine has; "" where it has none: then Pillow's own serves both."""
    found = [name for name in _FONTS[split] if _path(name)]
    return rng.choice([*found, ""] if split == "train" else found or [""])


@lru_cache(maxsize=256)
def font(name: str, size: int) -> ImageFont.FreeTypeFont:
    """A font by the name that `family` gave, in pixels."""
    return ImageFont.truetype(_path(name), size) if name else ImageFont.load_default(size)


@lru_cache(maxsize=64)
def _path(name: str) -> str | None:
    for folder in _FOLDERS:
        for path in Path(folder).rglob(f"{name}.ttf"):
            return str(path)
    return None
