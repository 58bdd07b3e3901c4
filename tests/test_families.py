"""Kinds of things: a dozen breeds, each unlikely, are one dog for sure."""

import pytest

from recap.targets.builtin.entries import index_of
from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.families import _NAMES, kinds_of, seen, with_article
from recap.targets.builtin.front_end import class_names
from recap.targets.builtin.lookup import found
from recap.targets.builtin.wording import object_of


def photo(*objects):
    return Evidence((400, 300), objects, (), (("brown", 1.0),))


def test_every_class_that_is_listed_exists():
    names = set(class_names())
    assert {name for listed in _NAMES.values() for name in listed.split(", ")} <= names


@pytest.mark.parametrize(
    "name, kinds",
    [("beagle", ("dog", "animal")), ("tench", ("fish", "animal")), ("lemon", ("fruit", "food", "plant")), ("quail", ("bird", "animal")),
     ("hyena", ("animal",)), ("moped", ("motorbike", "vehicle")), ("umbrella", ()), ("no such class", ())],
)  # fmt: skip
def test_kinds_go_from_narrow_to_broad(name, kinds):
    assert kinds_of(name) == kinds


@pytest.mark.parametrize(
    "objects, told",
    [
        ((("beagle", 0.7),), "The picture shows: beagle (a dog)."),
        ((("tabby cat", 0.7),), "The picture shows: tabby cat."),
        ((("umbrella", 0.7),), "The picture shows: umbrella."),
        ((("beagle", 0.3), ("basset", 0.25), ("tench", 0.05)), "The picture shows: a dog, perhaps beagle, basset."),
        ((("beagle", 0.3), ("zebra", 0.25)), "The picture shows: an animal, perhaps beagle, zebra."),
        ((("strainer", 0.3), ("umbrella", 0.25)), "The picture may show: strainer, umbrella."),
        ((("beagle", 0.15), ("basset", 0.15), ("umbrella", 0.1)), "The picture probably shows: a dog, perhaps beagle, basset."),
        ((("beagle", 0.09), ("basset", 0.09), ("pug dog", 0.09)), "The picture probably shows: a dog."),
        ((("beagle", 0.15), ("umbrella", 0.1)), "I am not sure what the main object is. Weak guess: beagle, umbrella."),
        ((("umbrella", 0.05),), "I am not sure what the main object is."),
        (None, "The main object could not be recognised."),
    ],
)
def test_what_the_guesses_agree_on_is_told(objects, told):
    assert Evidence((9, 9), objects, (), None).to_text().startswith(told + "\n")


@pytest.mark.parametrize(
    "objects, level",
    [
        ([("beagle", 0.6)], "name"),
        ([("beagle", 0.4), ("basset", 0.3)], "kind"),
        ([("beagle", 0.15), ("basset", 0.1)], "probably kind"),
        ([("strainer", 0.3)], "maybe name"),
        ([("strainer", 0.12)], ""),
    ],
)
def test_no_more_is_said_than_is_known(objects, level):
    verb, phrase = object_of(objects)
    assert seen(objects).level == level and bool(phrase) == bool(verb) == bool(level)
    assert (verb == "is") == (level in ("name", "kind")) and phrase.startswith("a dog") == ("kind" in level)


def test_nothing_seen_is_nothing():
    assert seen(None) == seen(()) == ("", 0.0, "", 0.0) and with_article("fish") == "fish" and with_article("ape") == "an ape"


def test_a_question_for_the_kind_finds_the_object():
    looked = [index_of(photo(("beagle", 0.7)))]
    for question in ("Is there a dog?", "any puppy here?", "Which animal is that?"):
        assert found(question, looked) == "The picture says: the object is beagle (a dog)."
    assert found("Is there a cat?", looked) == ""
