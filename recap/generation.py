"""`recap.generate` and `recap.stream`: a question in, an answer and its trace out."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
import torch

from . import __version__
from .choosing import Chooser, Greedy, Sampler
from .config import RecapConfig, check_request
from .decoding import Decoding
from .methods.base import Proposer
from .session import Session
from .targets.base import Target
from .targets.predictions import Predictions
from .targets.prompt import Prompt
from .targets.trees import PackedTree
from .trace import Comparison, Step, Trace, first_difference
from .warm import Warm
from .writing import Writing

_READ = object()
"""Stands for the end of a prompt."""


def _of_trace(name: str, meaning: str) -> property:
    return property(lambda answer: getattr(answer.trace, name), doc=meaning)


@dataclass
class Generation:
    """A finished answer: its trace, and the figures that people ask for first."""

    trace: Trace
    prompt_ids: np.ndarray
    """The whole prompt, placeholders expanded, (n,) int64."""

    text = _of_trace("text", "The answer, control tokens left out.")
    token_ids = _of_trace("token_ids", "Its tokens, an end token included.")
    finish_reason = _of_trace("finish_reason", "stop | length | cancelled.")
    acceptance_length = _of_trace("acceptance_length", "tau: 1 + accepted drafts / passes.")
    tokens_per_second = _of_trace("tokens_per_second", "Tokens / (encoding + prefill + decoding).")
    encode_seconds = _of_trace("encode_seconds", "Spent on pictures.")
    prefill_seconds = _of_trace("prefill_seconds", "Spent on the prompt, seeding included.")
    decode_seconds = _of_trace("decode_seconds", "Spent on passes.")


class Stream(Iterator[Step]):
    """Steps of an answer as they happen. `trace` grows along; `close()` cancels and leaves the session usable.

    Bad input raises before the stream exists. The first token comes from prefill, so `trace.text` may hold something
    before the first step, and an answer of one token has no step.
    """

    def __init__(self, session: Session, decoding: Decoding, prompt_ids: np.ndarray, held: Any) -> None:
        self.trace = decoding.trace
        self.prompt_ids = prompt_ids
        self._session = session
        self._decoding = decoding
        self._held = held
        self._writing = Writing(decoding.target.decode, decoding.target.settled)
        self._steps: Iterator[Step] | None = None
        """None before the prompt was read."""

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Step:
        if self._held is None:
            raise StopIteration
        try:
            if self._steps is None:
                self.prefill()
            clock = perf_counter()
            step = next(self._steps, None)
            if step is not None:
                self.trace.steps.append(step)
            self._update(perf_counter() - clock)
        except BaseException:
            self.close()
            raise
        if step is None:
            self.close()
            raise StopIteration
        return step

    @property
    def writing(self) -> bool:
        """Whether the next step is a pass: the prompt was read, and the answer goes on."""
        return self._held is not None and self._steps is not None and self._decoding.finish_reason is None

    def propose(self, company: int = 0) -> PackedTree:
        """For a pass that several answers share, while `writing`: this one's tree; see `recap.together`."""
        clock = perf_counter()
        try:
            return self._decoding.propose(company)
        except BaseException:
            self.close()
            raise
        finally:
            self.trace.decode_seconds += perf_counter() - clock

    def conclude(self, predictions: Predictions, seconds: float) -> Step:
        """The step of a shared pass, of which `seconds` are this answer's."""
        clock = perf_counter()
        try:
            step = self._decoding.conclude(predictions, 1000.0 * seconds)
            self.trace.steps.append(step)
            self._update(seconds + perf_counter() - clock)
        except BaseException:
            self.close()
            raise
        return step

    def prefill(self, proceed: Callable[[], bool] = lambda: True) -> None:
        """Evaluate the prompt and commit the first token. The first `next` does this by itself.

        `proceed` is asked between the parts of a long prompt; False cancels.
        """
        for _ in self.reading():
            if not proceed():
                self.close()

    def reading(self) -> Iterator[None]:
        """The same part by part: yields after each. Others may use the device until it is resumed; their time is not
        counted, and neither is it between two steps."""
        if self._steps is not None or self._held is None:
            return
        parts, more = self._decoding.reading(), True
        while more and self._held is not None:
            clock = perf_counter()
            try:
                more = next(parts, _READ) is not _READ
            except BaseException:
                self.close()
                raise
            self.trace.prefill_seconds += perf_counter() - clock
            if more:
                yield
        if self._held is None:
            return
        self._steps = self._decoding.steps()
        first = self._decoding.tokens[0]
        self.trace.table.texts.setdefault(first, self._decoding.target.text_of(first))
        self._update(0.0)

    def _update(self, seconds: float) -> None:
        trace, decoding = self.trace, self._decoding
        trace.decode_seconds += seconds
        if len(trace.token_ids) == len(decoding.tokens):
            return
        trace.token_ids = list(decoding.tokens)
        self._session.commit(decoding.prompt, trace.token_ids)
        target = decoding.target
        if decoding.finish_reason is not None:
            trace.finish_reason = decoding.finish_reason
            trace.text = target.decode(trace.token_ids)
        else:
            trace.text = self._writing.read(trace.token_ids)

    def close(self) -> None:
        """Cancel, or do nothing when the answer has ended."""
        if self._held is None:
            return
        if not self.trace.finish_reason:
            self.trace.finish_reason = "cancelled"
        self._decoding.budget.close()
        held, self._held = self._held, None
        held.__exit__(None, None, None)
        # whoever keeps the stream for its trace must not keep cache and memories
        self._session = self._decoding = self._writing = None
        self._steps = iter(())

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_held", None) is not None:
            self.close()


