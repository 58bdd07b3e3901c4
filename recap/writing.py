"""The text of an answer while it grows, at a cost that does not grow with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

HALF = "\ufffd"
"""What a tokenizer shows of a character that still misses bytes."""


class Writing:
    """Text of a growing list of token ids. `decode`: text of some ids, `settled`: those ids that no later one can change.

    Some tokenizers treat the first token they decode in a way of its own, so the last stretch of text is always decoded
    once more together with what is new behind it.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str], settled: Callable[[Sequence[int]], list[int]]) -> None:
        self._decode, self._settled = decode, settled
        self._text = ""
        self._begin = self._end = 0
        """The last stretch: its ids lie between these places."""

    def read(self, ids: Sequence[int]) -> str:
        """Text of `ids`, which begin with those of the last call. A character is shown once it has all its bytes."""
        stretch = self._settled(ids[self._begin :])
        old = self._decode(stretch[: self._end - self._begin])
        new = self._decode(stretch)[len(old) :]
        if new.endswith(HALF):
            return self._text + new.rstrip(HALF)
        if new:
            self._text += new
            self._begin, self._end = self._end, self._begin + len(stretch)
        return self._text
