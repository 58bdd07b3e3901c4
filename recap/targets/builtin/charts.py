"""The chart in a picture, if there is a simple one."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

from .axis import pieces_of
from .bars import find_bars
from .chart import Chart
from .lines import find_lines
from .patches import Sheet
from .pies import find_pie

_FEWEST = 3  # pieces of text: with fewer there are no labels to go by


def find_chart(image: Image.Image, text: Sequence) -> Chart | None:
    """Pie, bars or lines from geometry and the text lines found, else None. Some tens of milliseconds."""
    if len(text) < _FEWEST:
        return None
    sheet = Sheet(image)
    pieces = pieces_of(text, sheet.width, sheet.height)
    for find in (find_pie, find_bars, find_lines):
        if (chart := find(sheet, pieces)) is not None:
            return chart
    return None
