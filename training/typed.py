"""Questions as somebody typed them who knew nothing of this project, by what is asked: most of the wordings of training.

Those that the exam has word for word were left out.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path


def typed(kind: str, **slots: str) -> tuple[str, ...]:
    """The wordings of a kind; each `{slot}` of the file replaced by what is given for it. KeyError for another kind."""
    wordings = _all()[kind]
    for slot, word in slots.items():
        wordings = tuple(wording.replace(f"{{{slot}}}", word) for wording in wordings)
    return wordings


@lru_cache(maxsize=1)
def _all() -> dict[str, tuple[str, ...]]:
    read = json.loads(Path(__file__).with_name("wordings.json").read_text("utf-8"))
    return {kind: tuple(wordings) for kind, wordings in read.items()}
