"""Example pictures and a question for each."""

from __future__ import annotations

import json
from pathlib import Path

KINDS = (".jpg", ".jpeg", ".png", ".webp")
QUESTION = "What is in this picture?"


def examples(folder: Path) -> list[tuple[str, str]]:
    """(path, question) of every picture in a folder; `examples.json`, {"file name": "question"}, gives questions and
    the order."""
    questions = {}
    if (folder / "examples.json").is_file():
        questions = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    pictures = sorted(path for path in folder.glob("*") if path.suffix.lower() in KINDS)
    order = list(questions)
    pictures.sort(key=lambda path: order.index(path.name) if path.name in order else len(order))
    return [(str(path), questions.get(path.name, QUESTION)) for path in pictures]
