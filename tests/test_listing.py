"""Lines about traces: what was asked, where it comes from, and the buttons that open one."""

from __future__ import annotations

import pytest

import recap
from recap.trace import Trace
from visual import listing

from .panels import HOSTILE, Page, trace


def about(question: str, method: str = "recap") -> Trace:
    made = trace(method)
    made.messages = [{"role": "user", "content": "Earlier?"}, {"role": "assistant", "content": "Yes."},
                     {"role": "user", "content": question}]  # fmt: skip
    return made


def test_the_question_is_the_last_one_on_one_line_without_its_pictures() -> None:
    assert listing.question(about("[picture]\nWhat  is\n it?")) == "What is it?"
    assert listing.question(about("[picture]\n")) == "(no words)" and listing.question(trace()) == "(no words)"
    assert listing.question(about("a\u202eb\x00c")) == "a⟨202e⟩b␀c"


def test_names_of_methods() -> None:
    assert [listing.name(trace(method)) for method in ("recap", "ar", "other")] == ["RECAP", "plain decoding", "other"]
    assert set(listing.METHODS) == set(recap.METHODS), "every method has a name for people"


@pytest.mark.parametrize(
    "kind, begins",
    [("answer", "Your answer to"), ("recording", "A recording. It answered"), ("file", "From a file. It answered"),
     ("race", "From your race on")],
)  # fmt: skip
def test_where_a_trace_comes_from(kind: str, begins: str) -> None:
    words = Page(listing.origin(about("What is it?"), kind)).words
    assert words.startswith(f"{begins} What is it? · m, RECAP, cpu float32.")
    assert words.endswith("Ask something to see your own.") is (kind == "recording")


def test_a_list_has_a_button_for_every_trace_and_marks_the_one_on_show() -> None:
    groups = [("Of this page", [("b", about("Second?")), ("a", about("First?", "ar"))]), ("Nothing", []),
              ("Recordings", [("r", trace())])]  # fmt: skip
    page = Page(listing.traces(groups, "a"))
    buttons = [attributes for tag, attributes in page.elements if tag == "button"]
    assert [one["data-trace"] for one in buttons] == ["b", "a", "r"]
    assert [one.get("aria-current") for one in buttons] == [None, "true", None]
    assert [tag for tag, _ in page.elements].count("h3") == 2 and "Nothing" not in page.words
    assert "First?plain decoding · m · 4 tokens · 2 passes · tau 1.50" in page.words
    assert Page(listing.traces([])).words == ""


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_questions_and_names_stay_text(text: str) -> None:
    some = about(text)
    some.model = some.device = some.dtype = some.method = text
    for fragment in (listing.origin(some, "file"), listing.traces([(text, [(text, some)])], text)):
        page = Page(fragment)
        assert {tag for tag, _ in page.elements} <= set("p b q div h3 ul li button span".split())
        names = {name for _, attributes in page.elements for name in attributes}
        assert names <= {"class", "type", "data-trace", "aria-current"}
    assert len(listing.origin(about(text), "file")) < 1000


def test_what_the_model_was_shown_is_told_and_harmless() -> None:
    made = about("What is it?")
    made.pictures = [{"width": 3}, {"evidence": "odd"}, {"evidence": {"words": 5}}]
    assert listing.seen(made) == ""
    looked = {"words": "TOTAL | 17.90\n15 lines", "found": "The picture says: TOTAL: 17.90."}
    made.pictures = [{"evidence": looked}, {"evidence": {"words": HOSTILE[0], "found": 5}}]
    page = Page(listing.origin(made, "answer"))
    parts = ["What the model was shown", "Picture 1 of 2", "TOTAL | 17.90 15 lines", "Picture 2 of 2", "Looked up for the question"]
    places = [page.words.index(part) for part in parts]
    assert places == sorted(places)
    assert "The picture says: TOTAL: 17.90." in page.words
    assert {tag for tag, _ in page.elements} <= {"p", "q", "b", "details", "summary", "div", "pre", "h4", "button"}


def test_the_lens_is_offered_for_an_ended_answer_of_this_page_about_a_picture() -> None:
    made = about("What is it?")
    made.pictures = [{"width": 3}]  # an earlier question's
    assert listing.LOOK not in listing.origin(made, "answer")
    made = about("[picture]\nWhat is it?")
    assert listing.LOOK in listing.origin(made, "answer") and listing.LOOK not in listing.origin(made, "file")
    made.finish_reason = ""
    assert listing.LOOK not in listing.origin(made, "answer")
