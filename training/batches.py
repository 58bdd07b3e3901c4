"""Conversations as token ids, exactly as the engine would feed them, and batches of similar length."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from recap.chat import Message
from recap.targets.prompting import PromptTokenizer


@dataclass(frozen=True)
class Encoded:
    """A conversation: ids, and for each whether the model must have predicted it."""

    ids: tuple[int, ...]
    taught: tuple[bool, ...]
    plain: bool = False
    """A chat without a picture: the untuned model's own predictions are what is taught."""


def prompter_of(tokenizer: Any) -> PromptTokenizer:
    """The one that `BuiltinTarget` uses."""

    def render(messages: list[dict]) -> str:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    return PromptTokenizer(tokenizer, render, holds_parts=False)


def encode(entry: dict, prompter: PromptTokenizer, end: int, longest: int) -> Encoded | None:
    """Ids of {"evidence", "turns", "ended"} and perhaps "firm" (its answers are taught, picture or not), as `data` writes
    them; turns that do not fit into `longest` are left out,
    None if none fits."""
    ids: list[int] = []
    taught: list[bool] = []
    history: list[Message] = []
    for number, (question, answer, *noted) in enumerate(entry["turns"]):
        seen = entry["evidence"] if number == 0 else ""
        parts = tuple(part for part in (seen, *noted, question) if part)
        message = Message("user", parts)
        asked = prompter.encode_turn(history, [message]) if history else prompter.encode_chat([message])
        if history:
            asked = asked[1:]  # the end token, which the answer before it was taught
        said = prompter.encode_text(answer) + ([end] if entry["ended"] else [])
        if len(ids) + len(asked) + len(said) > longest:
            break
        ids += asked + said
        taught += [False] * len(asked) + [True] * len(said)
        history += [message, Message("assistant", (answer,))]
    return Encoded(tuple(ids), tuple(taught), not (entry["evidence"] or entry.get("firm"))) if ids else None


def batches(encoded: Sequence[Encoded], tokens: int, seed: int) -> list[list[Encoded]]:
    """All conversations once, in batches of at most about `tokens`, each of similar length, in random order."""
    rng = random.Random(seed)
    ordered = sorted(encoded, key=lambda one: (len(one.ids) + rng.randint(0, 24), rng.random()))
    found: list[list[Encoded]] = []
    for one in ordered:
        if not found or (len(found[-1]) + 1) * max(len(other.ids) for other in (one, *found[-1])) > tokens:
            found.append([])
        found[-1].append(one)
    rng.shuffle(found)
    return found


def padded(batch: Sequence[Encoded]) -> tuple[torch.Tensor, torch.Tensor]:
    """(b, n) int64 ids, padded on the right, and (b, n) bool: taught. Causal attention never looks at the padding."""
    longest = max(len(one.ids) for one in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    taught = torch.zeros(len(batch), longest, dtype=torch.bool)
    for row, one in enumerate(batch):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
        taught[row, : len(one.taught)] = torch.tensor(one.taught)
    return ids, taught
