"""`python -m training.real`: the built-in model asked about real photos and scans, and what a person says of it.

`real.jsonl` names the pictures (package, version, path inside, licence), what a person sees in them, and the questions;
none of them is kept in the project. The questions are asked once each, greedily, in the order of the file.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

import recap
from recap.pictures import open_picture
from recap.targets.builtin.families import GUESS, LIKELY, SURE
from recap.targets.builtin.front_end import class_names

from . import fetch
from .exam import Question, right

MANIFEST = Path(__file__).with_name("real.jsonl")
PAGE = Path("docs/real.md")
BY_HAND = "## Looked at by hand"
"""Heading of the page from which on it is written by a person and kept when the page is written anew."""
TOKENS = 100
GOOD, BAD, OPEN = "good", "bad", "?"
KINDS = {"photo": "photos", "scan": "scans, receipts, signs, pages", "chart": "charts and screenshots"}
BANDS = ((SURE, "50 % and more"), (LIKELY, "20 to 50 %"), (GUESS, "10 to 20 %"), (0.0, "below 10 % (not named)"))
_RULES = ("any", "near", "unseen")
_DENIAL = re.compile(r"\b(?:no|not(?! sure| certain)|never|cannot|without)\b|n't\b")


@dataclass(frozen=True)
class Asked:
    """A question and the rule by which a person would judge the answer; without a rule a person judges each answer."""

    text: str
    true: str
    """What is true, in a person's words."""
    any: tuple[str, ...] = ()
    """One of these must be said, and not denied in the same sentence."""
    near: tuple[float, float] | None = None
    """(value, tolerance): some number of the answer must lie this close."""
    unseen: bool = False
    """It is not there, and the answer must say so or that it cannot be seen."""
    judged: tuple[tuple[str, str], ...] = ()
    """(answer, "good" or "bad") of a person who looked at this very answer; it counts more than the rule."""
    never: tuple[str, ...] = ()
    """The answer is bad if it says one of these."""

    def verdict(self, answer: str) -> str:
        """What a person would say: "good", "bad", or "?" for an answer that is still to be judged."""
        if self.by_hand(answer):
            return dict(self.judged)[answer]
        if any(_said(word, answer) for word in self.never):
            return BAD
        if self.unseen:
            return GOOD if right(Question("", self.text, unseen=True), answer) else BAD
        if self.near is not None:
            value, tolerance = self.near
            numbers = map(float, re.findall(r"\d+(?:\.\d+)?", _plain(answer)))
            return GOOD if any(abs(number - value) <= tolerance for number in numbers) else BAD
        if not self.any:
            return OPEN
        return GOOD if any(_said(word, answer) for word in self.any) else BAD

    def by_hand(self, answer: str) -> bool:
        """Whether a person judged this answer."""
        return answer in dict(self.judged)


@dataclass(frozen=True)
class Entry:
    """A picture in a package, what a person sees there, and what is asked."""

    package: str
    version: str
    source: str
    path: str
    licence: str
    kind: str
    shows: str
    objects: tuple[str, ...]
    """The classifier's names that a person would accept for the main thing of a photo; may be none."""
    questions: tuple[Asked, ...]

    @property
    def name(self) -> str:
        """Package and file."""
        return f"{self.package}: {self.path.rsplit('/', 1)[-1]}"


def entries(path: Path = MANIFEST) -> list[Entry]:
    """The manifest. Raises ValueError with the line's number for what it cannot use."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.strip():
            try:
                found.append(_entry(json.loads(line)))
            except (KeyError, TypeError, ValueError) as error:
                said = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise ValueError(f"{path.name}, line {number}: {said}") from None
    return found


def _entry(raw: dict[str, Any]) -> Entry:
    kind, source = raw["kind"], raw["from"]
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    if source not in fetch.SOURCES:
        raise ValueError(f"from must be one of {', '.join(fetch.SOURCES)}, not {source!r}")
    objects = tuple(raw.get("objects", ()))
    if unknown := set(objects) - set(class_names()):
        raise ValueError(f"objects holds what is no name of the classifier's: {', '.join(sorted(unknown))}")
    return Entry(raw["package"], raw["version"], source, raw["path"], raw["licence"], kind, raw["shows"], objects,
                 tuple(_asked(one) for one in raw["questions"]))  # fmt: skip


def _asked(raw: dict[str, Any]) -> Asked:
    rules = [rule for rule in _RULES if rule in raw]
    if len(rules) > 1 or not (rules or "judged" in raw):
        raise ValueError(f"{raw['ask']!r} needs one rule of {', '.join(_RULES)}, or judged; it has "
                         f"{', '.join(rules) or 'none'}")  # fmt: skip
    judged = tuple((one["answer"], one["verdict"]) for one in raw.get("judged", ()))
    if any(verdict not in (GOOD, BAD) for _, verdict in judged):
        raise ValueError(f"{raw['ask']!r}: a verdict is {GOOD} or {BAD}")
    near = raw.get("near")
    return Asked(raw["ask"], raw["true"], tuple(raw.get("any", ())), near if near is None else (near[0], near[1]),
                 bool(raw.get("unseen")), judged, tuple(raw.get("not", ())))  # fmt: skip


def _plain(text: str) -> str:
    """Small letters, straight apostrophes, numbers without commas, no other punctuation than full stops."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text.lower().replace("’", "'"))
    return re.sub(r"[\s,:;\"“”|*]+", " ", text).strip()


