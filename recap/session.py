"""One conversation: memories, cache and encoded pictures that outlive a turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from .budget import Auto, Budget, Fixed, known
from .chat import read_chat
from .config import RecapConfig
from .drafter import Drafter
from .methods import METHODS, limits, proposer
from .methods.base import Proposer
from .targets.base import Target
from .targets.prompt import Picture, Prompt
from .warm import Warm, given

_REMEMBERED_PICTURES = 16
_FREE_TO_CHANGE = {"max_nodes", "suffix_tokens", "suffix_within", "budget"}
"""Settings that the loop passes to a proposer with every draft: what it remembers does not depend on them."""


@dataclass
class _Turn:
    """A question with the whole conversation before it, and what was answered so far."""

    prompt: Prompt
    start: int
    """Tokens of the prompt that the cache held when the question came."""
    answer: list[int]


class Session:
    """Holds what one conversation may reuse, and nothing of any other.

    U and, for the budget "auto", the words of earlier answers live as long as the session; C, G and the suffix automaton
    last one turn; U's rows may have those of a warm memory behind them (`recap.WarmMemory`), which RECAP alone looks up and
    nobody writes. What the cache already holds is not computed again, and a picture is encoded once. One answer at a time:
    a second one started meanwhile is refused.
    """

    def __init__(
        self, target: Target, method: str = "recap", config: RecapConfig | None = None, warm: Warm = None
    ) -> None:
        """`warm`: a `recap.WarmMemory`, which sessions may share, or the path of its file. Raises ValueError with a sentence
        for one of another model, or whose rows have another length than `config.top_k`."""
        if not isinstance(target, Target):
            raise TypeError(f"target must come from recap.load_target or recap.wrap, not {type(target).__name__}")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        if config is not None and not isinstance(config, RecapConfig):
            raise TypeError(f"config must be a RecapConfig, not {type(config).__name__}")
        self.target = target
        self.method = method
        self.config = config or RecapConfig()
        self.warm = given(warm)
        if self.warm is not None:
            self.warm.require_rows(self.config)
            self.warm.require(target.model, target.name, target.runtime.vocabulary)
        self.cache = target.new_cache()
        self._proposers: dict[str, Proposer] = {}
        self._autos: dict[tuple[str, bool], Auto] = {}
        self._pictures: dict[str, Picture] = {}
        self._cached_keys = np.empty(0, dtype=np.int64)
        self._turns: list[_Turn] = []
        self._earlier: list[_Turn] = []
        """What the question that was prepared last goes on from."""
        self._start = 0
        self._busy = threading.Lock()

    def drafter(self, method: str | None = None) -> Proposer:
        """This session's proposer for a method; made on first use, kept until it is forgotten."""
        method = method or self.method
        known = self._proposers.get(method)
        if known is None:
            base = None if self.warm is None else self.warm.base
            # setdefault: somebody who looks at the memories meanwhile must not replace them
            known = self._proposers.setdefault(method, proposer(method, self.config, base))
        return known

    def budget(self, method: str | None = None, sampled: bool = False) -> Budget:
        """What decides how many nodes a pass of this method gets. The first time that it has to know what passes cost,
        that is measured, in a second or two.

        Answers that are sampled, memories of other settings and other methods have chances of their own: they neither
        use nor change what is kept of the model.
        """
        key = method or self.method, sampled
        one = self.drafter(method)
        numbers = limits(one, self.config)
        if self.config.budget != "auto" or not getattr(one, "best_first", True):
            return Fixed(*numbers, within=self.config.suffix_within and isinstance(one, Drafter))
        if key not in self._autos:
            usual = isinstance(one, Drafter) and not sampled and self.keeps_memories(RecapConfig())
            self._autos[key] = Auto(known(self.target), *numbers, shared=usual, ends=self.target.end_ids)
        self._autos[key].limit(*numbers)
        return self._autos[key]

    def use(self, drafter: Proposer) -> None:
        """Take a proposer made elsewhere, with whatever it remembers, for this session's own method."""
        self._proposers[self.method] = drafter

    def reset(self, forget: bool = False) -> None:
        """Start a new conversation. U and the pictures' encodings stay unless `forget`."""
        with self.answering():
            self.cache.truncate(0)
            self._cached_keys = self._cached_keys[:0]
            self._turns = []
            if forget:
                self._forget()
                self._pictures.clear()

    @property
    def turns(self) -> int:
        """Questions that the conversation holds and `undo` can take back; one counts from its answer's first token."""
        return len(self._turns)

    def undo(self) -> None:
        """Take the last turn back, question and answer: the next one goes on from the turn before, and computes what it
        would have computed had the turn never been. U and the pictures' encodings stay.

        After a chat that was given as a list there is no turn before: the conversation is then empty. Raises
        RuntimeError when there is nothing to take back, or while an answer is being decoded.
        """
        with self.answering():
            if not self._turns:
                raise RuntimeError("the conversation is empty: there is no turn to take back")
            *self._turns, gone = self._turns
            self.rewind(min(gone.start, len(self._cached_keys)))

    def configure(self, config: RecapConfig) -> None:
        """Decode with another config from the next answer on; conversation, cache and encoded pictures stay.

        Proposers stay as well if `keeps_memories`, else they are made anew and remember nothing. Raises TypeError for
        anything but a RecapConfig, ValueError where the rows of its warm memory have another length than `top_k`, and
        RuntimeError while an answer is being decoded.
        """
        with self.answering():
            if self.warm is not None and isinstance(config, RecapConfig):
                self.warm.require_rows(config)
            if not self.keeps_memories(config):
                self._forget()
            self.config = config

    def keeps_memories(self, config: RecapConfig) -> bool:
        """Whether `configure` would leave the memories as they are: nothing but the budget of a pass (`max_nodes`,
        `suffix_tokens`, `suffix_within`, `budget`) differs."""
        if not isinstance(config, RecapConfig):
            raise TypeError(f"config must be a RecapConfig, not {type(config).__name__}")
        now, then = self.config.to_dict(), config.to_dict()
        return all(now[name] == then[name] for name in now.keys() - _FREE_TO_CHANGE)

    def forget(self) -> None:
        """Empty the memories, U too but not what is warm behind it; the conversation goes on. Raises RuntimeError while an answer is being decoded."""
        with self.answering():
            self._forget()

    def release(self) -> None:
        """Give back cache, memories, U too, and kept pictures. The conversation goes on: what its next answer needs is
        evaluated anew. Raises RuntimeError while an answer is being decoded."""
        with self.answering():
            self._forget()
            self._pictures.clear()
            self.cache = self.target.new_cache()
            self._cached_keys = self._cached_keys[:0]

    def remembered_bytes(self) -> int:
        """What the memories of all methods take, as far as these tell; a warm memory, which others share, not counted."""
        return sum(one.stats().get("bytes", 0) for one in self._proposers.values())

    def _forget(self) -> None:
        self._proposers.clear()
        self._autos.clear()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Hold the session for one answer. Raises RuntimeError if another one is being decoded."""
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("this session is still answering; close that stream first, or use another session")
        try:
            yield
        finally:
            self._busy.release()

    def prepare(
        self, chat: str | Sequence[dict[str, Any]], images: Sequence[Any], room: int
    ) -> tuple[Prompt, int, float]:
        """The prompt for a question, how many of its tokens the cache holds, and the seconds spent on its pictures.

        A string continues the conversation, a list of messages replaces it. Raises ValueError for a chat or picture
        that cannot be used and for a prompt that leaves no room for `room` new tokens; the session is then unchanged.
        """
        messages, sources = read_chat(chat, images)
        clock = perf_counter()
        pictures = [self._see(source) for source in sources]
        seconds = perf_counter() - clock
        earlier = self._turns if isinstance(chat, str) else []
        if earlier:
            prompt = self.target.follow(earlier[-1].prompt, earlier[-1].answer, messages, pictures)
        else:
            prompt = self.target.assemble(messages, pictures)
        limit = self.target.context_limit
        if limit is not None and len(prompt.ids) + room > limit:
            raise ValueError(
                f"the conversation has {len(prompt.ids)} tokens and {room} more were asked for, but {self.target.name} "
                f"takes {limit} in all; shorten the text, use a smaller picture, ask for fewer tokens or start a new "
                "chat"
            )
        start = self._reusable(prompt)
        clock = perf_counter()
        for span in prompt.spans:
            if span.start >= start:
                self.target.encode(span.picture)
        self._earlier, self._start = earlier, start
        return prompt, start, seconds + perf_counter() - clock

    def commit(self, prompt: Prompt, tokens: list[int]) -> None:
        """Note what has been said so far; the cache holds all of it but the last token."""
        keys = np.concatenate([prompt.keys(), np.array(tokens, dtype=np.int64)])
        self._cached_keys = keys[: self.cache.length]
        if not self._turns or self._turns[-1].prompt is not prompt:
            self._turns = [*self._earlier, _Turn(prompt, self._start, [])]
        self._turns[-1].answer = list(tokens)

    def rewind(self, length: int) -> None:
        """Let the cache hold only the first `length` tokens."""
        self.cache.truncate(length)
        self._cached_keys = self._cached_keys[:length]

    def show(self, picture: Picture) -> None:
        """Take a picture that was encoded elsewhere for the same target: questions about it find it encoded."""
        self._pictures.pop(picture.digest, None)
        self._pictures[picture.digest] = picture
        while len(self._pictures) > _REMEMBERED_PICTURES:
            del self._pictures[next(iter(self._pictures))]

    def _see(self, source: Any) -> Picture:
        opened = self.target.open(source)
        if opened.digest not in self._pictures:
            self.show(self.target.see(opened))
        return self._pictures[opened.digest]

    def _reusable(self, prompt: Prompt) -> int:
        """Length of the cached prefix of the prompt, never inside a picture and never the whole prompt."""
        keys = prompt.keys()
        common = min(len(keys) - 1, len(self._cached_keys))
        differs = np.nonzero(keys[:common] != self._cached_keys[:common])[0]
        start = int(differs[0]) if len(differs) else common
        return min([start, *(span.start for span in prompt.spans if span.start < start < span.end)])
