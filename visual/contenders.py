"""How methods are told apart in pictures of a benchmark: by colour, and by dash and marker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .theme import COLOURS, palette

_HUES = (COLOURS["G"], COLOURS["C"], COLOURS["suffix"], COLOURS["U"], COLOURS["bonus"])
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "pentagon", "triangle-down", "hexagon")


class Look(NamedTuple):
    """Colour "#rrggbb", dash of a line and symbol of a marker, as Plotly names them."""

    colour: str
    dash: str
    symbol: str


def looks(names: Sequence[str], theme: str) -> dict[str, Look]:
    """A look for every name, no two alike: plain decoding (ar) has the colour that it has everywhere, other people's
    decoders the colour of text."""
    others = iter(range(len(names)))
    found = {}
    for name in names:
        if name == "ar":
            found[name] = Look(COLOURS["ar"], "dash", "line-ns-open")
        elif name in ("transformers", "prompt_lookup"):
            kind = "dot" if name == "transformers" else "dashdot"
            found[name] = Look(palette(theme).muted, kind, "circle-open" if kind == "dot" else "square-open")
        else:
            at = next(others)
            dash = _DASHES[at // len(_HUES) % len(_DASHES)]
            found[name] = Look(_HUES[at % len(_HUES)], dash, _SYMBOLS[at % len(_SYMBOLS)])
    return found
