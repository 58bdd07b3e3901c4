"""What a question names is looked up in the evidence and put before it."""

import json
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap.chat import Message
from recap.targets.builtin import BuiltinTarget
from recap.targets.builtin.chart import Chart, Mark, Series
from recap.targets.builtin.entries import index_of
from recap.targets.builtin.evidence import Evidence, TextLine
from recap.targets.builtin.lookup import MOST, found
from recap.targets.prompt import Picture, Prompt
from training.ask import write
from training.exam import Question, questions, right
from training.exam_words import ASKED
from training.scenes import KINDS, make
from training.simulate import simulate
from training.words import DAYS, MONTHS, lists

from .app_fixtures import ROOT


def lines(*rows: tuple[str, ...], objects: tuple = (("web page", 0.9),)) -> Evidence:
    """Evidence of a picture with these rows of cells."""
    text = [
        TextLine(cell, 0.99, (0.1 + 0.3 * column, 0.1 * n, 0.3 + 0.3 * column, 0.1 * n + 0.05), n)
        for n, row in enumerate(rows) for column, cell in enumerate(row)
    ]  # fmt: skip
    return Evidence((400, 400), objects, tuple(text), (("white", 1.0),))


RECEIPT = lines(("CORNER",), ("Rye bread", "3.20"), ("Grilled salmon", "9.50"), ("Milk", "1.15"), ("TOTAL", "13.85"))
TABLE = lines(("Name", "Age", "City"), ("Anna", "31", "York"), ("Ben", "28", "Leeds"), ("Cleo", "40", "Bath"))
FORM = lines(("Order form",), ("Name: Ben Hall",), ("Tel: 555 123",), ("City: York",))
BARE = Evidence((400, 400), (("collie", 0.15),), (), (("white", 1.0),))
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
        (RECEIPT, "what did the whole thing cost, the total?", "TOTAL: 13.85"),
        (RECEIPT, "How much do I have to pay?", "TOTAL: 13.85"),
        (RECEIPT, "Priciest one?", "the most expensive is Grilled salmon, 9.50"),
        (RECEIPT, "Which shop is it?", 'the first line is "CORNER"'),
        (RECEIPT, "How much are the oysters?", "-oysters"),
        (RECEIPT, "Is milk dearer than Onion Rings?", "Milk: 1.15-Onion Rings"),
        (RECEIPT, "When was it?", "-date"),
        (RECEIPT, "Is there a dog in it?", "-dog"),
        (RECEIPT, "Write a poem about rain.", ""),
        (RECEIPT, "", ""),
        (TABLE, "What is the city of Ben?", "Ben, City: Leeds"),
        (TABLE, "Ben's city?", "Ben, City: Leeds"),
        (TABLE, "Tell me about Cleo.", "Cleo: Age 40, City Bath"),
        (TABLE, "Who has the highest age?", "the highest Age is 40, Cleo"),
        (TABLE, "Sum of the ages?", "Age: largest Cleo 40, smallest Ben 28, sum 99"),
        (TABLE, "Who is the youngest?", "the lowest Age is 28, Ben"),
        (TABLE, "What is the age of Zoe?", "-Zoe"),
        (TABLE, "How many people are listed?", "3 rows"),
        (POSTER, "Where?", "Where: Town Hall"),
        (POSTER, "When do the doors open?", '"Doors open at 7 pm"'),
        (POSTER, "At what time does it start?", 'the time is 7 pm'),
        (POSTER, "What does a ticket cost?", "-price"),
        (FORM, "What is the phone number?", "Tel: 555 123"),
        (FORM, "And the nationality?", "-nationality"),
        (BARE, "Is anything printed on it?", "-text"),
        (BARE, "Is there a dog?", ""),
    ],
)
def test_what_is_named_is_found(evidence, question, told):
    """What stands behind "-" is said not to be there."""
    said, _, absent = told.partition("-")
    words = ([f"The picture says: {said}."] if said else []) + ([f"No {absent} in the picture."] if absent else [])
    assert found(question, [index_of(evidence)]) == " ".join(words)


def test_charts_know_extremes_counts_and_order():
    scene = make("bars-printed", "train", 3)
    names, values = scene.chart.names, scene.chart.series[0][1]
    looked = [index_of(simulate(scene, noise=0.0)[1])]
    top, low = names[values.index(max(values))], names[values.index(min(values))]
    assert found("Which is the highest?", looked) == f"The picture says: the largest is {top} {max(values):.0f}."
    assert found("the minimum", looked) == f"The picture says: the smallest is {low} {min(values):.0f}."
    assert found("How many bars are there?", looked) == f"The picture says: {len(names)} bars."
    assert found(f"And {names[0]}?", looked) == f"The picture says: {names[0]} {values[0]:.0f}."


def test_notes_stay_short():
    rows = [(f"Tea number {n}", f"{n}.50") for n in range(2, 30)]
    looked = [index_of(lines(("x" * 5000,), *rows))]
    assert max(len(entry.text) for entry in looked[0].entries) <= 160
    assert found("Which tea is it?", looked).count(";") == MOST - 1
    assert len(found("x" * 5000 + " tea " * 5000, looked)) < 600


def test_the_note_stands_before_the_question_also_in_later_turns():
    target = object.__new__(BuiltinTarget)
    picture = Picture("0", 4, 4, evidence={"words": "EVIDENCE"}, evidence_text="EVIDENCE", index=index_of(RECEIPT))
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


def test_the_exam_has_no_wording_of_those_that_training_was_given():
    def plain(wording: str) -> str:
        return re.sub(r"[^a-z0-9* ]", "", re.sub(r"\{\w+\}", "*", wording.lower())).strip()

    read = json.loads((ROOT / "training" / "wordings.json").read_text("utf-8"))
    taught = {plain(wording) for wordings in read.values() for wording in wordings}
    assert len(taught) > 1000 and not taught & {plain(asked) for wordings in ASKED.values() for asked in wordings}


