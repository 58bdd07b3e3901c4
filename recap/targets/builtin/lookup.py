"""What a question is about, looked up in the evidence and put right before it.

A model of 135 M parameters copies from the line before far better than it finds a cell in a grid, and it rarely notices
that something is not there. Nothing is inferred here: words of the question are matched with names that the picture
holds, and with plain words for what was computed ("largest", "cheapest", "how many"); what it names and the picture
does not is said too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .absent import lacks, missing
from .entries import Entry, Index
from .plain_words import COMMON, words_of

MOST = 3
"""Entries shown before a question."""


def found(question: str, pictures: Sequence[Index]) -> str:
    """One line with the entries that the question names, at most `MOST`, and with names that are in none of the
    pictures; "" where there is neither.

    Entries all of whose words are in the question go before those that share some of them, and leave those out; so
    does "Anna, City" leave out "Anna".
    """
    asked = words_of(question)
    worded = (pair for picture in pictures for pair in picture.worded if not pair[1].unless & asked)
    named = [(words, entry) for words, entry in worded if _meant(entry.name, question)]
    absent = _absent(question, pictures)
    whole = [(words, entry) for words, entry in named if words <= asked and entry.kind != "weak"]
    if absent:
        whole = [(words, entry) for words, entry in whole if entry.kind == "name"]
    best = [entry for words, entry in whole if not any(words < others for others, _ in whole)]
    if not best and not absent:
        best = _partly(named, asked)
        plain = _most_asked([(words, entry) for words, entry in named if words <= asked and entry.kind == "weak"])
        best = [*plain, *best] if not any(": " in entry.text for entry in best) else best
    told = list(dict.fromkeys(entry.text for entry in best))[:MOST]
    parts = [f"The picture says: {'; '.join(told)}."] if told else []
    return " ".join([*parts, *(f"No {thing} in the picture." for thing in absent)])


def _meant(name: str, question: str) -> bool:
    """A label of one letter is no word of the sentence: it stands there as it is printed."""
    if name == "a":
        return False
    return len(name) > 1 or re.search(rf"(?<!\w){re.escape(name)}(?!\w)(?!')", question) is not None


def _most_asked(matched: list[tuple[frozenset[str], Entry]]) -> list[Entry]:
    """Of entries for plain words, those whose text most words ask for: "day of purchase" means the date, not the
    shop."""
    votes: dict[str, int] = {}
    for _, entry in matched:
        votes[entry.text] = votes.get(entry.text, 0) + 1
    most = max(votes.values(), default=0)
    return [entry for _, entry in matched if votes[entry.text] == most]


def _partly(named: Sequence[tuple[frozenset[str], Entry]], asked: set[str]) -> list[Entry]:
    found = []
    for words, entry in named:
        telling = [word for word in words & asked if word not in COMMON and len(word) > 2]
        if telling and entry.kind == "name":
            found.append((len(telling) / len(words), entry))
    return [entry for _, entry in sorted(found, key=lambda scored: -scored[0])]


def _absent(question: str, pictures: Sequence[Index]) -> list[str]:
    def joint(sets: Iterable[frozenset[str]]) -> frozenset[str]:
        return frozenset().union(*sets)

    things = []
    if any(picture.listed for picture in pictures):
        things = missing(question, joint(one.known for one in pictures), "".join(one.letters for one in pictures),
                         any(one.form for one in pictures))  # fmt: skip
    if not things and pictures and (kind := lacks(question, joint(one.holds for one in pictures))):
        things = [kind]
    return things
