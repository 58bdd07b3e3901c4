"""Evenly coloured areas of a drawing: what bars, slices, lines and legend keys are made of."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image

from .colours import NAMES, name_pixels

SIDE = 800
"""Longest side of the copy that is searched, pixels."""
_VIVID = 36  # least spread between channels: below it a colour is a grey, which is ink, paper or a grid
_ALIKE = 40  # greatest distance per channel within one colour
_MOST_COLOURS = 14
_LEAST_SHARE = 0.0003  # of the sheet, in one shade: a thin line that is drawn with soft edges has little more


@dataclass(frozen=True)
class Patch:
    """A connected area of one colour. Coordinates are pixels of the sheet."""

    colour: int
    """Index into the sheet's colours."""
    left: int
    top: int
    right: int
    bottom: int
    """One past the last row, as `right` is one past the last column."""
    area: int

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def fill(self) -> float:
        """Share of its box that it covers."""
        return self.area / (self.width * self.height)


class Sheet:
    """A small copy of a picture, its vivid colours and where each one lies."""

    def __init__(self, image: Image.Image) -> None:
        scale = min(1.0, SIDE / max(image.size))
        size = tuple(max(1, round(side * scale)) for side in image.size)
        small = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0) if scale < 1 else image
        self.pixels = np.asarray(small.convert("RGB"))
        """(height, width, 3) uint8."""
        self.height, self.width = self.pixels.shape[:2]
        self.background = _commonest(self.pixels)
        """(3,) int: the paper's colour."""
        self.colours, self.labels = self._label()
        """Centres (n, 3) int, and (height, width) int: index of each pixel's colour, -1 for none."""
        self.patches = self._connect()

    def name(self, colour: int) -> str:
        """Plain name of a colour of the sheet."""
        return NAMES[int(name_pixels(self.colours[colour : colour + 1].astype(np.uint8))[0])]

    def _label(self) -> tuple[np.ndarray, np.ndarray]:
        pixels = self.pixels.astype(np.int16)
        vivid = (pixels.max(-1) - pixels.min(-1)) >= _VIVID
        vivid &= np.abs(pixels - self.background).max(-1) > _ALIKE
        found, labels = [], np.full(vivid.shape, -1, np.int16)
        values = self.pixels[vivid]
        if len(values):
            codes = _codes(values)
            counts = np.bincount(codes, minlength=4096)
            for code in np.argsort(-counts, kind="stable")[: 4 * _MOST_COLOURS]:
                if counts[code] < _LEAST_SHARE * vivid.size or len(found) == _MOST_COLOURS:
                    break
                centre = np.median(values[codes == code], 0).astype(np.int16)
                if all(np.abs(centre - other).max() > _ALIKE for other in found):
                    found.append(centre)
        distance = np.full(vivid.shape, _ALIKE + 1, np.int16)
        for index, centre in enumerate(found):
            away = np.abs(pixels - centre).max(-1)
            nearer = vivid & (away < distance)
            labels[nearer], distance[nearer] = index, away[nearer]
        return np.array(found, np.int16).reshape(-1, 3), labels

    def _connect(self) -> list[Patch]:
        patches = []
        for index in range(len(self.colours)):
            mask = (self.labels == index).astype(np.uint8)
            _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
            for left, top, width, height, area in stats[1:].tolist():
                if area >= 12:
                    patches.append(Patch(index, left, top, left + width, top + height, area))
        return patches


def _codes(values: np.ndarray) -> np.ndarray:
    """(n, 3) uint8 to (n,) int: four bits a channel."""
    high = (values >> 4).astype(np.int32)
    return high[:, 0] * 256 + high[:, 1] * 16 + high[:, 2]


def _commonest(pixels: np.ndarray) -> np.ndarray:
    values = pixels[::3, ::3].reshape(-1, 3)
    codes = _codes(values)
    return np.median(values[codes == np.bincount(codes).argmax()], 0).astype(np.int16)
