"""Questions and answers about what the front end saw: several wordings of each kind, answers that quote what it saw."""

from __future__ import annotations

import random

from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.families import SAME_KIND, kinds_of

from .ask_photo import CANNOT_TELL, ask_object, described
from .scenes import Scene
from .typed import typed
from .words import lists

Turn = tuple[str, str]
"""A question and its answer."""
THINGS = ("a dog", "a cat", "a person", "a car", "a tree", "a house", "a bicycle", "a phone number", "an email address",
          "a website", "a signature", "a bird", "a flower", "a boat", "a child", "a horse", "a clock", "a logo",
          "a map",
          "a QR code", "a barcode", "the sun", "a chair", "a bottle", "a flag")  # fmt: skip
_UNSEEN = ("the name of the photographer", "the price of a taxi", "who the owner is", "the serial number",
           "what happens next", "the weather", "how old it is", "the discount", "the delivery address", "the password",
           "the VAT number", "the manager's name", "the opening hours on Sunday", "the bank account")  # fmt: skip


_SHORTER = (("What is ", "What's "), ("Who is ", "Who's "), ("Where is ", "Where's "), ("colour", "color"))


class Asker:
    """Picks wordings with a random generator."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.turns: list[Turn] = []

    def add(self, questions: tuple[str, ...], answers: tuple[str, ...], **words: object) -> None:
        """One of the questions with one of the answers, `{name}` replaced by the words."""
        question, answer = self.rng.choice(questions), self.rng.choice(answers)
        for name, word in words.items():
            question, answer = question.replace(f"{{{name}}}", str(word)), answer.replace(f"{{{name}}}", str(word))
        question = self._styled(question)
        answer = answer[0].upper() + answer[1:] if answer else answer
        self.turns.append((question, answer.replace("..", ".") if answer.endswith("..") else answer))

    def _styled(self, question: str) -> str:
        """As different people type: in small letters, without a question mark, politely, or plainly."""
        if self.rng.random() < 0.25:  # as people type
            for whole, short in _SHORTER:
                question = question.replace(whole, short)
        style = self.rng.random()
        if style < 0.1:
            return question.lower().rstrip("?.")
        if style < 0.2:
            opening = self.rng.choice(
                ("Please tell me: ", "Can you say: ", "Look at the picture. ", "One question: ", "Hi! ")
            )
            return opening + question
        return question + self.rng.choice((" Please be brief.", " Thanks!")) if style > 0.96 else question


def absent_words(
    rng: random.Random, evidence: Evidence | None, topics: tuple[str, ...], count: int, said: str = ""
) -> list[str]:
    """`count` words of these topics that the evidence, or `said`, does not hold: likely things to ask for in vain."""
    text = (evidence.to_text() if evidence is not None else said).lower()
    words = [word for topic in topics for word in lists("train")[topic] if word.lower() not in text]
    return rng.sample(words, count)


def joined(words: list[str]) -> str:
    """ "a, b and c"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def write(scene: Scene | None, evidence: Evidence, rng: random.Random, count: int) -> list[Turn]:
    """`count` turns about one picture, in random order, an honest "I can't see that" now and then."""
    from .ask_chart import ask_chart
    from .ask_text import ask_text

    asker = Asker(rng)
    if evidence.chart is not None:
        ask_chart(asker, evidence)
    elif scene is not None and scene.lines:
        ask_text(asker, scene, evidence)
    main = asker.turns
    asker.turns = []
    _general(asker, evidence, scene is None)
    general = asker.turns
    asker.turns = []
    _absent(asker, evidence, scene is None)
    absent = asker.turns
    rng.shuffle(main)
    rng.shuffle(general)
    rng.shuffle(absent)
    chosen = (main or general)[: max(1, round(count * (0.7 if main else 0.8)))]
    chosen += absent[: 2 if rng.random() < 0.5 else 1]
    chosen += [turn for turn in general if turn not in chosen][: count - len(chosen)]
    if rng.random() < 0.3:
        questions, answers = rng.choice(_SMALL_TALK)
        asker.turns = []
        asker.add(questions, answers)
        chosen = [*chosen[: count - 1], *asker.turns]
    rng.shuffle(chosen)
    if rng.random() < 0.4:  # a conversation often begins with the widest question
        chosen = [describe(asker, scene, evidence), *chosen[: count - 1]]
    return _distinct(chosen)


