"""The eyes of `builtin`: a classifier, a text reader, colours and simple charts; the language model answers from these.

`Eyes` is all that the target needs of them: a trained vision tower can stand in their place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from PIL import Image

from ...pictures import whole_size
from ..alone import settle_down
from . import lite0
from .charts import find_chart
from .colours import colours, colours_by_place
from .evidence import Evidence
from .sources import ensure
from .store import Progress
from .text_reader import TextReader

CLASSES = 1000
TOP = 5
T = TypeVar("T")


class Eyes(Protocol):
    """Anything that looks at a picture and writes down what it saw."""

    def look(self, image: Image.Image) -> Evidence:
        """What is in an upright RGB image of any size; a longer side than `text_reader.LONGEST` brings nothing."""


class FrontEnd:
    """Looks at pictures. Parts load on first use; one instance may be used by several threads.

    A part that fails costs its own evidence only: the others still look, and the failure is named in the evidence.
    """

    def __init__(self, progress: Progress | None = None, threads: int = 2) -> None:
        """`threads`: of the text reader. The classifier has one, beside it."""
        self._progress = progress
        self._threads = threads
        self._beside = ThreadPoolExecutor(1, "eyes", settle_down)
        self._classify, self._read = _Lazy(self._load_classifier), _Lazy(self._load_reader)

    def look(self, image: Image.Image) -> Evidence:
        """What is in an RGB image of any size (`recap.pictures.open_picture` gives one)."""
        problems: list[str] = []
        problems_beside: list[str] = []
        objects = self._beside.submit(_attempt, "objects", lambda: self._classify(image), problems_beside)
        text = _attempt("text", lambda: self._read(image), problems)
        return Evidence(
            size=whole_size(image),
            objects=objects.result(),
            text=text,
            colours=_attempt("colours", lambda: colours(image), problems),
            places=_attempt("places", lambda: colours_by_place(image), problems) or (),
            chart=_attempt("chart", lambda: find_chart(image, text or ()), problems),
            problems=(*problems_beside, *problems),
        )

    def _load_classifier(self) -> Callable[[Image.Image], tuple[tuple[str, float], ...]]:
        names = class_names()
        network = _load_network(self._progress)

        def classify(image: Image.Image) -> tuple[tuple[str, float], ...]:
            confidences, classes = lite0.probabilities(network, image).topk(TOP)
            return tuple((names[c], round(p, 4)) for c, p in zip(classes.tolist(), confidences.tolist()))

        return classify

    def _load_reader(self) -> TextReader:
        return TextReader(self._threads)


class _Lazy:
    """A part that is made at its first call; calls take turns."""

    def __init__(self, make: Callable[[], Callable[[Image.Image], Any]]) -> None:
        self._make, self._part, self._lock = make, None, threading.Lock()

    def __call__(self, image: Image.Image) -> Any:
        with self._lock:
            if self._part is None:
                self._part = self._make()
            return self._part(image)


def class_names() -> list[str]:
    """The 1,000 ImageNet-1k classes in the order of the classifier's outputs."""
    text = Path(__file__).with_name("imagenet_classes.txt").read_text("utf-8")
    names = [line for line in text.splitlines() if line and not line.startswith("#")]
    if len(names) != CLASSES:
        raise ValueError(f"imagenet_classes.txt must hold {CLASSES} names, found {len(names)}; reinstall RECAP Studio")
    return names


def _load_network(progress: Progress | None) -> lite0.Lite0:
    try:
        return lite0.load(ensure(progress).classifier)
    except Exception:  # a damaged file is fetched again; an intact one raises the same once more
        return lite0.load(ensure(progress, verify=True).classifier)


def _attempt(part: str, look: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return look()
    except Exception as error:  # three foreign libraries: none may cost the others' evidence
        problems.append(f"{part}: {type(error).__name__}: {str(error)[:300]}")
        return None
