"""Pictures as people have them: any common file, bytes, array or PIL image becomes one upright RGB image."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageCms

MAX_SIDE = 4096
"""Longest side of an opened picture, pixels; larger ones are scaled down."""
MAX_PIXELS = 150_000_000
"""Pixels a file may decode to. More is refused as a decompression bomb (12,000 x 9,000 is 108 million)."""
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "ICO", "AVIF", "JPEG2000")
"""What Pillow may try. A closed list, because some of its decoders start other programs (EPS) or open other files."""

_WHOLE = ("recap", "whole size")  # in a picture's `info`; what files bring along has strings for keys
_BAND = 4_000_000  # pixels converted at a time: full-size copies of a huge picture never exist
_ALPHA = {"RGBA", "LA", "PA", "RGBa", "La"}
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: (Image.Transpose.FLIP_LEFT_RIGHT,),
    3: (Image.Transpose.ROTATE_180,),
    4: (Image.Transpose.FLIP_TOP_BOTTOM,),
    5: (Image.Transpose.TRANSPOSE,),
    6: (Image.Transpose.ROTATE_270,),
    7: (Image.Transpose.TRANSVERSE,),
    8: (Image.Transpose.ROTATE_90,),
}
_ON_ITS_SIDE = (5, 6, 7, 8)
_READABLE = "JPEG, PNG, WebP, GIF, BMP or TIFF"

# Pillow warns from 89 million pixels on; MAX_PIXELS decides here, and a person's big photo is nothing to warn about.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


class PictureError(ValueError):
    """The source is no picture we can read; the message says which one, why, and what to do."""


def open_picture(source: Any, longest: int | None = None) -> Image.Image:
    """The picture as an upright PIL image, mode RGB, longest side at most `longest` pixels, by default `MAX_SIDE`.

    `source`: a path, bytes, a binary file object, a PIL image (left as it is), or a uint8 numpy array (H, W),
    (H, W, 1), (H, W, 3) or (H, W, 4). The first frame of an animation or page of a document is taken, alpha is
    composited onto white, 16-bit and floating-point greys are scaled to 8 bits, EXIF rotation is applied. A smaller `longest`
    saves time, most of all in a JPEG, which is decoded no larger than need be; `whole_size` then tells how large it is.

    Raises PictureError (a ValueError) for a file that is missing, truncated, too large or no picture, and TypeError
    for a source of another kind.
    """
    if isinstance(source, Image.Image):
        return _finish(source, "The picture", source.size, longest)
    if isinstance(source, np.ndarray):
        image = _from_array(source)
        return _finish(image, "The array", image.size, longest)
    name, stream, ours = _stream(source)
    try:
        with _open(stream, name) as image:
            _refuse_bomb(image, name)
            size = image.size
            _draft(image, longest or MAX_SIDE)
            return _finish(image, name, size, longest)
    finally:
        if ours:
            stream.close()


def picture_size(source: Any) -> tuple[int, int]:
    """Width and height in pixels as the file's head says, with nothing decoded. Raises what `open_picture` raises for a
    file that is missing or no picture."""
    name, stream, ours = _stream(source)
    try:
        with _open(stream, name) as image:
            return image.size
    finally:
        if ours:
            stream.close()


def whole_size(image: Image.Image) -> tuple[int, int]:
    """Width and height that an opened picture would have without `longest`, pixels."""
    return image.info.get(_WHOLE, image.size)


def plain(image: Image.Image, colour: tuple[int, int, int]) -> Image.Image:
    """An opened picture's size and whole size in one colour."""
    made = Image.new("RGB", image.size, colour)
    made.info = {key: image.info[key] for key in image.info if key == _WHOLE}
    return made