_SMALL_TALK = (
    (("Thanks!", "Thank you!", "thanks a lot!", "ok cheers", "Great, thanks.", "thx", "Thanks, that helped.", "perfect, thank you"),
     ("You're welcome!", "You're welcome! Is there anything else?")),
    (("Hello!", "Hi there", "Good morning!", "hey"), ("Hello! What would you like to know about the picture?",)),
    (("Who are you?", "What are you?", "Are you a person?"),
     ("I am a small language model. I answer from notes on what the picture shows.",)),
    (("Goodbye", "ok bye", "lol ok bye", "See you!"), ("Goodbye! Have a good day.",)),
)  # fmt: skip
"""What people say between their questions, whatever the picture shows."""


def _distinct(turns: list[Turn]) -> list[Turn]:
    return list({question: (question, answer) for question, answer in turns}.values())


_DESCRIBE = ("What is in this picture?", "Describe the picture.", "What do you see?", "What does the picture show?",
             "Tell me about this picture.", "What is this?", "Describe this image in a sentence or two.",
             "Can you describe what you see?", *typed("describe"))  # fmt: skip


def describe(asker: Asker, scene: Scene | None, evidence: Evidence) -> Turn:
    """The widest question, answered in one to three sentences."""
    asker.turns = []
    if (chart := evidence.chart) is not None:
        marks = chart.series[0].marks
        order = sorted(marks, key=lambda mark: -(mark.value or 0))
        about = f' titled "{chart.title}"' if chart.title else ""
        asker.add(
            _DESCRIBE,
            (f"It is a {chart.kind}{about}. It compares {joined([mark.name for mark in marks])}.",
             f"The picture shows a {chart.kind}{about} with {len(marks)} values. The largest is {order[0].name}.",
             f"A {chart.kind}{about}: {order[0].name} is the largest and {order[-1].name} the smallest."),
        )  # fmt: skip
    elif evidence.text and scene is not None:
        kind, first = evidence.facts.kind, evidence.rows[0].text
        head = f"it looks like {kind}" if kind else f"it is a picture with {len(evidence.rows)} lines of text"
        head = head.replace("1 lines", "one line")
        tail = ""
        if evidence.facts.total:
            tail = f" The total is {evidence.facts.total[1]}."
        elif evidence.facts.priced:
            tail = f" It lists {len(evidence.facts.priced)} items with prices."
        elif len(evidence.rows) > 1:
            tail = f" It also says: {evidence.rows[1].text}."
        asker.add(
            _DESCRIBE, (f'{head}. The first line is "{first}".{tail}', f'{head}. At the top it says "{first}".{tail}')
        )
    else:
        colours = joined([name for name, _ in (evidence.colours or (("grey", 1.0),))[:3]])
        asker.add(_DESCRIBE, described(evidence, colours))
    return asker.turns[0]