def test_nothing_that_training_answers_is_said_to_be_absent():
    """Over every question that the training data knows an answer to."""
    rng, wrong, asked = random.Random(4), [], 0
    for kind in KINDS:
        for seed in range(6):
            read, evidence = simulate(make(kind, "train", 700 + seed))
            index = index_of(evidence)
            for question, answer in write(read, evidence, rng, 60):
                honest = right(Question("honesty", "", unseen=True), answer) or "not something I can see" in answer
                asked += 1
                if not honest and found(question, [index]).endswith(" in the picture."):
                    wrong.append((kind, question, answer))
    assert asked > 1500 and len(wrong) <= asked // 500, wrong


@pytest.mark.parametrize(
    "evidence, question",
    [
        (lines(("EXIT",), objects=(("golden retriever", 0.9),)), "Is there a dog in the picture?"),
        (lines(("OPENING HOURS",), ("Sat 10-14",), ("closed otherwise",)), "Is it open on Saturday?"),
        (lines(("Contract",), ("signed on the 12 MAY 2024",)), "What date is it?"),
        (lines(("Contract",), ("04-07-2017",)), "When was this?"),
        (lines(("Bistro",), ("open from 11 to 22",)), "At what time do they open?"),
        (lines(("Fair",), ("Entry: 5",)), "What does it cost to get in?"),
        (lines(("Form",), ("City:York",), ("Tel:555 123",), ("Name:Bo",)), "What is the city, and the phone number?"),
        (lines(("Form",), ("DOB: 3 May 1990",), ("Name: Bo",), ("City: York",)), "What is the birthday?"),
        (lines(("Menu",), ("Grilledsalmon", "9.50"), ("Soup", "4.00")), "How much is the salmon?"),
        (lines(*[(f"Dish number {n}", f"{n}.00") for n in range(10, 200)], ("Lobster", "9.00")), "And the lobster?"),
        (RECEIPT, "Tell me exactly what it says."),
        (RECEIPT, "Tell me, I'm in a hurry: what is the total?"),
        (RECEIPT, "WHAT IS THE TOTAL OF ALL THESE THINGS"),
        (BARE, "Describe it in one word."),
    ],
)
def test_what_may_be_there_is_not_denied(evidence, question):
    assert not found(question, [index_of(evidence)]).endswith(" in the picture.")


def test_letters_and_calendar():
    january = Chart("bar chart", "", (Series("", tuple(Mark(name, value, str(value), True, "red") for name, value in (
        ("Jan", 10), ("Feb", 30), ("Mar", 20)))),))  # fmt: skip
    looked = [index_of(replace(BARE, chart=january))]
    assert found("How high is January?", looked) == "The picture says: Jan 10."
    assert found("What is the first month?", looked) == ""
    letters = replace(january, series=(Series("", tuple(Mark(n, v, str(v), True, "red") for n, v in (("A", 1), ("I", 2)))),))
    looked = [index_of(replace(BARE, chart=letters))]
    assert found("Can you give a hint?", looked) == "" and found("How high is A?", looked) == "The picture says: A 1."


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=700), st.sampled_from([RECEIPT, TABLE, POSTER, FORM, BARE]))
def test_any_question_gets_a_short_line(question, evidence):
    note = found(question, [index_of(evidence)])
    assert "\n" not in note.replace(question, "") and len(note) < 900


def test_a_pasted_text_is_looked_up_quickly():
    """No pattern takes longer than in proportion to the letters."""
    long = "what does the price of find any sign of how much is " * 20_000
    assert found(long, [index_of(RECEIPT)]) == "" and found("x" * 1_000_000, [index_of(POSTER)]) == ""
    for piece in ("what does a ", "the a an ", "is there a ", "Aa ", "a-", "and the x"):
        assert isinstance(found((piece * 600)[:600], [index_of(RECEIPT)]), str)


def test_two_pictures_know_what_either_knows():
    both = [index_of(RECEIPT), index_of(TABLE)]
    assert found("How old is Cleo?", both).startswith("The picture says: Cleo")
    assert found("Price of milk?", both) == "The picture says: Milk: 1.15."
    assert found("Price of the oysters?", both) == "No oysters in the picture."
    assert found("Price of the oysters?", []) == ""


@pytest.mark.parametrize(
    "evidence, question, told",
    [
        (lines(("Shop",), ("Apples", "1.20"), ("Bread", "2.50"), ("Net amount", "3.08"), ("VAT", "0.62"), ("Gross", "3.70")),
         "What is the total?", "The picture says: Gross: 3.70."),
        (lines(("Shop",), ("Apples", "1.20"), ("Bread", "2.50")), "Is there any fruit?", ""),
        (lines(("Shop",), ("Apples", "1.20"), ("R2D2", "2.50")), "How much is R2-D2?", ""),
        (replace(lines(("7UP 500",), ("A",)), objects=None), "Is there a dog?", ""),
        (replace(lines(("SALE",), ("Up to 50% off",)), objects=(("beagle", 0.8),)), "What words are in this image?", ""),
        (lines(("Shop",), ("Apples", "1.20"), ("Bread", "2.50"), ("Total", "3.70")), "What items were bought?", ""),
        (lines(("a: b",)), "Is there a dog?", "No dog in the picture."),
    ],
)  # fmt: skip
def test_nothing_is_denied_or_named_by_accident(evidence, question, told):
    assert found(question, [index_of(evidence)]) == told


def test_a_picture_in_which_nothing_was_recognised_is_worded():
    assert "could not be recognised" in replace(lines(("SALE",)), objects=()).to_text()
