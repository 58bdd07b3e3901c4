"""`WarmMemory`: a warm U that was read, in memory once, and whether a model may use it."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from ..config import RecapConfig
from ..drafter import Base
from .file import BUILD, Origin, read


class WarmMemory:
    """Rows of U from a file, shared by every session that is given it: `recap.Session(target, warm=memory)`.

    A session looks them up where its own U has no row, and never writes to them; what it learns stays its own. They are
    predictions that the model once made after a token, so they change which tokens are proposed and how fast an answer
    comes, never what it says. Make one with `WarmMemory.load`.
    """

    base: Base
    """What drafters take."""
    origin: Origin
    """What it was built for, and from what."""
    digest: str
    """Twelve hex digits of its rows."""

    def __init__(self, base: Base, origin: Origin, digest: str) -> None:
        self.base, self.origin, self.digest = base, origin, digest

    @classmethod
    def load(cls, path: str | os.PathLike, backend: str = "auto") -> WarmMemory:
        """From a file that `python -m recap memory build` wrote; `backend` as for `recap.Drafter`. Raises ValueError with a
        sentence for a file that cannot be used."""
        arrays, origin = read(os.fspath(path))
        whole = hashlib.sha256()
        for name, array in arrays.items():
            if name != "probs" and array.size and not 0 <= array.min() <= array.max() < origin.vocabulary:
                raise ValueError(
                    f"{os.path.basename(path)!r} is no warm memory that can be used: {name} must lie between 0 and "
                    f"{origin.vocabulary - 1}, the last of the vocabulary that it names; {BUILD}"
                )
            whole.update(array.tobytes())
        try:
            base = Base(**arrays, backend=backend)
        except ValueError as error:
            raise ValueError(f"{os.path.basename(path)!r} is no warm memory that can be used: {error}; {BUILD}") from None
        return cls(base, origin, whole.hexdigest()[:12])

    def __repr__(self) -> str:
        return f"<recap.WarmMemory {self.digest} of {self.origin.model}, {self.base.rows:,} rows>"

    def require(self, model: Any, name: str, vocabulary: int) -> None:
        """Raises ValueError with a sentence unless its rows are this model's own. `model`: a loaded model or a checkpoint."""
        from ..targets.fingerprint import fingerprint

        origin, weights = self.origin, fingerprint(model)
        if (origin.weights, origin.vocabulary) != (weights, vocabulary):
            same = origin.model == os.path.basename(name)
            reader = ", or RECAP_READER as it was then," if same and origin.model == "builtin" else ""
            raise ValueError(
                f"this warm memory was built for {origin.model!r} (weights {origin.weights}, {origin.vocabulary:,} tokens), and "
                f"the model here is {os.path.basename(name)!r} (weights {weights}, {vocabulary:,} tokens): rows of one model are no "
                f"predictions of another; leave it out{reader} or {BUILD} and the same --model"
            )

    def require_rows(self, config: RecapConfig) -> None:
        """Raises ValueError unless the settings take rows of its length. No other setting changes what a row is."""
        if config.top_k != self.origin.top_k:
            raise ValueError(
                f"this warm memory has rows of {self.origin.top_k} ids, and top_k is {config.top_k}: take top_k="
                f"{self.origin.top_k}, or build one with --set top_k={config.top_k}"
            )


Warm = WarmMemory | str | os.PathLike | None
"""What `warm=` takes: a memory, the path of a file to read one from, or nothing."""


def given(warm: Warm) -> WarmMemory | None:
    """The memory that is meant. Raises TypeError for anything else, ValueError for a file that cannot be used."""
    if warm is None or isinstance(warm, WarmMemory):
        return warm
    if isinstance(warm, (str, os.PathLike)):
        return WarmMemory.load(warm)
    raise TypeError(f"warm must be a recap.WarmMemory or the path of its file, not {type(warm).__name__}")