def _general(asker: Asker, evidence: Evidence, photo: bool) -> None:
    """Colours, shape, text or none, object or none."""
    rng, add = asker.rng, asker.add
    if evidence.colours and evidence.chart is None:
        names = [name for name, _ in evidence.colours]
        add(
            ("What colours are in the picture?", "Which colours do you see?", "What are the main colours?"),
            (f"The main colours are {joined(names)}." if len(names) > 1 else f"It is mostly {names[0]}.",),
        )
        add(
            ("What is the main colour?", "Which colour is most common?", "What colour is it mostly?"),
            ("It is mostly {c}.", "The main colour is {c}."),
            c=names[0],
        )
        other = rng.choice([name for name in ("red", "green", "blue", "yellow", "pink", "purple") if name not in names])
        add(
            ("Is there any {c} in the picture?", "Do you see {c}?"),
            (
                "{c} is not among the main colours.",
                "I don't see much {c} in it.",
                "No, I can't see {c} in the picture.",
            ),
            c=other,
        )
        if evidence.places and len(evidence.rows) <= 8 and len({name for _, name in evidence.places}) > 1:
            for place, name in rng.sample(evidence.places, 2):
                at = {"top": "at the top", "bottom": "at the bottom", "left": "on the left", "right": "on the right",
                      "middle": "in the middle"}[place]  # fmt: skip
                add(
                    (
                        "What colour is the part {at}?",
                        "Which colour do you see {at}?",
                        "What is the colour {at}?",
                        "{at}: what colour?",
                        "Name the colour {at}.",
                        "What colour is {at}?",
                        "Which colour is it {at}?",
                        "Tell me the colour {at}.",
                        "What colour do you see {at}?",
                        "{at}, which colour is it?",
                        *typed("colour_at"),
                    ),
                    ("{at} it is mostly {c}.", "It is {c} {at}."),
                    at=at,
                    c=name,
                )
    width, height = evidence.size
    if rng.random() < 0.3:
        add(("How big is the picture?", "What size is the image?"), ("It is {w} by {h} pixels.",), w=width, h=height)
    if not evidence.text:
        add(
            (
                "Is there any writing on it?",
                "Can you read anything?",
                "Any text on it?",
                "What words are there?",
                "Does it say anything?",
                "What does the text say?",
                "Is there any text?",
                "Read the text.",
                "What is written there?",
                "Are there any words on it?",
                "Which words do you see?",
                "Is anything printed there?",
                "What has been printed here?",
                "What does it say?",
                "Read it to me.",
                "Which letters are on it?",
                "What is the caption?",
                "What is written on it?",
                *typed("text_any"),
            ),
            (
                "I can't see any text in the picture.",
                "No text was found in the picture.",
                "There is no text that I can see.",
            ),
        )
    if photo or not evidence.text:
        ask_object(asker, evidence)
    if photo and evidence.text:
        lines = "\n".join(row.text for row in evidence.rows)
        asker.add(
            (
                "Is there any text?",
                "What does the text say?",
                "Read the text.",
                "What is written there?",
                "Which words?",
                *typed("text_any"),
            ),
            ('It says "{t}".', 'The text says "{t}".') if len(evidence.rows) == 1 else ("It says:\n{t}",),
            t=lines,
        )


def _absent(asker: Asker, evidence: Evidence, photo: bool) -> None:
    said = evidence.to_text().lower()
    things = [thing for thing in THINGS if thing.split()[-1] not in said]
    if photo:  # a retriever is a dog, and so may be what was taken for a wolf
        kinds = {kind for name, _ in evidence.objects for kind in kinds_of(name)}
        kinds |= {word for kind in kinds for word in SAME_KIND.get(kind, ())}
        things = [thing for thing in things if not {*thing.split()} & kinds]
    for thing in asker.rng.sample(things, 2):
        asker.add(
            ("Is there {t} here?", "Is {t} anywhere in this picture?", "Does the image have {t} in it?", "Where is {t}?",
             "Find {t}.", "Show me {t}.", "What about {t}?", "Have you found {t}?", "Is {t} part of it?", "Has it got {t}?",
             "Where can I find {t}?", "Which corner is {t} in?", *typed("thing_absent", thing="{t}")),
            ("I can't see {t} in the picture.", "No, I can't see {t} in the picture.", "I don't see {t} there."),
            t=thing,
        )  # fmt: skip
    thing = asker.rng.choice(_UNSEEN)
    asker.add(("Can you tell me {t}?", "Do you know {t}?", "Tell me {t}.", "What about {t}?"), CANNOT_TELL, t=thing)
