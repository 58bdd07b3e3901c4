"""transformers' own `generate` on the same weights: greedy, and assisted by its prompt lookup.

A peer gets the prompt ids that our decoding gets and stops at the same end tokens; pictures it encodes itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..chat import read_chat

if TYPE_CHECKING:
    from ..targets.prompt import Picture

REFERENCE = "transformers"
LOOKUP = "prompt_lookup"
PEERS = (REFERENCE, LOOKUP)
LOOKUP_TOKENS = 10
"""Tokens that prompt lookup drafts at once."""


class Answer(NamedTuple):
    token_ids: list[int]
    seconds: float
    """Prefill and decoding; for a model that sees, the encoding of its pictures too."""

    @property
    def tokens_per_second(self) -> float:
        return len(self.token_ids) / self.seconds


class Peer:
    """One of PEERS around a transformers model. `end_ids`: token ids that end an answer. `banned`: ids that stand for
    pictures, which prompt lookup would otherwise draft from the prompt, and fail."""

    def __init__(
        self, name: str, model: Any, end_ids: Sequence[int], max_new_tokens: int, banned: Sequence[int] = ()
    ) -> None:
        if name not in PEERS:
            raise ValueError(f"a peer must be one of {', '.join(PEERS)}, got {name!r}")
        self.name, self.model = name, model
        # what a checkpoint's own configuration asks for beyond plain argmax is switched off by name
        self._settings: dict[str, Any] = dict(
            do_sample=False, max_new_tokens=max_new_tokens, eos_token_id=list(end_ids), pad_token_id=end_ids[0],
            repetition_penalty=1.0, temperature=None, top_p=None, top_k=None,
        )  # fmt: skip
        if name == LOOKUP:
            self._settings["prompt_lookup_num_tokens"] = LOOKUP_TOKENS
            if banned:
                self._settings["suppress_tokens"] = list(banned)

    def __call__(self, ids: np.ndarray, inputs: dict[str, Any] | None = None, **settings: Any) -> Answer:
        """The answer to a prompt of these ids, (n,) int64; `inputs`: what the model takes beside them; `settings` differ
        for this call alone."""
        import torch

        prompt = torch.from_numpy(np.ascontiguousarray(ids))[None].to(self.model.device)
        given = {name: value.to(self.model.device) for name, value in (inputs or {}).items()}
        mask = torch.ones_like(prompt)
        clock = perf_counter()
        with torch.inference_mode():
            output = self.model.generate(prompt, attention_mask=mask, **self._settings | settings, **given)
        new = output[0, len(ids) :].tolist()  # waits for the device
        return Answer(new, perf_counter() - clock)


def load(names: Sequence[str], target: Any, max_new_tokens: int, progress: Any = None, dtype: str = "") -> list[Peer]:
    """Peers of a target by name, on one model; see `load_model`."""
    if not names:
        return []
    model = load_model(target, progress, dtype)
    return [Peer(name, model, sorted(target.end_ids), max_new_tokens, target.banned) for name in names]


def load_model(target: Any, progress: Any = None, dtype: str = "") -> Any:
    """The transformers model with a target's weights: its own, or for the compiled passes of "builtin" a second copy
    in torch, in float32 unless `dtype` names another format."""
    import torch

    if isinstance(target.model, torch.nn.Module) and not dtype:
        return target.model
    from ..targets.builtin.language_model import load_language_model

    return load_language_model(getattr(torch, dtype or "float32"), progress=progress)[0]


class Conversation:
    """A conversation with a peer: every turn reads it whole, for `generate` keeps nothing from one call to the next."""

    def __init__(self, peer: Peer, target: Any, pictures: Sequence[Picture], inputs: dict[str, Any]) -> None:
        self._peer, self._target, self._pictures, self._inputs = peer, target, list(pictures), inputs
        self._before: tuple[Any, list[int]] | None = None

    def ask(self, text: str) -> Answer:
        """The next answer. The pictures come with the first question."""
        target = self._target
        if self._before is None:
            messages, _ = read_chat(text, list(self._pictures))
            prompt = target.assemble(messages, self._pictures)
        else:
            prompt = target.follow(*self._before, read_chat(text)[0], [])
        answer = self._peer(prompt.ids, self._inputs | _types(self._inputs, prompt))
        self._before = prompt, answer.token_ids
        return answer


def _types(inputs: dict[str, Any], prompt: Any) -> dict[str, Any]:
    """Where a model wants to be told which positions are a picture's."""
    import torch

    if "mm_token_type_ids" not in inputs:
        return {}
    return {"mm_token_type_ids": torch.from_numpy(prompt.pictured()).long()[None]}
