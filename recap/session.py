"""One conversation: memories, cache and encoded pictures that outlive a turn."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from .chat import read_chat
from .config import RecapConfig
from .methods import METHODS, proposer
from .methods.base import Proposer
from .targets.base import Target
from .targets.prompt import Picture, Prompt

_REMEMBERED_PICTURES = 16


class Session:
    """Holds what one conversation may reuse, and nothing of any other.

    U lives as long as the session; C, G and the suffix automaton last one turn. What the cache already holds is not
    computed again, and a picture is encoded once. One answer at a time: a second one started meanwhile is refused.
    """

    def __init__(self, target: Target, method: str = "recap", config: RecapConfig | None = None) -> None:
        if not isinstance(target, Target):
            raise TypeError(f"target must come from recap.load_target or recap.wrap, not {type(target).__name__}")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        if config is not None and not isinstance(config, RecapConfig):
            raise TypeError(f"config must be a RecapConfig, not {type(config).__name__}")
        self.target = target
        self.method = method
        self.config = config or RecapConfig()
        self.cache = target.new_cache()
        self._proposers: dict[str, Proposer] = {}
        self._pictures: dict[str, Picture] = {}
        self._cached_keys = np.empty(0, dtype=np.int64)
        self._prompt: Prompt | None = None
        self._answer: list[int] = []
        self._busy = threading.Lock()

    def drafter(self, method: str | None = None) -> Proposer:
        """This session's proposer for a method; made on first use, kept until `reset(forget=True)`."""
        method = method or self.method
        if method not in self._proposers:
            self._proposers[method] = proposer(method, self.config)
        return self._proposers[method]

    def use(self, drafter: Proposer) -> None:
        """Take a proposer made elsewhere, with whatever it remembers, for this session's own method."""
        self._proposers[self.method] = drafter

    def reset(self, forget: bool = False) -> None:
        """Start a new conversation. U and the pictures' encodings stay unless `forget`."""
        with self.answering():
            self.cache.truncate(0)
            self._cached_keys = self._cached_keys[:0]
            self._prompt, self._answer = None, []
            if forget:
                self._proposers.clear()
                self._pictures.clear()

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
        if isinstance(chat, str) and self._prompt is not None:
            prompt = self.target.follow(self._prompt, self._answer, messages, pictures)
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
        return prompt, start, seconds + perf_counter() - clock

    def commit(self, prompt: Prompt, tokens: list[int]) -> None:
        """Note what has been said so far; the cache holds all of it but the last token."""
        keys = np.concatenate([prompt.keys(), np.array(tokens, dtype=np.int64)])
        self._cached_keys = keys[: self.cache.length]
        self._prompt, self._answer = prompt, list(tokens)

    def rewind(self, length: int) -> None:
        """Let the cache hold only the first `length` tokens."""
        self.cache.truncate(length)
        self._cached_keys = self._cached_keys[:length]

    def _see(self, source: Any) -> Picture:
        opened = self.target.open(source)
        known = self._pictures.get(opened.digest)
        if known is None:
            known = self._pictures[opened.digest] = self.target.see(opened)
            while len(self._pictures) > _REMEMBERED_PICTURES:
                del self._pictures[next(iter(self._pictures))]
        return known

    def _reusable(self, prompt: Prompt) -> int:
        """Length of the cached prefix of the prompt, never inside a picture and never the whole prompt."""
        keys = prompt.keys()
        common = min(len(keys) - 1, len(self._cached_keys))
        differs = np.nonzero(keys[:common] != self._cached_keys[:common])[0]
        start = int(differs[0]) if len(differs) else common
        return min([start, *(span.start for span in prompt.spans if span.start < start < span.end)])
