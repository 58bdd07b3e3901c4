"""What the front end saw in one picture, as data. `wording` puts it into the words the language model is given."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from .chart import Chart
from .facts import Facts, facts_of
from .rows import Row, rows_of


@dataclass(frozen=True)
class TextLine:
    """A piece of text. Untrusted: whoever made the picture wrote it."""

    text: str
    confidence: float
    """0 to 1."""
    box: tuple[float, float, float, float]
    """Left, top, right, bottom as fractions of width and height."""
    row: int
    """Pieces beside each other share a row; rows are numbered from the top."""

    @property
    def position(self) -> str:
        """Where its centre lies: "top left", "top", ..., "middle", ..., "bottom right"."""
        return position(self.box)


def position(box: tuple[float, float, float, float]) -> str:
    """Where the centre of (left, top, right, bottom) lies, in words."""
    left, top, right, bottom = box
    down = ("top", "middle", "bottom")[min(2, int(1.5 * (top + bottom)))]
    across = ("left", "", "right")[min(2, int(1.5 * (left + right)))]
    return " ".join(word for word in ("" if down == "middle" and across else down, across) if word)


@dataclass(frozen=True)
class Evidence:
    """Everything that `builtin` knows of a picture. A part that failed is None and `problems` says why."""

    size: tuple[int, int]
    """Width and height of the whole picture, pixels, which may have been looked at smaller."""
    objects: tuple[tuple[str, float], ...] | None
    """The five likeliest ImageNet classes by plain name with confidence, falling."""
    text: tuple[TextLine, ...] | None
    """In reading order."""
    colours: tuple[tuple[str, float], ...] | None
    """Name and share of the picture, falling."""
    places: tuple[tuple[str, str], ...] = ()
    """Main colour by place: ("top", "light blue"), ..."""
    chart: Chart | None = None
    """What a simple chart compares; None where there is none, or none that could be read."""
    problems: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> list[Row]:
        """The text in rows and cells."""
        return rows_of(self.text or ())

    @cached_property
    def facts(self) -> Facts:
        """What the rows amount to."""
        return facts_of(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; under "words" what the language model is given."""
        lines = None if self.text is None else [
            {**asdict(line), "box": list(line.box), "position": line.position} for line in self.text
        ]  # fmt: skip
        pairs = {
            name: None if value is None else [list(pair) for pair in value]
            for name, value in (("objects", self.objects), ("colours", self.colours), ("places", self.places))
        }
        chart = None if self.chart is None else self.chart.to_dict()
        return {
            "size": list(self.size), **pairs, "text": lines, "chart": chart, "words": self.to_text(),
            "problems": list(self.problems),
        }  # fmt: skip

    def to_text(self) -> str:
        """Compact plain English, one statement a line; honest about what is unsure, absent or failed."""
        from .wording import words_of

        return words_of(self)
