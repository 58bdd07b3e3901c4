"""Which words of an answer need the picture: the image lens as work for the device, asked for by a button."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import recap
from recap import lens

from .conversation import Conversation
from .jobs import Job


class Looking(Job):
    """The lens of an answer of this page whose picture is still here; it ends in the trace itself."""

    kind = "lens"

    def __init__(self, conversation: Conversation, trace: recap.Trace, picture: str) -> None:
        super().__init__(conversation, "", picture, 0, None, 0.0, None)
        self.trace = trace

    @property
    def way(self) -> str:
        return self.trace.method

    @property
    def answers(self) -> tuple[recap.Trace | None, ...]:
        return ()

    def _enter(self) -> None:
        self.conversation.looking = self

    def _leave(self) -> None:
        pass

    def _pieces(self, target: Any) -> Iterator[None]:
        return lens.looking(target, self.trace, self._pictures)


def of(conversation: Conversation, trace: recap.Trace) -> Looking | None:
    """The lens of this trace, where it was asked for: running or ended."""
    job = conversation.looking
    return job if job is not None and job.trace is trace else None


def begin(conversation: Conversation, trace: recap.Trace) -> Looking:
    """A new one, not yet given to the worker. Raises ValueError with a sentence where the picture is not here any more."""
    last = conversation.latest
    if last is None or last.trace is not trace or not trace.finish_reason:
        raise ValueError("Only the last answer of this page can be looked at again: its picture is still here.")
    if last.picture is None:
        raise ValueError("This question brought no picture along. Ask about a picture, and look at that answer.")
    return Looking(conversation, trace, last.picture)
