"""What kinds of things the classifier's classes are: a beagle is a dog, a dog is an animal.

A photo of a dog of no breed spreads its confidence over a dozen breeds; that it is a dog is sure all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

SURE, LIKELY, GUESS = 0.5, 0.2, 0.1
"""Confidence from which a class is stated plainly, as one that it may be, or as a weak guess; below, it is not named."""
KIND_SURE = 0.35
"""The same of a kind, plainly: guesses of one kind together are right more often than they say (docs/calibration.md)."""
_RANGES = (  # of ImageNet's order, whose animals stand together; the last index is part of the range
    ("fish", (0, 6), (389, 397)),
    ("bird", (7, 24), (80, 100), (127, 146)),
    ("salamander", (25, 29)),
    ("frog", (30, 32)),
    ("turtle", (33, 37)),
    ("lizard", (38, 48)),
    ("crocodile", (49, 50)),
    ("snake", (52, 68)),
    ("spider", (72, 77)),
    ("crab", (118, 121), (125, 125)),
    ("whale", (147, 148)),
    ("dog", (151, 268), (273, 275)),
    ("wolf", (269, 272)),
    ("fox", (277, 280)),
    ("cat", (281, 285)),
    ("big cat", (286, 293)),
    ("bear", (294, 297)),
    ("beetle", (300, 307)),
    ("butterfly", (321, 326)),
    ("insect", (308, 320)),
    ("rabbit", (330, 332)),
    ("sheep", (348, 349)),
    ("antelope", (351, 353)),
    ("ape", (365, 369)),
    ("monkey", (370, 382)),
    ("elephant", (385, 386)),
    ("mushroom", (991, 997)),
)
_NAMES = {
    "car": "ambulance, station wagon, taxi, convertible, jeep, limousine, minivan, Model T, race car, sports car",
    "truck": "fire engine, garbage truck, moving van, pickup truck, tow truck, trailer truck, snowplow, police van",
    "bus": "minibus, school bus, trolleybus",
    "boat": "canoe, catamaran, fireboat, gondola, lifeboat, schooner, speedboat, trimaran, yawl sailboat, pirate",
    "ship": "aircraft carrier, container ship, ocean liner",
    "train": "bullet train, electric locomotive, freight car, passenger car, steam locomotive, tram",
    "plane": "airliner, military plane",
    "bicycle": "bicycle-built-for-two, mountain bike",
    "motorbike": "moped, motor scooter",
    "vehicle": "go-kart, golfcart, forklift, tractor, army tank, half track, horse cart, oxcart, rickshaw, recreational vehicle, "
    "snowmobile, tricycle, unicycle, harvester, submarine, space shuttle, airship, amphibian, bobsled, dogsled",
    "building": "barn, boathouse, church, castle, cinema, greenhouse, library, mobile home, monastery, mosque, palace, planetarium, "
    "prison, stupa, water tower, yurt, thatch, dome, bell cote",
    "bridge": "steel arch bridge, suspension bridge, viaduct",
    "chair": "barber chair, folding chair, rocking chair, throne",
    "bottle": "beer bottle, pill bottle, soda bottle, water bottle, wine bottle",
    "clock": "analog clock, digital clock, wall clock",
    "phone": "mobile phone, dial telephone, pay-phone",
    "computer": "desktop computer, hand-held computer, laptop, notebook, computer monitor, computer screen",
    "guitar": "acoustic guitar, electric guitar",
    "piano": "grand piano, upright piano",
    "shoe": "clog, loafer shoe, running shoe, sandal, cowboy boot",
    "hat": "bonnet, cowboy hat, sombrero, bearskin, mortarboard, crash helmet, football helmet",
    "ball": "baseball, basketball, croquet ball, golf ball, ping-pong ball, rugby ball, soccer ball, tennis ball, volleyball",
    "cup": "coffee mug, cup",
    "drink": "espresso, red wine, eggnog",
    "flower": "daisy, yellow lady's slipper",
    "fruit": "Granny Smith, strawberry, orange, lemon, fig, pineapple, banana, jackfruit, custard apple, pomegranate",
    "vegetable": "cabbage, broccoli, cauliflower, zucchini, spaghetti squash, acorn squash, butternut squash, cucumber, artichoke, "
    "bell pepper, cardoon",
    "food": "guacamole, consomme, hot pot, trifle, ice cream, popsicle, French loaf, bagel, pretzel, cheeseburger, hot dog, "
    "mashed potato, carbonara, chocolate sauce, dough, meat loaf, pizza, potpie, burrito",
    "mushroom": "mushroom",
    "coast": "breakwater, headland, lake shore, sandbar, seashore, dock, pier",
}
_BROADER = {
    "vehicle": ("car", "truck", "bus", "boat", "ship", "train", "plane", "bicycle", "motorbike"),
    "food": ("fruit", "vegetable"),
    "plant": ("flower", "fruit", "vegetable"),
    "instrument": ("guitar", "piano"),
}
SAME_KIND = {
    "cat": ("kitten", "kitty"), "dog": ("puppy",), "plane": ("aeroplane", "airplane", "aircraft"), "bicycle": ("bike",),
    "motorbike": ("motorcycle", "scooter", "bike"), "boat": ("sailboat",), "ship": ("boat",), "car": ("automobile",),
    "cup": ("mug",), "building": ("house",), "phone": ("telephone",), "truck": ("lorry",), "insect": ("bug",),
    "beetle": ("insect", "bug"), "butterfly": ("insect",), "coast": ("water", "lake", "sea", "beach", "shore"),
    "animal": ("creature", "beast", "pet"),
}  # fmt: skip
"""Other words in which people ask for a kind."""
_ANIMALS = 398  # the first so many classes
_BARE = ("fish", "food", "sheep", "water")


@lru_cache(maxsize=1)
def _kinds() -> dict[str, tuple[str, ...]]:
    from .front_end import class_names

    names = class_names()
    found: dict[str, list[str]] = {}
    for kind, *ranges in _RANGES:
        for first, last in ranges:
            for name in names[first : last + 1]:
                found.setdefault(name, []).append(kind)
    for kind, listed in _NAMES.items():
        for name in listed.split(", "):
            found.setdefault(name, []).append(kind)
    for name in names[:_ANIMALS]:
        found.setdefault(name, []).append("animal")
    for kinds in found.values():
        kinds += [broad for broad, narrow in _BROADER.items() if {*narrow} & {*kinds}]
    return {name: tuple(dict.fromkeys(kinds)) for name, kinds in found.items()}


def kinds_of(name: str) -> tuple[str, ...]:
    """What a class is, the narrowest first: ("dog", "animal") for "beagle"; () for what belongs to none."""
    return _kinds().get(name, ())


def with_article(name: str) -> str:
    """ "a dog", "an animal", "food"."""
    if name in _BARE:
        return name
    return ("an " if name[0].lower() in "aeiou" else "a ") + name


class Seen(NamedTuple):
    """The likeliest class, and the narrowest kind that the guesses agree on."""

    name: str
    confidence: float
    kind: str
    """Kind of the likeliest class, "" where it has none."""
    kind_confidence: float
    """Of all guesses of that kind together."""

    @property
    def level(self) -> str:
        """What may be said: "name", "kind", "probably kind", "maybe name", or "" where it would be a weak guess."""
        if self.confidence >= SURE:
            return "name"
        if self.kind_confidence >= LIKELY:
            return "kind" if self.kind_confidence >= KIND_SURE else "probably kind"
        return "maybe name" if self.confidence >= LIKELY else ""

    @property
    def told(self) -> str:
        """The kind in words, "" where the name says it ("tabby cat") or there is none."""
        return "" if not self.kind or self.kind in self.name.lower().split() else with_article(self.kind)


def seen(objects: Sequence[tuple[str, float]] | None) -> Seen:
    """What (name, confidence) pairs, falling, amount to; ("", 0, "", 0) of none."""
    if not objects:
        return Seen("", 0.0, "", 0.0)
    best, confidence = objects[0]
    kinds = kinds_of(best)
    together = [(kind, sum(share for name, share in objects if kind in kinds_of(name))) for kind in kinds]
    for enough in (KIND_SURE, LIKELY, 0.0):
        if chosen := next((pair for pair in together if pair[1] >= enough), None):
            return Seen(best, confidence, *chosen)
    return Seen(best, confidence, "", 0.0)
