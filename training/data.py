"""`python -m training.data`: conversations for training, from pictures looked at, simulated evidence and plain chat."""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from tqdm import tqdm

from recap.targets.builtin.entries import index_of
from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.lookup import found

from . import chat, look, plain_facts
from .ask import Turn, write
from .scenes import KINDS, VARIED, make
from .simulate import as_read, photo, simulate

FILE = look.CACHE / "conversations.jsonl"
_WEIGHTS = {"receipt": 4, "menu": 3, "table": 4, "poster": 3, "sign": 1, "form": 2, "shapes": 2, "photo": 7}
"""How often each kind comes; each of the eight chart kinds counts 1."""


def pictured(count: int, turns: int, seed: int, photos: int = _WEIGHTS["photo"]) -> Iterator[dict]:
    """{"evidence", "turns": [question, answer, what was looked up for it], "ended"} of `count` simulated scenes."""
    rng = random.Random(seed)
    kinds = [*KINDS, "photo"]
    weights = [photos if kind == "photo" else _WEIGHTS.get(kind, 1) for kind in kinds]
    for number in range(count):
        kind = rng.choices(kinds, weights)[0]
        seed = 100_000 + number if rng.random() < 0.4 else VARIED + number
        if kind == "photo":
            scene, evidence = None, photo("train", seed)
        else:
            scene, evidence = simulate(make(kind, "train", seed))
        yield _conversation(evidence, write(scene, evidence, rng, turns))


def looked_at(count: int, turns: int, seed: int) -> Iterator[dict]:
    """The same of `count` pictures that the real front end has seen."""
    rng = random.Random(seed + 1)
    for scene, evidence in look.seen("train", count):
        yield _conversation(evidence, write(as_read(scene, evidence), evidence, rng, turns))


def plain(count: int) -> Iterator[dict]:
    """{"evidence": "", "turns", "ended"} of plain chat."""
    for entry in chat.answers(look.CACHE / "chat.jsonl", count):
        yield {"evidence": "", "turns": [[entry["prompt"], entry["answer"]]], "ended": entry["ended"]}


def _conversation(evidence: Evidence, turns: list[Turn]) -> dict:
    index = index_of(evidence)
    noted = [[question, answer, found(question, [index])] for question, answer in turns]
    return {"evidence": evidence.to_text(), "turns": noted, "ended": True}


def main(arguments: list[str] | None = None) -> None:
    """Write the conversations in a fixed order."""
    parser = argparse.ArgumentParser(prog="python -m training.data", description=__doc__)
    parser.add_argument("--pictures", type=int, default=60, help="pictures drawn and looked at")
    parser.add_argument("--simulated", type=int, default=900, help="pictures whose evidence is simulated")
    parser.add_argument("--chat", type=int, default=120, help="plain prompts answered by the untuned model (and known facts besides)")
    parser.add_argument("--turns", type=int, default=9, help="questions about a picture")
    parser.add_argument("--photos", type=int, default=_WEIGHTS["photo"], help="how often a photo comes; all other kinds together: 27")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FILE)
    options = parser.parse_args(arguments)
    entries = [*plain(options.chat), *plain_facts.conversations(), *looked_at(options.pictures, options.turns, options.seed)]
    made = pictured(options.simulated, options.turns, options.seed, options.photos)
    entries += tqdm(made, total=options.simulated, desc="simulated")
    random.Random(options.seed).shuffle(entries)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
    print(f"{len(entries)} conversations are in {options.out}")


if __name__ == "__main__":
    main()
