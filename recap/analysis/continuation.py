"""A saved greedy continuation: prompt, the target's own tokens, and its row at every state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..trace import Trace

FORMAT = 1
TOP_K = 8


@dataclass
class Continuation:
    """State t (0 <= t < T) is the context prompt + tokens[:t]; its reference is tokens[t], the target's own choice there.

    The first state is the prompt's end, the last one that in which the answer's last token (an end token, if there was
    one) was chosen.
    """

    id: str
    category: str
    cluster: str
    """What is resampled together: the picture, or the input itself where there is none."""
    prompt: np.ndarray
    """(n,) int64, n >= 1, placeholders expanded."""
    banned: tuple[int, ...]
    tokens: np.ndarray
    """(T,) int64."""
    ids: np.ndarray
    """(T, K) int64: the target's top-K at each state."""
    logits: np.ndarray
    """(T, K) float32."""
    seed_tokens: np.ndarray
    """(m,) int64: the prompt's eligible tokens, each once, with the row at its first occurrence."""
    seed_ids: np.ndarray
    """(m, K) int64."""
    seed_logits: np.ndarray
    """(m, K) float32."""

    def __len__(self) -> int:
        return len(self.tokens)

    def context(self, state: int) -> tuple[int, ...]:
        """The last three tokens of a state, fewer where there are fewer."""
        return tuple(np.concatenate([self.prompt[-3:], self.tokens[max(0, state - 3) : state]])[-3:].tolist())

    def to_dict(self) -> dict[str, Any]:
        """JSON types; numbers survive exactly."""
        return {
            "id": self.id, "category": self.category, "cluster": self.cluster, "banned": list(self.banned),
            **{name: getattr(self, name).tolist() for name in _ARRAYS},
        }  # fmt: skip

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Continuation:
        """The inverse of `to_dict`. Raises ValueError for lists that do not belong together."""
        try:
            arrays = {name: np.array(values[name], dtype) for name, dtype in _ARRAYS.items()}
            named = {name: str(values[name]) for name in ("id", "category", "cluster")}
            made = cls(**named, banned=tuple(values["banned"]), **arrays)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"this is no saved continuation: {error}") from None
        width = made.ids.shape[1] if made.ids.ndim == 2 else 0
        count = len(made.seed_tokens)
        for name in ("seed_ids", "seed_logits"):  # an empty list has lost its second dimension
            setattr(made, name, getattr(made, name).reshape(count, width) if not count else getattr(made, name))
        shapes = [made.ids.shape, made.logits.shape], [made.seed_ids.shape, made.seed_logits.shape]
        if (
            made.prompt.ndim != 1 or not len(made.prompt) or made.tokens.ndim != 1 or not width
            or any(shape != (len(made.tokens), width) for shape in shapes[0])
            or any(shape != (count, width) for shape in shapes[1])
        ):  # fmt: skip
            raise ValueError(f"this is no saved continuation: tokens and rows of {made.id!r} do not belong together")
        return made

    @classmethod
    def from_trace(cls, trace: Trace, id: str = "", category: str = "") -> Continuation:
        """What a greedy trace tells: it keeps no prompt and no row of the prompt's end, so the first token stands for the
        prompt, states begin behind it, and nothing is seeded.

        Raises ValueError for a sampled trace, for one without a pass and for a method whose passes keep no rows (AR).
        """
        if trace.temperature > 0:
            raise ValueError("this answer was sampled; replay needs a greedy continuation")
        found = [(step, node) for step in trace.steps for node in [0, *step.accepted_nodes][: len(step.committed)]]
        if not found or any(step.target[node] < 0 for step, node in found):
            raise ValueError(f"this trace (method {trace.method}) keeps no rows of the target; record one with recap")
        rows = [trace.table.rows[step.target[node]] for step, node in found]
        ids = np.array([row.ids for row in rows], np.int64)
        # a probability that float32 rounded to 0 stays the smallest there is
        logits = np.log(np.maximum(np.array([row.probs for row in rows], np.float64), 1e-45)).astype(np.float32)
        tokens = np.array(trace.token_ids[1 : 1 + len(rows)], np.int64)
        nothing = np.empty((0, ids.shape[1]))
        return cls(
            id, category, id, np.array(trace.token_ids[:1], np.int64), (), tokens, ids[: len(tokens)],
            logits[: len(tokens)], np.empty(0, np.int64), nothing.astype(np.int64), nothing.astype(np.float32),
        )  # fmt: skip


_ARRAYS = {
    "prompt": np.int64, "tokens": np.int64, "ids": np.int64, "logits": np.float32, "seed_tokens": np.int64,
    "seed_ids": np.int64, "seed_logits": np.float32,
}  # fmt: skip


def greedy(target: Any, question: dict[str, Any], max_new_tokens: int, top_k: int = TOP_K) -> Continuation:
    """Decode a question ({"id", "category", "prompt", "images"}) greedily, then one teacher-forced pass for the rows."""
    from ..forced import Forced
    from ..generation import generate
    from ..session import Session

    session = Session(target, "ar")
    prompt, _, _ = session.prepare(question["prompt"], question["images"], max_new_tokens)
    answer = generate(
        target, question["prompt"], images=question["images"], session=session, max_new_tokens=max_new_tokens
    ).trace
    forced = Forced.read(target, prompt)
    eligible = np.nonzero(~np.isin(prompt.ids, target.banned))[0]
    _, first = np.unique(prompt.ids[eligible], return_index=True)
    places = np.sort(eligible[first])
    seeds = [target.predict(forced.hidden[places[at : at + 256]]).top(top_k) for at in range(0, len(places), 256)]
    said = [predictions.top(top_k) for _, predictions in forced.of(answer.token_ids)]
    ids, logits = (np.concatenate(part) for part in zip(*said))
    seed_ids, seed_logits = (np.concatenate(part) for part in zip(*seeds))
    pictures = "+".join(picture.digest for picture in prompt.pictures)
    return Continuation(
        question["id"], question["category"], pictures or f"input {question['id']}", prompt.ids, tuple(target.banned),
        np.array(answer.token_ids, np.int64), ids, logits, prompt.ids[places], seed_ids, seed_logits,
    )  # fmt: skip


def saved(path: Path) -> tuple[dict[str, Any], list[Continuation]]:
    """What a file of continuations says of itself in its first line, and the continuations. A last line that was cut off
    (the run was killed) is left out. Raises ValueError naming a line that is none."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines and lines[-1]:
        lines.pop()
    lines = [line for line in lines if line]
    try:
        head = json.loads(lines[0])
        if head["format"] != FORMAT:
            raise ValueError(f"format {head['format']}, expected {FORMAT}")
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise ValueError(f"{path} is no file of saved continuations ({error})") from None
    found = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            found.append(Continuation.from_dict(json.loads(line)))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    return head, found


def save(
    path: Path, about: dict[str, Any], made: Iterable[Continuation], known: Sequence[Continuation] = ()
) -> Iterator[Continuation]:
    """Write continuations as they come, a line each, after those known already; yields them."""
    lines = [{"format": FORMAT, **about}, *(one.to_dict() for one in known)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for one in made:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one.to_dict()) + "\n")
        yield one
