"""What the front end saw in one picture, as data and as the words that the language model is given."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

SURE, LIKELY, GUESS = 0.5, 0.2, 0.1
"""Confidence from which a class is stated plainly, as a likely one, or as a weak guess; below, it is not named."""
_PAGES = {"web page", "menu", "book cover", "crossword puzzle", "envelope", "packet", "scoreboard"}
"""What the classifier calls receipts, charts and documents: with much text it means no more than "a page"."""
_LETTERS = 1600  # of text shown to the language model; the rest is counted


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
        left, top, right, bottom = self.box
        down = ("top", "middle", "bottom")[min(2, int(1.5 * (top + bottom)))]
        across = ("left", "", "right")[min(2, int(1.5 * (left + right)))]
        return " ".join(word for word in ("" if down == "middle" and across else down, across) if word)


@dataclass(frozen=True)
class Evidence:
    """Everything that `builtin` knows of a picture. A part that failed is None and `problems` says why."""

    size: tuple[int, int]
    """Width and height, pixels, as opened."""
    objects: tuple[tuple[str, float], ...] | None
    """The five likeliest ImageNet classes by plain name with confidence, falling."""
    text: tuple[TextLine, ...] | None
    """In reading order."""
    colours: tuple[tuple[str, float], ...] | None
    """Name and share of the picture, falling."""
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        lines = None if self.text is None else [
            {**asdict(line), "box": list(line.box), "position": line.position} for line in self.text
        ]  # fmt: skip
        pairs = {
            name: None if value is None else [list(pair) for pair in value]
            for name, value in (("objects", self.objects), ("colours", self.colours))
        }
        return {"size": list(self.size), **pairs, "text": lines, "problems": list(self.problems)}

    def to_text(self) -> str:
        """Compact plain English, one statement a line; honest about what is unsure, absent or failed."""
        return "\n".join((self._object_words(), *self._text_words(), self._colour_words(), self._size_words()))

    def _object_words(self) -> str:
        if self.objects is None:
            return "The main object could not be recognised."
        (best, confidence), *others = self.objects
        if best in _PAGES and len({line.row for line in self.text or ()}) >= 4:
            return "The picture is mostly text, such as a page, a chart or a receipt."
        if confidence >= SURE:
            return f"The picture shows: {best}."
        guesses = ", ".join([best, *(name for name, share in others[:2] if share >= GUESS)])
        if confidence >= LIKELY:
            return f"The picture probably shows: {guesses}."
        unsure = "I am not sure what the main object is."
        return f"{unsure} Weak guess: {guesses}." if confidence >= GUESS else unsure

    def _text_words(self) -> list[str]:
        if self.text is None:
            return ["The text in the picture could not be read."]
        if not self.text:
            return ["No text was found in the picture."]
        rows: dict[int, list[str]] = {}
        for line in self.text:
            rows.setdefault(line.row, []).append(line.text)
        words, letters = ["The text in the picture reads:"], 0
        for done, pieces in enumerate(rows.values()):
            row = " | ".join(pieces)
            letters += len(row)
            if letters > _LETTERS:
                shown = row[: max(0, _LETTERS - letters + len(row))].rstrip() if done == 0 else ""
                return [*words, *([shown + "…"] if shown else []), f"({len(rows) - done} more lines are not shown.)"]
            words.append(row)
        return words

    def _colour_words(self) -> str:
        if not self.colours:
            return "The colours could not be measured."
        return "Main colours: " + ", ".join(f"{name} ({share:.0%})" for name, share in self.colours) + "."

    def _size_words(self) -> str:
        width, height = self.size
        shape = "square" if abs(width - height) * 20 <= height else "wide" if width > height else "tall"
        return f"The picture is {shape}: {width} by {height} pixels."
