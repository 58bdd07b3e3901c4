"""Questions about photos: what the object is, what kind of thing, how sure that is, and what nobody can know of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.families import SAME_KIND, kinds_of, seen, with_article

from .typed import typed

if TYPE_CHECKING:
    from .ask import Asker

_OBJECT = ("What is this a photo of?", "Can you identify this?", "What kind of thing is this?", "What am I seeing?",
           "What object is this?", "What can you see here?", "Which thing is in the photo?", "What is it?",
           "What do you think this is?", *typed("object"))  # fmt: skip
_OF_KIND = ("Which {x} is this?", "What {x} do you see?", "What {x} is in the picture?", "What sort of {x} is it?", "{x}: which?",
            "Can you name the {x}?", "Do you recognise the {x}?", "What {x} is that?", "Which {x} is shown here?", "name of the {x}?",
            "I'd like to know which {x} this is.")  # fmt: skip
_NO_KIND = ("dog", "bird", "animal", "vehicle", "fruit", "building", "insect", "flower")
CANNOT_TELL = ("I can't see that in the picture.", "That is not something I can see in the picture.",
               "I can't tell that from the picture.")  # fmt: skip
_STUFF = {"paper", "broccoli", "cauliflower", "hay", "corn", "guacamole", "potato", "wine", "sauce", "dough", "mail", "coral"}


def named(name: str) -> str:
    """ "an espresso", "a tabby cat"; plurals and stuff stay bare."""
    bare = name.endswith("s") and not name.endswith(("ss", "us")) or name.split()[-1] in _STUFF
    return name if bare else with_article(name)


def described(evidence: Evidence, colours: str) -> tuple[str, ...]:
    """Answers to the widest question: what it is as far as that is sure, and the colours."""
    best = seen(evidence.objects or (("nothing", 0.0),))
    name, kind = named(best.name), with_article(best.kind) if best.kind else ""
    if best.level == "name":
        return (f"The picture shows: {name}. The main colours are {colours}.", f"I see {name}, mostly in {colours}.")
    if best.level == "kind":
        return (f"It shows {kind}, perhaps {name}. The main colours are {colours}.",
                f"I see {kind}, mostly in {colours}. It may be {name}.")  # fmt: skip
    if best.level == "probably kind":
        return (f"It is probably {kind}, but I am not quite sure. The main colours are {colours}.",
                f"This looks like {kind}, though I can't be certain. Its main colours are {colours}.")  # fmt: skip
    if best.level == "maybe name":
        return (f"I am not sure. It may be {name}. The main colours are {colours}.",
                f"It may show {name}, but I can't be certain. Its main colours are {colours}.")  # fmt: skip
    return (f"I am not sure what it shows. The main colours are {colours}, and I found no text.",
            f"I can't tell what the object is. I see mostly {colours}.")  # fmt: skip


def ask_object(asker: Asker, evidence: Evidence) -> None:
    """Turns about the object of a photo, and about what its name does not tell."""
    add, best, others = asker.add, seen(evidence.objects), [name for name, _ in evidence.objects[1:]]
    name, kind = named(best.name), with_article(best.kind) if best.kind else ""
    if best.level == "name":
        is_it = ("It is {o}.", "The picture shows {o}.", "That is {o}.", "This is {o}.")
        certain = ("It looks clearly like {o} to me.", "Fairly sure: it looks like {o}.", "I am fairly sure that it is {o}.")
        like, holds = "It looks like {o}.", ("Yes, the picture shows {o}.", "Yes, I see {o}.")
    elif best.level == "kind":
        is_it = ("It is {k}, perhaps {o}.", "That is {k}. Which one is not certain, perhaps {o}.", "It looks like {k}, maybe {o}.")
        certain = ("That it is {k} I am fairly sure, but not that it is {o}.", "Of {k}, yes. {o} is only my best guess.")
        like, holds = "It looks like {k}.", ("Perhaps. It is {k}, but I am not sure that it is {o}.", "It may be {o}, but I am not sure.")
    elif best.level == "probably kind":
        is_it = ("It is probably {k}.", "It looks like {k}, but I am not sure.", "Probably {k}, perhaps {o}.")
        certain = ("No, {k} is only my best guess.", "Not very sure. It is probably {k}.")
        like, holds = "It is probably {k}.", ("It may be {o}, but I am not sure.", "Perhaps, but I am not sure that it is {o}.")
    elif best.level == "maybe name":
        is_it = ("It may be {o}, but I am not sure.", "I am not sure. Perhaps it is {o}.", "I can't be certain; it may be {o}.")
        certain = ("No, {o} is only a guess.", "Not sure at all. It may be {o}.")
        like, holds = "It may be {o}.", ("It may be {o}, but I am not sure.", "Perhaps, but I am not sure that it is {o}.")
    else:
        is_it = ("I am not sure what the main object is.", "I can't tell what it is.")
        certain = ("No, I am not sure what the main object is.",)
        like, holds = "", ()
    words = {"o": name, "k": kind}
    for _ in range(3):
        add(_OBJECT, is_it, **words)
    add(("Are you sure what it is?", *typed("object_sure")), certain, **words)
    second = named(others[0])
    add(("What else could it be?", *typed("object_else")),
        ("It could also be {s}.", "Perhaps {s}.") if evidence.objects[1][1] >= 0.1 else ("I have no other good guess.",), s=second)  # fmt: skip
    if best.level:
        add(("Is this {o}?", "Is there {o} in the picture?", *typed("thing_absent", thing="{o}")), holds, **words)
        wrong = asker.rng.choice(others)
        open_question = best.level != "name" and best.kind in kinds_of(wrong)
        add(("Is this {w}?", "Is it {w}?", "Is that {w}, perhaps?"),
            (f"I can't tell. {like}", f"Perhaps. {like}") if open_question else (f"No. {like}", f"I don't think so. {like}"),
            w=named(wrong), **words)  # fmt: skip
        _kinds(asker, best.name, best.level, is_it, like, words)
    for _ in range(2):
        add(typed("photo_unseen"), (
            *CANNOT_TELL, *((f"I can't tell. {like}",) if best.level else ()),
        ), **words)  # fmt: skip


def _kinds(
    asker: Asker, name: str, level: str, is_it: tuple[str, ...], like: str, words: dict[str, str]
) -> None:
    kinds = kinds_of(name)
    if kinds:
        asker.add(_OF_KIND, is_it, x=asker.rng.choice(kinds), **words)
        kind = asker.rng.choice(kinds) if level == "name" else kinds[0]
        asked = asker.rng.choice((kind, kind, *SAME_KIND.get(kind, ())))
        asker.add(typed("thing_absent", thing="{a}"),
                  ("Perhaps, but I am not sure. It may be {o}.",) if level == "maybe name"
                  else (f"Yes. {like}", f"Yes, I see {{a}}. {like}") if level == "name"
                  else (f"Yes. {like}",), a=with_article(asked), **words)  # fmt: skip
    other = asker.rng.choice([kind for kind in _NO_KIND if kind not in kinds])
    asker.add(("What {x} is this?", "Which {x} do you see?", "Name the {x}."),
              (f"I can't see {{a}}. {like}", f"I don't see {{a}} in the picture. {like}"),
              x=other, a=with_article(other), **words)  # fmt: skip
