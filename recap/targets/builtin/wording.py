"""Evidence as the language model reads it: short lines of plain English, what was computed last."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from .evidence import Evidence, position
from .families import GUESS, kinds_of, seen, with_article
from .rows import Row

PAGES = {"web page", "menu", "book cover", "crossword puzzle", "envelope", "packet", "scoreboard"}
"""What the classifier calls receipts, charts and documents: with much text it means no more than "a page"."""
_SHOWS = {"is": "shows", "is probably": "probably shows", "may be": "may show"}
_LETTERS = 1200  # of text shown to the language model; the rest is counted
_FEW = 8  # rows up to which each one's place is told
_LARGE, _SMALL = 1.5, 0.6  # of the median height


def words_of(evidence: Evidence) -> str:
    """One statement a line."""
    return "\n".join((*_opening(evidence), *_text(evidence), *_facts(evidence), *_colours(evidence), _size(evidence)))


def _opening(evidence: Evidence) -> list[str]:
    if evidence.chart is not None:
        return evidence.chart.statements()
    if evidence.facts.kind:
        return [f"This looks like {evidence.facts.kind}."]
    return [_object(evidence)]


def _object(evidence: Evidence) -> str:
    if not evidence.objects:
        return "The main object could not be recognised."
    (best, confidence), *_ = evidence.objects
    if best in PAGES and len(evidence.rows) >= 4:
        return "The picture is mostly text, such as a page, a poster or a form."
    verb, phrase = object_of(evidence.objects)
    if phrase:
        return f"The picture {_SHOWS[verb]}: {phrase}."
    unsure = "I am not sure what the main object is."
    return f"{unsure} Weak guess: {_guesses(evidence.objects)}." if confidence >= GUESS else unsure


def object_of(objects: Sequence[tuple[str, float]] | None) -> tuple[str, str]:
    """("is", "beagle (a dog)"), ("is", "a dog, perhaps beagle, basset"), ("is probably", "a dog"), ("may be", "beagle, umbrella");
    ("", "") where even that would be a weak guess."""
    best = seen(objects)
    if best.level == "name":
        return "is", f"{best.name} ({best.told})" if best.told else best.name
    if best.level == "maybe name":
        return "may be", _guesses(objects)
    if not best.level:
        return "", ""
    perhaps = f", perhaps {_guesses(objects, best.kind)}" if best.confidence >= GUESS else ""
    return "is" if best.level == "kind" else "is probably", with_article(best.kind) + perhaps


def _guesses(objects: Sequence[tuple[str, float]], kind: str = "") -> str:
    (best, _), *others = objects
    return ", ".join([best, *(name for name, share in others[:2] if share >= GUESS and (not kind or kind in kinds_of(name)))])


def _text(evidence: Evidence) -> list[str]:
    if evidence.text is None:
        return ["The text in the picture could not be read."]
    if not evidence.text:
        return ["No text was found in the picture."]
    if evidence.chart is not None:
        others = [line.text for n, line in enumerate(evidence.text) if n not in evidence.chart.used]
        others = [text for text in others if text not in evidence.chart.axis and any(map(str.isalpha, text))]
        return [f"Other text: {', '.join(others)[:200]}."] if others else []
    return ["The text in the picture reads:", *_rows(evidence.rows, placed=not evidence.facts.kind)]


def _rows(rows: Sequence[Row], placed: bool) -> list[str]:
    words, letters = [], 0
    for done, row in enumerate(rows):
        text = row.text
        letters += len(text)
        if letters > _LETTERS:
            shown = text[: max(0, _LETTERS - letters + len(text))].rstrip() if done == 0 else ""
            return [*words, *([shown + "…"] if shown else []), f"({len(rows) - done} more lines are not shown.)"]
        words.append(text + _look(row, rows, placed))
    return words


def _look(row: Row, rows: Sequence[Row], placed: bool) -> str:
    """Place and size where they tell something: " (top, large)"."""
    usual = median(other.height for other in rows) if len(rows) > 2 else min(other.height for other in rows)
    size = "large" if row.height >= _LARGE * usual else "small" if row.height <= _SMALL * usual else ""
    if len(rows) > _FEW or not placed:
        return " (large)" if size == "large" else ""
    place = position((row.spans[0][0], row.top, row.spans[-1][1], row.bottom))
    return f" ({', '.join(word for word in (place, size) if word)})"


def _facts(evidence: Evidence) -> list[str]:
    if evidence.chart is not None or not evidence.text:
        return []
    count = len(evidence.rows)
    return [f"{count} line{'s' if count > 1 else ''} of text.", *evidence.facts.statements]


def _colours(evidence: Evidence) -> list[str]:
    if not evidence.colours:
        return ["The colours could not be measured."]
    if evidence.chart is not None:
        marks = [mark for series in evidence.chart.series for mark in series.marks]
        named = ", ".join(dict.fromkeys(mark.colour for mark in marks))
        return [f"Colours: {named} on {evidence.colours[0][0]}."]
    words = [f"Main colours: {', '.join(name for name, _ in evidence.colours)}."]
    if evidence.places and len(evidence.rows) <= _FEW:
        grouped: dict[str, list[str]] = {}
        for place, name in evidence.places:
            grouped.setdefault(name, []).append(place)
        if len(grouped) > 1:
            words.append("By place: " + "; ".join(f"{' and '.join(at)} {name}" for name, at in grouped.items()) + ".")
    return words


def _size(evidence: Evidence) -> str:
    width, height = evidence.size
    shape = "square" if abs(width - height) * 20 <= height else "wide" if width > height else "tall"
    return f"The picture is {shape}: {width} by {height} pixels."
