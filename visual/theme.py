"""Colours and fonts, the same in every picture. Each colour is also told by a letter, a shape or a place."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

Theme = Literal["light", "dark"]

COLOURS = {
    "G": "#0072B2",
    "C": "#009E73",
    "U": "#E69F00",
    "suffix": "#CC79A7",
    "bonus": "#56B4E9",
    "ar": "#D55E00",
}
"""Okabe and Ito's colours, told apart by colour-blind people too."""
NAMES = {
    "G": "last three tokens, this request",
    "C": "last two tokens, this request",
    "U": "last token, whole session",
    "suffix": "what followed when the text ended like this before",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
"""Only fonts that a machine has already: no page here asks for a web font."""


@dataclass(frozen=True)
class Palette:
    """The greys of a theme."""

    background: str
    ink: str
    """Text, and the accepted path."""
    muted: str
    """Text that steps back: at least 4.5 : 1 on the background."""
    quiet: str
    """Lines and outlines of refused nodes."""
    tint: float
    """Share of its colour that a refused node keeps."""
    hover: str


PALETTES: dict[str, Palette] = {
    "light": Palette(background="#ffffff", ink="#16202c", muted="#616b78", quiet="#a9b3bf", tint=0.28, hover="#ffffff"),
    "dark": Palette(background="#151a21", ink="#eef2f7", muted="#9aa6b4", quiet="#7c8a9b", tint=0.45, hover="#222a34"),
}


def palette(theme: str) -> Palette:
    """Raises ValueError for a name that is no theme."""
    if theme not in PALETTES:
        raise ValueError(f"theme must be light or dark, got {theme!r}")
    return PALETTES[theme]


def variables(theme: str) -> str:
    """The colours that the style sheets ask for, as CSS: "--ink: #16202c; ..."."""
    greys = palette(theme)
    hues = {f"--{name}": colour for name, colour in COLOURS.items()}
    rest = {"--ink": greys.ink, "--muted": greys.muted, "--quiet": greys.quiet, "--ground": greys.background}
    return " ".join(f"{name}: {value};" for name, value in {**hues, **rest}.items())


@cache
def mix(colour: str, other: str, share: float) -> str:
    """`share` of one "#rrggbb" colour in another."""
    pairs = zip(_channels(colour), _channels(other))
    return "#" + "".join(f"{round(share * one + (1 - share) * two):02x}" for one, two in pairs)


def contrast(colour: str, other: str) -> float:
    """The contrast ratio of WCAG 2, 1 to 21."""
    low, high = sorted((_luminance(colour), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


@cache
def letter_on(fill: str) -> str:
    """Black or white, whichever reads better on a fill."""
    return max("#000000", "#ffffff", key=lambda letter: contrast(letter, fill))


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in _channels(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
