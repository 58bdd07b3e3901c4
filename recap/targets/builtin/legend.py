"""Names of colours: a small swatch with a word to its right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from .axis import Piece
from .patches import Sheet

_SYMBOL = re.compile(r"^\W+\s*")


def legend_of(sheet: Sheet, pieces: Sequence[Piece]) -> dict[int, Piece]:
    """Colour index to the text beside its swatch; empty without a legend of two entries or more.

    The text reader may take the swatch for a character, such as a black square: then it lies in the piece itself.
    """
    found: dict[int, Piece] = {}
    for piece in pieces:
        if piece.number is not None:
            continue
        for patch in sheet.patches:
            gap = piece.left - patch.right
            centre = (patch.top + patch.bottom) / 2
            beside = -1.5 * piece.height <= gap <= 1.6 * piece.height and abs(centre - piece.y) <= 0.5 * piece.height
            swatch = patch.height <= 1.6 * piece.height and patch.width <= 4 * piece.height and patch.fill >= 0.5
            if beside and swatch:
                found.setdefault(patch.colour, replace(piece, text=_SYMBOL.sub("", piece.text)))
    return found if len(found) >= 2 else {}
