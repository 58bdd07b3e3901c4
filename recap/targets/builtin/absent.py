"""What a question asks for that a picture does not hold.

Words are compared with what was read, nothing is inferred: a name, a thing after "price of" or "is there a", a field
that a form lacks, a price or a text where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .plain_words import ASKED_FOR, COMMON, FIELDS, GENERAL, stem, words_of

MOST = 2
_LONGEST = 600
"""Letters of a question; a longer one is a text that somebody pasted, not a question about a picture."""
_NAME = re.compile(
    r"(?<![.?!:;\"”\n] )(?<!^)(?<=\s)[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*|(?<!\d)(?:1[89]|20)\d\d(?!\d|[:/.-]\d)"
)
_THING = r"((?!(?:it|this|that|they|them|we|you|i|to|up|out)\b)[^\W\d_][\w’'-]*(?: [^\W\d_][\w’'-]*){0,3})"
_ARTICLES = r"(?:(?:the|a|an|any|some|my|one) )*"
_BEFORE = re.compile(
    r"\b(?:"
    r"(?:price|cost|value|number|figure|amount|score|result|percentage|share) (?:of|for|next to|beside)|"
    r"how (?:much|many|high|big|large|expensive) (?:is|are|was|were|does|do|did|for|would)|(?:what|how) about|"
    r"what (?:does|do|did|would|will) (?=.* (?:cost|reach|come to|stand at|set me))|"
    r"(?:is|are|was|were) there|(?:can|could|do|did|have) you (?:see|seen|spot|find|found|notice|have)|"
    r"(?:do|does) (?:they|it) (?:have|sell|offer)|any sign of|"
    r"(?:tell me|find|show me|point (?:out|to))(?= (?:a|an|the|any) )|"
    r"where(?:'s| is| are)|contains?|includes?|charge for|pay for|belongs to|"
    r"(?:want|like|buy|order|have|get)(?= (?:a|an|the|some|one) )|does(?= .* (?:appear|exist|show up))|"
    r"is(?= (?:a|an) )|has it got"
    r") " + _ARTICLES + _THING
)
_ALONE = re.compile(r"\s*(?:and )?" + _ARTICLES + _THING + r"(?:, how much| here| then|: .*)?\s*\?\s*")
_END = frozenset(
    "in on at of here there cost costs anywhere somewhere please thanks listed from to with by have has get appear "
    "appears part present reach reaches stand stands is are was were be and or for included visible shown among out "
    "worth do does did set go goes sell sold that which who come comes show shows look looks say says per if i than as "
    "going into near under over the a an this it what how me my you your much many high meet meets where".split()
)
"""Words behind a thing that are no part of its name."""


def missing(question: str, known: Collection[str], letters: str = "", form: bool = False) -> list[str]:
    """Names and things of the question whose telling word is not among the known ones, at most `MOST`; of a form also
    the fields that it might have. `letters`: what was read, small, without spaces, which text readers lose. Empty for a
    question of more than 600 letters."""
    if len(question) > _LONGEST:
        return []
    absent = [thing for thing in _things(question) if _unknown(thing, known, letters)]
    if form:
        asked = words_of(question)
        absent += [group[0] for group in FIELDS if asked & {*group} and not known & {*group}]
    kept: list[str] = []
    for thing in sorted(dict.fromkeys(absent), key=len, reverse=True):  # "Onion rings" rather than "Onion"
        if not any(thing.lower() in other.lower() for other in kept):
            kept.append(thing)
    return [thing for thing in dict.fromkeys(absent) if thing in kept][:MOST]


def lacks(question: str, holds: Collection[str]) -> str:
    """The first of "text", "price", "time" and "date" that the question asks for and that is not among what the
    pictures hold; "" for none, and for a question of more than 600 letters."""
    if len(question) > _LONGEST:
        return ""
    asked = words_of(question)
    for kind, words in ASKED_FOR.items():
        named = asked & {*words}
        if kind == "date" and named == {"when"} and "time" in holds and not asked & {"was", "were", "did"}:
            continue  # "when" may ask for the time, too
        if kind not in holds and (named or kind == "price" and "how much" in question.lower()):
            return kind
    return ""


def _things(question: str) -> Iterator[str]:
    """Capitalised names inside a sentence, years, and what stands where one asks for things."""
    if not question.isupper():
        yield from (match.group() for match in _NAME.finditer(question) if not match.group().startswith(("I'", "I’")))
    small = question.lower()
    alone = _ALONE.fullmatch(small)
    for match in (*_BEFORE.finditer(small), *((alone,) if alone else ())):
        kept = []
        for word in match[1].split():
            if word.removesuffix("'s").removesuffix("’s") in _END:
                break
            kept.append(word)
        if kept:
            begin = match.start(1)
            yield question[begin : begin + len(" ".join(kept))]


def _unknown(thing: str, known: Collection[str], letters: str) -> bool:
    """Whether its last telling word, which mostly says what it is, is not known in any form: "phone" of "phone
    number"."""
    words = map(stem, thing.lower().split())
    telling = [word for word in words if word not in COMMON and word not in GENERAL and len(word) > 2]
    if not telling:
        return False
    last = telling[-1]
    alike = "".join(filter(str.isalnum, last)) in letters or any(word[:5] == last[:5] for word in known if len(word) > 4)
    return last not in known and not alike
