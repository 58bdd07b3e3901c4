"""Pictures that come with the studio: most visitors begin with one of them, so a model looks at each once for all.

What it saw of a visitor's own picture stays in that visitor's session alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from recap import Session
from recap.pictures import PictureError, digest, open_picture, picture_size
from recap.targets.prompt import Picture

from .examples import KINDS

PLACE = Path(__file__).parents[1] / "assets" / "examples"
_seen: WeakKeyDictionary[Any, dict[str, Picture]] = WeakKeyDictionary()


def show(session: Session, paths: Sequence[str]) -> None:
    """Let a session have what its model saw of those of these pictures that are ours. On the device's thread."""
    target = session.target
    for path in paths:
        try:
            alike = _ours().get(picture_size(path))
            opened = target.open(path) if alike else None
        except PictureError:  # told where the question is read
            continue
        if opened is None or opened.digest not in map(_digest, alike):
            continue
        known = _seen.setdefault(target, {})
        if opened.digest not in known:
            picture = target.see(opened)
            target.encode(picture)
            known[opened.digest] = picture
        session.show(known[opened.digest])


@cache
def _ours() -> dict[tuple[int, int], list[str]]:
    """Paths by width and height: what a picture must have to be worth a second look."""
    found: dict[tuple[int, int], list[str]] = {}
    for path in sorted(PLACE.glob("*")):
        if path.suffix.lower() in KINDS:
            found.setdefault(picture_size(str(path)), []).append(str(path))
    return found


@cache
def _digest(path: str) -> str:
    return digest(open_picture(path))
