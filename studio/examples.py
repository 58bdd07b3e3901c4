"""Example pictures and a question for each, from a folder with `examples.json`."""

from __future__ import annotations

import json
from pathlib import Path


def examples(folder: Path) -> list[tuple[str, str]]:
    """(path, question) pairs of `examples.json`, {"file name": "question"}; pictures that are not there are left out."""
    try:
        questions = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [(str(folder / name), question) for name, question in questions.items() if (folder / name).is_file()]