def _said(word: str, answer: str) -> bool:
    """Whether the answer says the word, its plural or the number, and does not deny it before, in the same sentence."""
    plural = "(?:e?s)?" if word[-1].isalpha() and len(word) > 2 else ""
    pattern = re.compile(rf"(?<!\w){re.escape(_plain(word))}{plural}(?!\w|\.\d)")
    told = _plain(answer)
    for sentence in (*re.split(r"(?<=[.!?])\s", told), told):  # the whole: words may go on over a full stop
        match, denial = pattern.search(sentence), _DENIAL.search(sentence)
        if match and (denial is None or denial.start() > match.start()):
            return True
    return False


def ask(target: Any, pictures: Iterable[tuple[Entry, Any]]) -> list[dict[str, Any]]:
    """One record for each question: picture, question, what is true, answer, verdict, the classifier's first guess."""
    records = []
    for entry, image in pictures:
        session = recap.Session(target)
        for asked in entry.questions:
            chat = [{"role": "user", "content": asked.text}]  # a whole chat: questions do not see each other
            given = recap.generate(target, chat, images=[image], session=session, max_new_tokens=TOKENS)
            answer = " ".join(given.text.split())
            evidence = given.trace.pictures[0]["evidence"]
            records.append({
                "picture": entry.name, "kind": entry.kind, "licence": entry.licence, "shows": entry.shows,
                "question": asked.text, "true": asked.true, "unseen": asked.unseen, "answer": answer,
                "verdict": asked.verdict(answer), "by_hand": asked.by_hand(answer), "guess": (evidence["objects"] or [None])[0],
                "accepted": list(entry.objects), "evidence": evidence["words"], "found": evidence.get("found", ""),
            })  # fmt: skip
    return records


