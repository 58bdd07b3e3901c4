"""Draws scenes, lets the real front end look at them, and keeps picture and evidence on disk."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.front_end import FrontEnd

from .draw import draw
from .scenes import KINDS, Scene, make

CACHE = Path("runs/training")
"""Where everything made here is kept, below the current folder; git ignores it."""


def scenes(split: str, count: int) -> Iterator[Scene]:
    """`count` scenes, the kinds in turn."""
    names = list(KINDS)
    for number in range(count):
        yield make(names[number % len(names)], split, number // len(names))


def seen(split: str, count: int, cache: Path = CACHE) -> Iterator[tuple[Scene, Evidence]]:
    """`count` scenes with what the real front end saw; looked at once and kept, so an interrupted run goes on."""
    eyes: FrontEnd | None = None
    folder = cache / "seen" / split
    folder.mkdir(parents=True, exist_ok=True)
    for scene in scenes(split, count):
        path = folder / f"{scene.kind}-{scene.seed}.pickle"
        if path.is_file():
            known, evidence = pickle.loads(path.read_bytes())
            if known == scene:
                yield scene, evidence
                continue
        eyes = eyes or FrontEnd()
        image = draw(scene)
        image.save(path.with_suffix(".png"))
        evidence = eyes.look(image)
        path.write_bytes(pickle.dumps((scene, evidence)))
        yield scene, evidence
