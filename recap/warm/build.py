"""Building a warm U: inputs are answered one after another, and what U holds at the end is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

import numpy as np

from ..bench.manifest import Input, marks
from ..config import RecapConfig
from ..generation import generate, versions
from ..session import Session
from ..targets.fingerprint import fingerprint
from .file import Origin


class Built(NamedTuple):
    """Rows as `Drafter.export` gives them, what they come from, and a sentence for every input that could not be asked."""

    token_ids: np.ndarray
    ids: np.ndarray
    probs: np.ndarray
    origin: Origin
    problems: list[str]


def build(
    target: Any, inputs: Sequence[Input], config: RecapConfig, max_new_tokens: int,
    answered: Callable[[Input], None] = lambda one: None,
) -> Built:  # fmt: skip
    """Answer every input, all its turns, in a conversation of its own, by RECAP; U is kept from one to the next.

    Raises ValueError where the settings clear U with every request, and where nothing could be answered.
    """
    if not config.persistent:
        raise ValueError("persistent=False clears U with every request, so nothing would be left; leave it at True")
    session, problems, tokens, used = Session(target, "recap", config), [], 0, []
    for one in inputs:
        try:
            for number, turn in enumerate(one.turns):
                images = one.images if number == 0 else ()
                answer = generate(target, turn, images, session=session, max_new_tokens=max_new_tokens)
                tokens += len(answer.token_ids)
            used.append(one)
        except ValueError as error:  # a picture that is none, a text too long: the others go on
            problems.append(f"{one.id} is left out: {error}")
        session.reset()
        answered(one)
    token_ids, ids, probs = session.drafter().export()
    if not len(token_ids):
        raise ValueError("none of the inputs could be answered" + (f" ({problems[0]})" if problems else ""))
    origin = Origin(
        model=os.path.basename(os.path.normpath(target.name)) if os.path.isdir(target.name) else target.name,
        weights=fingerprint(target.model), vocabulary=target.runtime.vocabulary, top_k=config.top_k, inputs=len(used),
        tokens=tokens, sources=tuple(sorted(set().union(*map(marks, used)))), config=config.to_dict(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"), versions=versions(),
    )  # fmt: skip
    return Built(token_ids, ids, probs, origin, problems)
