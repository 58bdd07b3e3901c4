"""`python -m training.evaluate`: the exam on held-out pictures, the untuned reader next to the tuned one."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from tqdm import tqdm

import recap
from recap.pictures import digest
from recap.targets.builtin.evidence import Evidence

from .exam import CATEGORIES, Question, questions, right
from .exam_words import ASKED
from .look import CACHE, seen
from .simulate import photo

TOKENS = 48


@dataclass
class Asked:
    """A question, the picture it is about, and the answers by reader."""

    picture: str
    question: Question
    answers: dict[str, str]
    verdicts: dict[str, bool]


class Remembered:
    """Eyes that give back what the real front end saw before, so that two readers are asked about the same."""

    def __init__(self) -> None:
        self._seen: dict[str, Evidence] = {}

    def keep(self, image: Image.Image, evidence: Evidence) -> None:
        """Remember what was seen in a picture."""
        self._seen[digest(image)] = evidence

    def look(self, image: Image.Image) -> Evidence:
        """What was kept for a picture with these pixels; KeyError for another one."""
        return self._seen[digest(image)]


def collect(count: int, eyes: Remembered, cache: Path = CACHE) -> list[tuple[str, Image.Image, Question]]:
    """(name, picture, question) of `count` held-out drawings, and of simulated photos with a sure object."""
    found = []
    for scene, evidence in tqdm(seen("held", count, cache), total=count, desc="held-out pictures"):
        image = Image.open(cache / "seen" / "held" / f"{scene.kind}-{scene.seed}.png").convert("RGB")
        eyes.keep(image, evidence)
        found += [(f"{scene.kind}-{scene.seed}", image, question) for question in questions(scene)]
    number = 0
    for seed in range(10 * count):
        evidence = photo("held", seed)
        name, sure = evidence.objects[0]
        if sure < 0.5:
            continue
        image = Image.new("RGB", (64, 64), (seed % 256, seed // 256 % 256, 77))
        eyes.keep(image, evidence)
        text = ASKED["photo.object"][seed % len(ASKED["photo.object"])]
        found.append((f"photo-{seed}", image, Question("photos", text, (name,))))
        number += 1
        if number == count:
            break
    return found


def ask(
    target: Any, asked: Iterable[tuple[str, Image.Image, Question]], reader: str
) -> tuple[list[str], dict[str, float]]:
    """The answers, greedy, each to a conversation of its own; and how they end and vary. Questions about one picture
    follow each other: what comes before the question is then evaluated once."""
    answers, ended, taus, lengths = [], 0, [], []
    session, shown = None, None
    for _, image, question in tqdm(list(asked), desc=f"{reader} reader"):
        if image is not shown:
            session, shown = recap.Session(target), image
        chat = [{"role": "user", "content": question.text}]  # a whole chat replaces the one before
        given = recap.generate(target, chat, images=[image], session=session, max_new_tokens=TOKENS)
        answers.append(given.text.strip())
        ended += given.finish_reason == "stop"
        taus.append(given.acceptance_length)
        lengths.append(len(given.token_ids))
    count = len(answers)
    return answers, {"ended": ended / count, "tau": sum(taus) / count, "tokens": sum(lengths) / count,
                     "distinct-3": distinct(answers)}  # fmt: skip


def distinct(texts: Iterable[str], n: int = 3) -> float:
    """Different n-grams of words over all of them."""
    grams = [gram for text in texts for gram in zip(*(text.split()[k:] for k in range(n)))]
    return len(set(grams)) / len(grams) if grams else 0.0


def chat(target: Any, prompts: list[str], reader: str) -> tuple[list[str], dict[str, float]]:
    """The answers to plain prompts, greedy, each to a conversation of its own, nothing kept between; and how they end and vary."""
    given = [recap.generate(target, prompt, max_new_tokens=TOKENS) for prompt in tqdm(prompts, desc=f"chat, {reader}")]
    count, texts = len(given), [answer.text for answer in given]
    return texts, {"chat ended": sum(answer.finish_reason == "stop" for answer in given) / count,
                   "chat tau": sum(answer.acceptance_length for answer in given) / count,
                   "chat distinct-3": distinct(texts)}  # fmt: skip


def perplexity(reader: str, pairs: list[tuple[str, str]]) -> float:
    """Of answers given earlier, as this reader sees them."""
    import torch

    from recap.targets.builtin.language_model import load_language_model

    from .batches import encode, padded, prompter_of

    model, tokenizer = load_language_model(torch.float32, reader=reader)
    prompter, total, count = prompter_of(tokenizer), 0.0, 0
    for prompt, answer in tqdm(pairs, desc=f"perplexity, {reader}"):
        one = encode({"evidence": "", "turns": [(prompt, answer)], "ended": False}, prompter, 2, 4000)
        if one is None:
            continue
        ids, taught = padded([one])
        with torch.inference_mode():
            logits = model(ids).logits[:, :-1][taught[:, 1:]].float()
        total += torch.nn.functional.cross_entropy(logits, ids[:, 1:][taught[:, 1:]], reduction="sum").item()
        count += int(taught.sum())
    return math.exp(total / count)


def main(arguments: list[str] | None = None) -> None:
    """Ask, score, print the table and write everything to a JSON file."""
    parser = argparse.ArgumentParser(prog="python -m training.evaluate", description=__doc__)
    parser.add_argument("--pictures", type=int, default=45)
    parser.add_argument("--readers", nargs="+", default=["plain", "tuned"], help="plain, tuned, or paths of adapters")
    parser.add_argument(
        "--chat", type=Path, help='JSONL with "prompt" or "turns": perplexity of the untuned model\'s own answers'
    )
    parser.add_argument("--chat-count", type=int, default=60)
    parser.add_argument("--out", type=Path, default=CACHE / "exam.json")
    options = parser.parse_args(arguments)
    eyes = Remembered()
    found = collect(options.pictures, eyes)
    rows = [Asked(name, question, {}, {}) for name, _, question in found]
    report: dict[str, Any] = {"readers": {}, "chat": {}}
    prompts = chat_prompts(options.chat, options.chat_count) if options.chat else []
    for reader in options.readers:
        target = recap.load_target("builtin", reader=reader)
        target.front_end = eyes
        answers, report["readers"][reader] = ask(target, found, reader)
        for row, answer in zip(rows, answers):
            row.answers[reader], row.verdicts[reader] = answer, right(row.question, answer)
        if prompts:
            report["chat"][reader], measured = chat(target, prompts, reader)
            report["readers"][reader] |= measured
    if prompts:
        if "plain" not in report["chat"]:
            report["chat"]["plain"], _ = chat(recap.load_target("builtin", reader="plain"), prompts, "plain")
        pairs = list(zip(prompts, report["chat"]["plain"]))
        for reader in options.readers:
            report["readers"][reader]["chat perplexity"] = perplexity(reader, pairs)
    report["scores"] = {reader: scores(rows, reader) for reader in options.readers}
    report["rows"] = [{"picture": row.picture, "category": row.question.category, "question": row.question.text,
                       "wanted": list(row.question.wanted), "near": row.question.near, "answers": row.answers,
                       "right": row.verdicts} for row in rows]  # fmt: skip
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1), "utf-8")
    print(table(report))


def chat_prompts(path: Path, count: int) -> list[str]:
    """The first `count` prompts of a JSONL; of several turns the first."""
    entries = map(json.loads, path.read_text("utf-8").splitlines())
    prompts = [entry["turns"][0] if "turns" in entry else entry["prompt"] for entry in entries]
    return [prompt for prompt in prompts if isinstance(prompt, str)][:count]


def scores(rows: list[Asked], reader: str) -> dict[str, tuple[int, int]]:
    """(right, asked) by category."""
    found = {}
    for category in CATEGORIES:
        verdicts = [row.verdicts[reader] for row in rows if row.question.category == category]
        found[category] = (sum(verdicts), len(verdicts))
    return found


def table(report: dict[str, Any]) -> str:
    """The report as markdown."""
    readers = list(report["scores"])
    lines = [f"| category | questions | {' | '.join(readers)} |", "|---|" + "---|" * (len(readers) + 1)]
    for category in CATEGORIES:
        cells = [report["scores"][reader][category] for reader in readers]
        shares = " | ".join(f"{good / count:.0%}" if count else "-" for good, count in cells)
        lines.append(f"| {category} | {cells[0][1]} | {shares} |")
    for name in ("ended", "tokens", "tau", "distinct-3", "chat ended", "chat tau", "chat distinct-3", "chat perplexity"):
        found = [report["readers"][reader].get(name) for reader in readers]
        if all(value is not None for value in found):
            lines.append(f"| {name} | | {' | '.join(f'{value:.2f}' for value in found)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
