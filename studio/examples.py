"""Example pictures and a question for each."""

from __future__ import annotations

import json
from pathlib import Path

KINDS = (".jpg", ".jpeg", ".png", ".webp")
QUESTION = "What is in this picture?"


def examples(folder: Path) -> list[tuple[str | None, str]]:
    """(path, question) of the entries of `examples.json`, [[file name or null, question], ...], where null stands for a
    question without a picture; then of every other picture in the folder."""
    listed = []
    if (folder / "examples.json").is_file():
        listed = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    there = [(name, question) for name, question in listed if name is None or (folder / name).is_file()]
    found = [(str(folder / name) if name else None, question) for name, question in there]
    known = {path for path, _ in found}
    others = sorted(path for path in folder.glob("*") if path.suffix.lower() in KINDS and str(path) not in known)
    return found + [(str(path), QUESTION) for path in others]
