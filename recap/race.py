"""Two methods answer one question in turns, each on its own clock."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .config import RecapConfig, check_request
from .generation import Stream, compare, stream
from .methods import METHODS
from .targets.base import Target
from .trace import Trace, first_difference
from .warm import Warm, given


class Race(Iterator[int]):
    """Two methods answer the same question on one device, taking turns.

    Each lane has a session of its own with empty memories and encodes its pictures itself; that is the same work for
    both, so once both have done it each clock is charged the mean. `next` lets the lane whose own time is behind do its
    next piece of work and returns the lane's number, 0 or 1: the first piece is encoding and prefill, every other one is
    a pass. Apart from that a clock counts its own lane's work only, T = encoding + prefill + decoding, so
    both have the machine to themselves while they run, and at any moment the clocks are as close as one piece of work
    allows. Whoever is first to use a model that has just been loaded may pay for what it loads on first use: decode
    something before.

    `methods`: one name of `recap.METHODS` per lane; when both have ended, the answer that ran against "ar" carries it as
    its trace's comparison. `proceed` is asked between the parts of a long prompt; False ends
    the race. The other arguments are those of `recap.generate`; both lanes draw with the same seed. Raises ValueError
    for names and numbers out of range at once, and for a prompt or picture that cannot be used in the first `next`.
    """

    def __init__(
        self,
        target: Target,
        prompt: str | Sequence[dict[str, Any]],
        images: Sequence[Any] = (),
        methods: tuple[str, str] = ("ar", "recap"),
        max_new_tokens: int = 200,
        temperature: float = 0.0,
        seed: int | None = None,
        config: RecapConfig | None = None,
        warm: Warm = None,
        proceed: Callable[[], bool] = lambda: True,
    ) -> None:
        check_request(max_new_tokens, temperature, seed)
        if len(methods) != 2 or not set(methods) <= set(METHODS):
            raise ValueError(f"methods must be two of {', '.join(METHODS)}, got {methods!r}")
        if temperature > 0 and seed is None:
            seed = secrets.randbits(32)
        self.methods = tuple(methods)
        self._arguments = (target, prompt, images)
        self._settings = dict(max_new_tokens=max_new_tokens, temperature=temperature, seed=seed, config=config, warm=given(warm))
        self._proceed = proceed
        self._streams: list[Stream | None] = [None, None]
        self._closed = False

    @property
    def traces(self) -> tuple[Trace | None, Trace | None]:
        """The two answers as far as they are; None for a lane that has not begun."""
        first, second = (one and one.trace for one in self._streams)
        return first, second

    @property
    def finished(self) -> bool:
        """Whether both answers have ended by themselves."""
        return all(trace is not None and trace.finish_reason in ("stop", "length") for trace in self.traces)

    @property
    def speedup(self) -> float | None:
        """Lane 1 over lane 0 so far: (tokens / T) / (tokens of lane 0 / T of lane 0). None before both have tokens."""
        first, second = self.traces
        if first is None or second is None or not first.tokens_per_second or not second.tokens_per_second:
            return None
        return second.tokens_per_second / first.tokens_per_second

    @property
    def first_difference(self) -> int | None:
        """Index of the first token in which the answers are known to differ, None while there is none."""
        first, second = self.traces
        if first is None or second is None:
            return None
        ours, theirs = first.token_ids, second.token_ids
        both = min(len(ours), len(theirs))
        if (differs := first_difference(ours[:both], theirs[:both])) is not None:
            return differs
        shorter, longer = sorted((first, second), key=lambda trace: len(trace.token_ids))
        complete = shorter.finish_reason in ("stop", "length")
        return len(shorter.token_ids) if complete and len(longer.token_ids) > len(shorter.token_ids) else None

    @property
    def identical(self) -> bool | None:
        """False as soon as a token differs, True when both have ended with the same tokens, None until then."""
        if self.first_difference is not None:
            return False
        return True if self.finished else None

    def __next__(self) -> int:
        lane = self._behind()
        if lane is None:
            raise StopIteration
        try:
            self._work(lane)
        except BaseException:
            self.close()
            raise
        return lane

    def _behind(self) -> int | None:
        """The lane to move: of those that have not ended the one with less time on its clock."""
        if self._closed:
            return None
        seconds = {
            lane: trace.seconds if trace else 0.0
            for lane, trace in enumerate(self.traces)
            if trace is None or not trace.finish_reason
        }
        return min(seconds, key=seconds.__getitem__, default=None)

    def _work(self, lane: int) -> None:
        moving = self._streams[lane]
        if moving is None:
            moving = self._streams[lane] = stream(*self._arguments, method=self.methods[lane], **self._settings)
            moving.prefill(self._proceed)
            self._share_encoding()
        else:
            next(moving)
        if moving.trace.finish_reason == "cancelled":
            self.close()
        elif moving.trace.finish_reason:
            moving.close()
        if self.finished:
            for plain in (0, 1):
                if self.methods[plain] == "ar":
                    compare(self.traces[1 - plain], self.traces[plain])

    def _share_encoding(self) -> None:
        """Seconds of it, where what else the machine did would decide the race."""
        first, second = self.traces
        if first is not None and second is not None:
            first.encode_seconds = second.encode_seconds = (first.encode_seconds + second.encode_seconds) / 2

    def close(self) -> None:
        """Cancel the answers that have not ended; the race is over."""
        self._closed = True
        for one in self._streams:
            if one is not None:
                one.close()

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