def digest(image: Image.Image) -> str:
    """32 hex digits that depend on mode, size, whole size and pixels only: equal pictures share it on every machine and
    run."""
    whole = image.info.get(_WHOLE, ())
    state = hashlib.blake2b(" ".join(map(str, (image.mode, *image.size, *whole, ""))).encode(), digest_size=16)
    rows = max(1, _BAND // max(1, image.width))
    for top in range(0, image.height, rows):
        state.update(image.crop((0, top, image.width, min(top + rows, image.height))).tobytes())
    return state.hexdigest()


def _stream(source: Any) -> tuple[str, io.BufferedIOBase, bool]:
    """Name for messages, seekable stream, whether it is ours to close."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return "The picture", io.BytesIO(bytes(source)), True
    if isinstance(source, (str, os.PathLike)):
        return _file(source)
    if not hasattr(source, "read"):
        raise TypeError(
            "a picture must be a path, bytes, a binary file object, a PIL image or a numpy array, "
            f"not {type(source).__name__}"
        )
    name = repr(str(source.name)) if isinstance(getattr(source, "name", None), str) else "The picture"
    try:
        if isinstance(source, io.TextIOBase):
            raise PictureError(f"{name} was opened as text. Open it in binary mode ('rb').")
        if hasattr(source, "seekable") and source.seekable():
            return name, source, False
        return name, io.BytesIO(source.read()), True
    except (OSError, TypeError) as error:
        raise PictureError(f"{name} could not be read: {error}. Open it in binary mode ('rb').") from error


def _file(source: str | os.PathLike) -> tuple[str, io.BufferedIOBase, bool]:
    try:
        path = Path(source).expanduser()
        name = repr(path.name)  # people know their file by its name; an upload's folder means nothing to them
        if path.is_dir():
            raise PictureError(f"{name} is a folder. Name the picture file inside it.")
        return name, path.open("rb"), True
    except FileNotFoundError:
        hint = " Web addresses are not fetched: save the picture first." if "://" in str(source) else ""
        raise PictureError(f"There is no file {str(source)!r}. Check the path.{hint}") from None
    except PictureError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        name = repr(str(source)[:200])
        raise PictureError(f"{name} could not be opened: {reason}. Check the path and its permissions.") from error


def _open(stream: io.BufferedIOBase, name: str) -> Image.Image:
    start = stream.tell()
    head = stream.read(16)
    stream.seek(start)
    if not head:
        raise PictureError(f"{name} is empty. Save the picture again and retry.")
    try:
        Image.init()
        return Image.open(stream, formats=[known for known in FORMATS if known in Image.OPEN])
    except Image.DecompressionBombError:
        raise PictureError(_too_large(name, "far more")) from None
    except Exception as error:  # decoders raise anything from IndexError to struct.error on hostile bytes
        raise PictureError(f"{name} could not be read: {_kind(head)}. Save it as {_READABLE} and try again.") from error


def _kind(head: bytes) -> str:
    if head[4:8] == b"ftyp":
        return "it looks like HEIC, as phones write it, or a video"
    if head.startswith(b"%PDF"):
        return "it is a PDF document"
    if head.lstrip()[:1] == b"<":
        return "it looks like SVG or a web page"
    return "it is not a picture, or its beginning is damaged"


def _refuse_bomb(image: Image.Image, name: str) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise PictureError(_too_large(name, f"{image.width:,} x {image.height:,}"))


def _too_large(name: str, size: str) -> str:
    return f"{name} has {size} pixels, more than the {MAX_PIXELS:,} allowed. Scale it down and try again."


def _draft(image: Image.Image, longest: int) -> None:
    """Let the JPEG decoder itself scale down by 2, 4 or 8 where the result stays large enough."""
    scale = longest / max(image.size)
    if image.format in ("JPEG", "MPO") and scale < 1:
        image.draft(None, (max(1, round(image.width * scale)), max(1, round(image.height * scale))))


def _from_array(array: np.ndarray) -> Image.Image:
    shapes = "uint8 of shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4)"
    if array.dtype != np.uint8:
        raise PictureError(f"A picture array must be {shapes}, not {array.dtype}. Scale to 0..255, then astype('uint8').")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)) or 0 in array.shape:
        raise PictureError(f"A picture array must be {shapes} and not empty, got shape {array.shape}.")
    return Image.fromarray(np.ascontiguousarray(array))


def _finish(image: Image.Image, name: str, size: tuple[int, int], longest: int | None) -> Image.Image:
    """`size`: before anything was scaled."""
    if 0 in image.size:
        raise PictureError(f"{name} has no pixels ({image.width} x {image.height}). Choose another picture.")
    try:
        image.load()
        orientation = _orientation(image)
        opened = _turn(_shrink(image, min(longest or MAX_SIDE, MAX_SIDE)), orientation)
        if longest is not None:
            whole = _limited(image.info.get(_WHOLE, size), MAX_SIDE)
            whole = whole[::-1] if orientation in _ON_ITS_SIDE else whole
            opened.info |= {_WHOLE: whole} if whole != opened.size else {}
        return opened
    except Exception as error:  # as above: whatever the decoder says, the person gets a sentence
        raise PictureError(
            f"{name} is damaged or cut short and could not be decoded ({str(error)[:200] or type(error).__name__}). "
            f"Save or copy it again as {_READABLE} and try again."
        ) from error


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # broken metadata must not cost the picture
        return 1


def _turn(image: Image.Image, orientation: int) -> Image.Image:
    for method in _UPRIGHT.get(orientation, ()):
        image = image.transpose(method)
    return image


def _limited(size: tuple[int, int], longest: int) -> tuple[int, int]:
    """Width and height in the same proportion, at most `longest`."""
    scale = min(1.0, longest / max(size))
    width, height = (min(longest, max(1, round(side * scale))) for side in size)
    return width, height


def _shrink(image: Image.Image, longest: int) -> Image.Image:
    """RGB, longest side at most `longest`: bands are converted and averaged by a whole factor, then resized once."""
    factor = max(1, max(image.size) // longest)
    to_rgb = _converter(image)
    rows = max(factor, _BAND // image.width // factor * factor)
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    for top in range(0, image.height, rows):
        band = to_rgb(image.crop((0, top, image.width, min(top + rows, image.height))))
        small.paste(band.reduce(factor) if factor > 1 else band, (0, top // factor))
    if max(image.size) > longest:
        size = _limited(image.size, longest)
        small = small.resize(size, Image.Resampling.BOX if 1 in size else Image.Resampling.LANCZOS)
    return small


def _converter(image: Image.Image):
    """The function that turns a crop of this image into RGB."""
    if image.mode.startswith("I;16"):
        return lambda band: _grey(np.asarray(band).astype(np.float32) / 257.0)
    if image.mode in ("I", "F"):
        low, span = _range(image)
        return lambda band: _grey((np.nan_to_num(np.asarray(band), nan=low) - low) * (255.0 / span))
    if image.mode == "LAB":
        profiles = ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB")
        transform = ImageCms.buildTransform(*profiles, "LAB", "RGB")
        return lambda band: ImageCms.applyTransform(band, transform)
    if image.mode in _ALPHA or "transparency" in image.info:
        return _on_white
    return lambda band: band.convert("RGB")


def _range(image: Image.Image) -> tuple[float, float]:
    """Black point and span of a 32-bit grey: the usual scales where the values fit one, else what occurs."""
    values = np.asarray(image)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if low >= 0:
        for top in ((1.0,) if image.mode == "F" else ()) + (255.0, 65535.0):
            if high <= top:
                return 0.0, top
    return low, max(high - low, 1e-30)


def _grey(values: np.ndarray) -> Image.Image:
    return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8)).convert("RGB")


def _on_white(band: Image.Image) -> Image.Image:
    band = band.convert("LA" if band.mode == "La" else "RGBA").convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", band.size, "white"), band).convert("RGB")
