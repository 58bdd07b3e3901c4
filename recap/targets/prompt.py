"""A prompt ready to be evaluated, and the pictures it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from PIL import Image

from ..chat import Message


@dataclass
class Opened:
    """A decoded picture and the hash of its pixels, under which its encoding is remembered."""

    image: Image.Image
    digest: str


@dataclass
class Picture:
    """A picture as the target sees it; made once per picture and session."""

    digest: str
    width: int
    height: int
    block: list[int] = field(default_factory=list)
    """Token ids the picture's placeholder expands to."""
    pixels: dict[str, torch.Tensor] = field(default_factory=dict)
    """Inputs of the model's picture encoder, dropped once it has run."""
    features: Any = None
    """Output of the model's picture encoder; None when the picture enters the prompt as text."""
    layout: dict[str, torch.Tensor] = field(default_factory=dict)
    """Small processor outputs that positions depend on (such as image_grid_thw)."""
    evidence: dict[str, Any] | None = None
    """What the built-in front end saw, as JSON types."""
    evidence_text: str = ""
    """The same as the language model reads it."""
    index: Any = None
    """What the built-in target can look up when a question names it."""

    def to_dict(self) -> dict[str, Any]:
        """What a trace keeps of a picture."""
        kept: dict[str, Any] = {"width": self.width, "height": self.height}
        return kept | ({"evidence": self.evidence} if self.evidence is not None else {})


@dataclass(frozen=True)
class Span:
    """Where a picture's block lies in the ids: [start, end)."""

    start: int
    end: int
    picture: Picture
    placeholder: int
    """The id that stands for the picture's own positions; a block may hold other ids, such as row marks."""


@dataclass
class Prompt:
    """Token ids of a whole conversation up to the answer, placeholders expanded."""

    ids: np.ndarray
    """(n,) int64."""
    messages: list[Message]
    pictures: list[Picture] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    positions: torch.Tensor | None = None
    """(3, n) int64 for multimodal rotary positions, else None: counted from 0."""
    rope_delta: int = 0
    """Position of the next token minus n."""

    def pictured(self) -> np.ndarray:
        """(n,) bool: inside a picture's block and a placeholder there."""
        inside = np.zeros(len(self.ids), dtype=bool)
        for span in self.spans:
            inside[span.start : span.end] = self.ids[span.start : span.end] == span.placeholder
        return inside

    def keys(self) -> np.ndarray:
        """(n,) int64, equal only where a cached entry may be reused: ids, and the picture's hash in its block."""
        keys = self.ids.copy()
        for span in self.spans:
            keys[span.start : span.end] = -1 - (int(span.picture.digest[:15], 16))
        return keys


def expand(
    ids: Sequence[int], placeholder: int | None, pictures: Sequence[Picture], offset: int = 0
) -> tuple[list[int], list[Span]]:
    """Replace each placeholder by its picture's block; `offset` is added to the spans.

    Raises ValueError when there are not as many placeholders as pictures.
    """
    found = sum(token == placeholder for token in ids)
    if found != len(pictures):
        raise ValueError(
            f"the model's chat template made room for {found} pictures but {len(pictures)} were given; "
            "this model may not take pictures in this place"
        )
    expanded: list[int] = []
    spans: list[Span] = []
    remaining = iter(pictures)
    for token in ids:
        if token != placeholder:
            expanded.append(token)
            continue
        picture = next(remaining)
        start = offset + len(expanded)
        expanded += picture.block
        spans.append(Span(start, offset + len(expanded), picture, token))
    return expanded, spans
