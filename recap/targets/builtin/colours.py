"""Which colours a picture has, by plain name."""

from __future__ import annotations

import numpy as np
from PIL import Image

_GRID = 160  # the picture is sampled on a grid of at most this side: mixing neighbours would invent colours
_LEAST = 0.04  # share below which a colour is not worth naming
_MOST = 5

# The hue circle in degrees: each name reaches up to its number; above the last one it is red again.
_HUES = ((15, "red"), (42, "orange"), (68, "yellow"), (160, "green"), (190, "teal"), (252, "blue"), (292, "purple"),
         (342, "pink"), (360, "red"))  # fmt: skip
NAMES = ("black", "white", "grey", "dark grey", "light grey", "brown", "beige", "olive", "dark blue", "light blue",
         "dark green", "light green", "dark red",
         *dict.fromkeys(name for _, name in _HUES))  # fmt: skip


def name_pixels(pixels: np.ndarray) -> np.ndarray:
    """(n, 3) uint8 RGB to (n,) indices into `NAMES`, by lightness, then saturation, then hue."""
    red, green, blue = (pixels[:, channel].astype(np.float32) / 255 for channel in range(3))
    high, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    chroma = high - low
    saturation = np.divide(chroma, high, out=np.zeros_like(chroma), where=high > 0)
    safe = np.where(chroma > 0, chroma, 1)
    hue = np.where(
        high == red,
        ((green - blue) / safe) % 6,
        np.where(high == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    hue *= 60
    basic = [name for _, name in _HUES]
    index = np.array([NAMES.index(name) for name in basic])
    names = index[np.searchsorted([limit for limit, _ in _HUES], hue, side="right").clip(0, len(basic) - 1)]

    def put(name: str, where: np.ndarray) -> None:
        names[where] = NAMES.index(name)

    hued = {name: names == NAMES.index(name) for name in basic}
    warm = hued["red"] | hued["orange"]
    pale, dark = (saturation < 0.45) & (high > 0.75), high < 0.45
    put("dark red", hued["red"] & dark)
    put("pink", hued["red"] & pale)
    put("brown", warm & (high < 0.65) & (hue > 8) & (hue < 60))
    put("brown", hued["orange"] & (high < 0.8) & (saturation < 0.7))
    put("beige", (hued["orange"] | hued["yellow"]) & pale)
    put("olive", hued["yellow"] & (high < 0.6))
    put("dark green", hued["green"] & dark)
    put("light green", hued["green"] & pale)
    put("dark blue", hued["blue"] & dark)
    put("light blue", (hued["blue"] | hued["teal"]) & pale)
    dull = (saturation < 0.12) | (chroma < 0.06)
    put("grey", dull)
    put("dark grey", dull & (high < 0.38))
    put("light grey", dull & (high > 0.72))
    put("white", dull & (high > 0.9))
    put("black", (high < 0.16) | (dull & (high < 0.2)))
    return names


_PLACES = {"top": (0, 1), "left": (1, 0), "middle": (1, 1), "right": (1, 2), "bottom": (2, 1)}


def colours(image: Image.Image) -> tuple[tuple[str, float], ...]:
    """(name, share of the picture) by falling share, at most five, each at least 4 %; at least one."""
    names = _named(image)
    shares = np.bincount(names.ravel(), minlength=len(NAMES)) / names.size
    order = np.argsort(-shares, kind="stable")[:_MOST]
    return tuple((NAMES[i], round(float(shares[i]), 3)) for n, i in enumerate(order) if n == 0 or shares[i] >= _LEAST)


def colours_by_place(image: Image.Image) -> tuple[tuple[str, str], ...]:
    """(place, its commonest colour): top and bottom third, and left, middle and right of the third between them."""
    names = _named(image)
    found = []
    for place, (down, across) in _PLACES.items():
        rows, columns = (range(side * n // 3, max(side * n // 3 + 1, side * (n + 1) // 3))
                         for side, n in zip(names.shape, (down, across)))  # fmt: skip
        whole = down != 1  # the top and the bottom are taken from edge to edge
        area = names[rows.start : rows.stop, slice(None) if whole else slice(columns.start, columns.stop)]
        found.append((place, NAMES[int(np.bincount(area.ravel(), minlength=len(NAMES)).argmax())]))
    return tuple(found)


def _named(image: Image.Image) -> np.ndarray:
    """(height, width) indices into `NAMES` on the sampling grid."""
    size = tuple(min(side, _GRID) for side in image.size)
    pixels = np.asarray(image.resize(size, Image.Resampling.NEAREST))
    return name_pixels(pixels.reshape(-1, 3)).reshape(pixels.shape[:2])