def calibration(records: Sequence[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """(band of the stated confidence, photos in it, photos in it whose first guess a person accepts)."""
    photos = {record["picture"]: record for record in records if record["kind"] == "photo" and record["guess"]}
    rows, rest = [], list(photos.values())
    for least, label in BANDS:
        inside = [record for record in rest if record["guess"][1] >= least]
        rest = [record for record in rest if record["guess"][1] < least]
        rows.append((label, len(inside), sum(record["guess"][0] in record["accepted"] for record in inside)))
    return rows


def page(records: Sequence[dict[str, Any]], listed: Sequence[Entry], command: str, date: str, kept: str) -> str:
    """The whole markdown page; `kept`: what a person wrote under its last heading."""
    rows = [("| kind | pictures | questions | good | bad | not judged |", "|---|---|---|---|---|---|")]
    groups = [(label, [one for one in records if one["kind"] == kind]) for kind, label in KINDS.items()]
    for label, ours in (*groups, ("all", list(records)), ("of all: what is not there", _absent(records))):
        counts = [sum(one["verdict"] == verdict for one in ours) for verdict in (GOOD, BAD, OPEN)]
        pictures = len({one["picture"] for one in ours})
        rows.append((f"| {label} | {pictures} | {len(ours)} | {' | '.join(map(str, counts))} |",))
    bands = [f"| {label} | {count} | {good} |" for label, count, good in calibration(records)]
    table, last = ["| picture | question | what is true | answer | |", "|---|---|---|---|---|"], ""
    for one in records:
        shown = f"{_cell(one['picture'])}: {_cell(one['shows'])}" if one["picture"] != last else ""
        last = one["picture"]
        verdict = one["verdict"] + (" (by hand)" if one["by_hand"] else "")
        cells = (one["question"], one["true"], one["answer"] or "(nothing)", verdict)
        table.append(f"| {shown} | {' | '.join(map(_cell, cells))} |")
    guesses = ["| photo | first guess | stated | a person |", "|---|---|---|---|"]
    for one in {one["picture"]: one for one in records if one["kind"] == "photo" and one["guess"]}.values():
        name, sure = one["guess"]
        guesses.append(f"| {_cell(one['picture'])} | {name} | {sure:.0%} | "
                       f"{'right' if name in one['accepted'] else 'wrong'} |")  # fmt: skip
    sources = ["| package | version | from | licence | files |", "|---|---|---|---|---|"]
    for key in dict.fromkeys((one.package, one.version, one.source) for one in listed):
        ours = [one for one in listed if (one.package, one.version, one.source) == key]
        licences = "; ".join(dict.fromkeys(one.licence for one in ours))
        sources.append(f"| {' | '.join(key)} | {licences} | {', '.join(f'`{one.path}`' for one in ours)} |")
    return "\n".join([
        "# Real photos and scans: every question, good and bad", "",
        f"`{command}`, {date}. Written by that command from [`training/real.jsonl`](../training/real.jsonl); what comes "
        f"after \"{BY_HAND[3:]}\" is a person's. The pictures are in packages of PyPI and npm whose licences permit "
        "this use (the package's, or the picture's where the package names one; how the packages came by their pictures "
        "was not checked); none is in the project, in training or in the exam. Questions and rules were written before any "
        "answer was seen; each was asked once, greedily, at most "
        f"{TOKENS} tokens, through `recap.generate`.", "",
        "*good*: says what is true (one of the words that a person would accept, not denied; a number as printed, or "
        "within the tolerance for an estimate); where something is asked that is not there, says so or that it cannot "
        "be seen. To say \"I can't see that\" of what is there is *bad*. The marking is by word, so an answer may be good "
        "and have something wrong beside it; *by hand*: a person looked at the picture and this very answer, because "
        "no word decides or because the word decided wrongly. *?*: an answer that is still to be judged.", "", *[line for row in rows for line in row], "",
        "## How often the classifier is right when it says how sure it is", "",
        f"First guesses on {sum(count for _, count, _ in calibration(records))} photos; right is what a person "
        "accepts as a name of the main thing. Where none of the 1,000 classes fits (a motorcycle, a kiwi, a quokka, "
        "puppies of no breed), every guess is wrong. So few photos show a direction, not a rate.", "",
        "| stated confidence | photos | right |", "|---|---|---|", *bands, "", *guesses, "",
        "## All answers", "", *table, "", "## Where the pictures are from", "", *sources, "", kept.strip() or BY_HAND,
    ]) + "\n"  # fmt: skip


def _absent(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["unseen"]]


def _cell(text: str) -> str:
    """Text of a picture or a model as plain text of a markdown table."""
    return re.sub(r"([\\`*_|<>\[\]#~])", r"\\\1", " ".join(text.split()))


def main(arguments: list[str] | None = None) -> None:
    """Fetch, ask, judge, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m training.real", description=__doc__.splitlines()[0])
    parser.add_argument("--reader", default="auto", help="tuned, plain, or the path of an adapter")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page; what a person wrote at its end is kept")
    parser.add_argument("--judge-again", action="store_true", help="judge the last run's answers, ask nothing")
    options = parser.parse_args(arguments)
    try:
        listed = entries()
        kept_answers = fetch.FOLDER / "answers.json"
        if options.judge_again:
            if not kept_answers.is_file():
                raise fetch.FetchError(f"{kept_answers} is not there: nothing was asked yet; run without --judge-again")
            said = json.loads(kept_answers.read_text("utf-8"))
            accepted = {entry.name: list(entry.objects) for entry in listed}
            rules = {(entry.name, asked.text): asked for entry in listed for asked in entry.questions}
            for record in said["records"]:
                if rule := rules.get((record["picture"], record["question"])):
                    record["verdict"], record["by_hand"] = (
                        rule.verdict(record["answer"]),
                        rule.by_hand(record["answer"]),
                    )
                    record["accepted"] = accepted[record["picture"]]
        else:
            pictures = []
            for entry in tqdm(listed, desc="pictures"):
                packed = fetch.archive(entry.package, entry.version, entry.source)
                pictures.append((entry, open_picture(fetch.file_in(packed, entry.path))))
            target = recap.load_target("builtin", reader=options.reader)
            command = "python -m training.real" + ("" if options.reader == "auto" else f" --reader {options.reader}")
            records = ask(target, tqdm(pictures, desc="questions"))
            said = {"command": command, "date": datetime.date.today().isoformat(), "records": records}
            kept_answers.write_text(json.dumps(said, indent=1, ensure_ascii=False), "utf-8")
    except (fetch.FetchError, ValueError) as error:
        raise SystemExit(f"training.real: {error}") from None
    old = options.out.read_text("utf-8") if options.out.is_file() else ""
    kept = BY_HAND + old.split(BY_HAND, 1)[1] if f"\n{BY_HAND}" in old else ""
    options.out.write_text(page(said["records"], listed, said["command"], said["date"], kept), "utf-8")
    counts = [sum(one["verdict"] == verdict for one in said["records"]) for verdict in (GOOD, BAD, OPEN)]
    print("{} good, {} bad, {} to be judged; see {}".format(*counts, options.out))


if __name__ == "__main__":
    main()