def stream(
    target: Target,
    prompt: str | Sequence[dict[str, Any]],
    images: Sequence[Any] = (),
    method: str | None = None,
    max_new_tokens: int = 200,
    temperature: float = 0.0,
    seed: int | None = None,
    config: RecapConfig | None = None,
    session: Session | None = None,
    drafter: Proposer | None = None,
    warm: Warm = None,
) -> Stream:
    """Decode an answer step by step; see `generate` for the arguments. Yields `recap.Step` as each pass ends."""
    check_request(max_new_tokens, temperature, seed)
    if drafter is not None and not callable(getattr(drafter, "draft", None)):
        raise TypeError(f"drafter must be a recap.Drafter or another proposer, not {type(drafter).__name__}")
    if warm is not None and (session is not None or drafter is not None):
        raise ValueError("a session or a drafter has memories of its own: give warm to recap.Session, or without either")
    if session is None:
        session = Session(target, method or "recap", config or getattr(drafter, "config", None), warm)
        if drafter is not None:
            session.use(drafter)
    elif drafter is not None:
        raise ValueError("give either a session, which has its own drafter, or a drafter, not both")
    elif session.target is not target:
        raise ValueError("this session belongs to another target; make a new recap.Session for this one")
    elif config is not None and config != session.config:
        raise ValueError("a session has a config of its own; call session.configure to change it")
    held = session.answering()
    held.__enter__()
    try:
        return _begin(session, prompt, images, method or session.method, max_new_tokens, temperature, seed, held)
    except BaseException:
        held.__exit__(None, None, None)
        raise


def _begin(
    session: Session, chat: Any, images: Any, method: str, max_new_tokens: int, temperature: float,
    seed: int | None, held: Any,
) -> Stream:
    proposer, budget = session.drafter(method), session.budget(method, temperature > 0)
    prompt, start, encode_seconds = session.prepare(chat, images, max_new_tokens)
    session.rewind(start)
    if temperature > 0 and seed is None:
        seed = secrets.randbits(32)
    chooser: Chooser = Sampler(temperature, seed) if temperature > 0 else Greedy()
    trace = _trace(session, proposer, method, prompt, start, max_new_tokens, temperature, seed)
    trace.encode_seconds = encode_seconds
    decoding = Decoding(
        session.target, proposer, chooser, prompt, start, session.cache, trace, budget,
        stop=lambda token: None, remaining=max_new_tokens,
    )
    return Stream(session, decoding, prompt.ids, held)


def generate(
    target: Target,
    prompt: str | Sequence[dict[str, Any]],
    images: Sequence[Any] = (),
    method: str | None = None,
    max_new_tokens: int = 200,
    temperature: float = 0.0,
    seed: int | None = None,
    config: RecapConfig | None = None,
    session: Session | None = None,
    drafter: Proposer | None = None,
    warm: Warm = None,
) -> Generation:
    """Answer a question about pictures, token for token as plain decoding would.

    `prompt`: a string, or a chat of {"role", "content"} whose picture parts consume `images` in order. `images`: paths,
    bytes, PIL images or arrays. `method`: one of `recap.METHODS`, by default "recap" or the session's. `temperature` 0
    is argmax; above, tokens are drawn with `seed` (a fresh one, kept in the trace, if None). `session` continues a
    conversation; `drafter` brings memories of its own; with neither, memories are fresh and empty. `warm`, a
    `recap.WarmMemory` or the path of its file, is looked up where U has no row; other methods have no U and leave it
    alone. Raises ValueError or
    TypeError with a sentence for bad input, before any work is done.
    """
    with stream(
        target, prompt, images, method, max_new_tokens, temperature, seed, config, session, drafter, warm
    ) as answer:
        for _ in answer:
            pass
        return Generation(answer.trace, answer.prompt_ids)


def compare(answer: Trace, plain: Trace) -> Comparison:
    """Attach plain AR decoding of the same request to a trace."""
    answer.comparison = Comparison(
        list(plain.token_ids), plain.text, plain.encode_seconds, plain.prefill_seconds, plain.decode_seconds,
        first_difference(answer.token_ids, plain.token_ids),
    )  # fmt: skip
    return answer.comparison


def versions() -> dict[str, str]:
    """What an answer was made with."""
    return {
        "recap": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": _of_transformers(),
    }


@cache
def _of_transformers() -> str:
    """Asked of its files: the built-in model does without its import."""
    return version("transformers")


def _trace(
    session: Session, proposer: Proposer, method: str, prompt: Prompt, start: int, max_new_tokens: int,
    temperature: float, seed: int | None,
) -> Trace:
    target = session.target
    return Trace(
        model=target.name, device=target.device, dtype=target.dtype, exact=target.exact,
        backend=getattr(proposer, "backend", "none"), method=method, config=session.config.to_dict(),
        messages=[{"role": message.role, "content": message.text} for message in prompt.messages],
        pictures=target.shown(prompt), prompt_tokens=len(prompt.ids),
        cached_tokens=start, max_new_tokens=max_new_tokens, temperature=float(temperature), seed=seed,
        exactness=target.exactness,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        versions=versions() | ({"warm memory": session.warm.digest} if session.warm is not None and method == "recap" else {}),
    )
