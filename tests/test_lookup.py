"""What a question names is looked up in the evidence and put before it."""

import random

import pytest

from recap.chat import Message
from recap.targets.builtin import BuiltinTarget
from recap.targets.builtin.evidence import Evidence, TextLine
from recap.targets.builtin.lookup import MOST, entries_of, found
from recap.targets.prompt import Picture, Prompt
from training.ask import write
from training.exam import questions
from training.scenes import KINDS, make
from training.simulate import simulate
from training.words import DAYS, MONTHS, lists


def lines(*rows: tuple[str, ...]) -> Evidence:
    """Evidence of a picture with these rows of cells."""
    text = [
        TextLine(cell, 0.99, (0.1 + 0.3 * column, 0.1 * n, 0.3 + 0.3 * column, 0.1 * n + 0.05), n)
        for n, row in enumerate(rows) for column, cell in enumerate(row)
    ]  # fmt: skip
    return Evidence((400, 400), (("web page", 0.9),), tuple(text), (("white", 1.0),))


RECEIPT = lines(("CORNER",), ("Rye bread", "3.20"), ("Grilled salmon", "9.50"), ("Milk", "1.15"), ("TOTAL", "13.85"))
TABLE = lines(("Name", "Age", "City"), ("Anna", "31", "York"), ("Ben", "28", "Leeds"), ("Cleo", "40", "Bath"))
POSTER = lines(("Jazz Night",), ("Where: Town Hall",), ("Doors open at 7 pm",))


@pytest.mark.parametrize(
    "evidence, question, told",
    [
        (RECEIPT, "How much is the rye bread?", "Rye bread: 3.20"),
        (RECEIPT, "how much was the SALMON", "Grilled salmon: 9.50"),
        (RECEIPT, "Is milk dearer than rye bread?", "Rye bread: 3.20; Milk: 1.15"),
        (RECEIPT, "What is the total?", "TOTAL: 13.85"),
        (RECEIPT, "What is the cheapest?", "the cheapest is Milk, 1.15"),
        (RECEIPT, "How many items are there?", "3 items"),
        (RECEIPT, "How much are the oysters?", ""),
        (RECEIPT, "Write a poem about rain.", ""),
        (RECEIPT, "", ""),
        (TABLE, "What is the city of Ben?", "Ben, City: Leeds"),
        (TABLE, "Ben's city?", "Ben, City: Leeds"),
        (TABLE, "Tell me about Cleo.", "Cleo: Age 40, City Bath"),
        (TABLE, "Who has the highest age?", "Age: largest Cleo 40, smallest Ben 28, sum 99"),
        (POSTER, "Where?", "Where: Town Hall"),
        (POSTER, "When do the doors open?", '"Doors open at 7 pm"'),
    ],
)
def test_what_is_named_is_found(evidence, question, told):
    assert found(question, entries_of(evidence)) == (f"The picture says: {told}." if told else "")


def test_charts_know_extremes_counts_and_order():
    scene = make("bars-printed", "train", 3)
    names, values = scene.chart.names, scene.chart.series[0][1]
    entries = entries_of(simulate(scene, noise=0.0)[1])
    top, low = names[values.index(max(values))], names[values.index(min(values))]
    assert found("Which is the highest?", entries) == f"The picture says: the largest is {top} {max(values):.0f}."
    assert found("the minimum", entries) == f"The picture says: the smallest is {low} {min(values):.0f}."
    assert found("How many bars are there?", entries) == f"The picture says: {len(names)} bars."
    assert found(f"And {names[0]}?", entries) == f"The picture says: {names[0]} {values[0]:.0f}."


def test_notes_stay_short():
    rows = [(f"Tea number {n}", f"{n}.50") for n in range(2, 30)]
    entries = entries_of(lines(("x" * 5000,), *rows))
    assert max(len(entry.text) for entry in entries) <= 160
    assert found("Which tea is it?", entries).count(";") == MOST - 1
    assert len(found("x" * 5000 + " tea " * 5000, entries)) < 600


def test_the_note_stands_before_the_question_also_in_later_turns():
    target = object.__new__(BuiltinTarget)
    picture = Picture("0", 4, 4, evidence={"words": "EVIDENCE"}, evidence_text="EVIDENCE", entries=entries_of(RECEIPT))
    first, later = Message("user", (0, "Price of milk?")), Message("user", ("And the rye bread?",))
    answer = Message("assistant", ("Milk",))
    (written,) = target.written([first], [picture])
    assert written.parts == ("EVIDENCE", "The picture says: Milk: 1.15.", "Price of milk?")
    whole = target.written([first, answer, later], [picture])
    (followed,) = target.written([later], [], [picture])
    assert whole[0] == written and whole[1] == answer and whole[2] == followed
    assert followed.parts == ("The picture says: Rye bread: 3.20.", "And the rye bread?")
    assert target.written([later], []) == [later]
    shown = target.shown(Prompt(None, [first, answer, later], [picture]))
    assert shown[0]["evidence"] == {"words": "EVIDENCE", "found": "The picture says: Rye bread: 3.20."}
    assert picture.evidence == {"words": "EVIDENCE"}


def test_the_exam_asks_in_no_phrase_of_the_training():
    def phrase(text: str, split: str) -> str:
        words = [word for topic in lists(split).values() for word in topic] + [*MONTHS, *DAYS, *(m[:3] for m in MONTHS)]
        for word in sorted(words, key=len, reverse=True):
            text = text.replace(word, "*")
        return text.lower().strip(" ?.")

    rng = random.Random(0)
    taught, asked = set(), set()
    for kind in KINDS:
        for seed in range(3):
            read, evidence = simulate(make(kind, "train", seed))
            taught |= {phrase(question, "train") for question, _ in write(read, evidence, rng, 60)}
            asked |= {phrase(question.text, "held") for question in questions(make(kind, "held", seed))}
    assert len(taught) > 200 and len(asked) > 40 and not taught & asked
