"""The text in a picture, line by line, by RapidOCR with the models inside its wheel."""

from __future__ import annotations

import os
import unicodedata
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import yaml
from PIL import Image

from .evidence import TextLine

LONGEST = 1800
"""Pixels; what is read is cut from a copy of at most this length. No part of the eyes needs more."""
_DETECTED = 1200  # pixels; text is searched in a copy of at most this length: the detector's time grows with the area
_ENLARGED = 736  # pixels; a smaller picture is enlarged to this short side where that keeps it below _DETECTED: beside
# large shapes the detector misses short words of a few pixels
_SHORTEST = 8  # pixels; below this there is no letter to read
_PADDED = 128  # pixels; a piece of text, 48 high when it is recognised, is padded to this length at least. By itself RapidOCR
# takes 320, for which prices, dates and labels wait; of 114 pictures two read otherwise, and better
_ASPECT = 3  # longer pictures are padded: the detector was made for ordinary shapes
_CERTAIN, _CERTAIN_ALONE = 0.65, 0.95  # least confidence of a piece, and of one that repeats one character:
# round shapes in photos read as a "0" or "O" with up to 0.9
_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}


class TextReader:
    """Loads its three networks on first use. Not thread safe: RapidOCR keeps state between calls."""

    def __init__(self, threads: int = 2) -> None:
        spec = find_spec("rapidocr")
        if spec is None or not spec.submodule_search_locations:
            raise ImportError("the package rapidocr is missing; run `pip install -r requirements.txt`")
        import_parts()
        from omegaconf import flag_override
        from rapidocr import RapidOCR

        folder = Path(spec.submodule_search_locations[0]) / "models"
        # Named one by one, a missing model is an error; left to RapidOCR, it would be downloaded.
        paths = {f"{part}.model_path": str(folder / name) for part, name in _MODELS.items()}
        for path in paths.values():
            if not Path(path).is_file():
                raise FileNotFoundError(f"{path} is missing; reinstall rapidocr as requirements.txt names it")
        settings = {
            "Global.log_level": "critical",
            "Global.use_cls": False,  # it turned short words such as "Jul" upside down
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTED,
            "Rec.rec_img_shape": [3, 48, _PADDED],
        }
        self._ocr = RapidOCR(params={**settings, **paths})
        with flag_override(self._ocr.cfg, "allow_objects", True):
            for part in ("Det", "Rec"):
                self._ocr.cfg[part].session = _session(paths[f"{part}.model_path"], threads)

    def __call__(self, image: Image.Image) -> tuple[TextLine, ...]:
        """The lines of an RGB image in reading order."""
        if min(image.size) < _SHORTEST:
            return ()
        canvas = _canvas(image)
        result = self._ocr(np.ascontiguousarray(np.asarray(canvas)[:, :, ::-1]))
        if getattr(result, "txts", None) is None or result.boxes is None:
            return ()
        scale = _scale(image)
        width, height = image.width * scale, image.height * scale
        found = []
        for text, score, box in zip(result.txts, result.scores, result.boxes):
            text = clean(text)
            if text and score >= (_CERTAIN if len(set(text)) > 1 else _CERTAIN_ALONE):
                corners = np.asarray(box, np.float64) / (width, height)
                low, high = corners.min(0).clip(0, 1), corners.max(0).clip(0, 1)
                found.append((text, float(score), (*low.tolist(), *high.tolist())))
        return tuple(in_reading_order(found))


def import_parts() -> None:
    """Import RapidOCR and its engine."""
    # onnxruntime reports to its maker unless this is set before it is loaded
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    from omegaconf import OmegaConf

    # it reads one long list of models at its import, twice, and asks of it what a dict has: OmegaConf's takes ten times as long
    with patch.object(OmegaConf, "load", cache(_listed)):
        import rapidocr
        import rapidocr.ch_ppocr_det
        import rapidocr.inference_engine.onnxruntime  # noqa: F401


def _listed(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        return yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _session(model: str, threads: int) -> Any:
    """RapidOCR's own settings, but for one: threads that have nothing to do sleep. Awake they doubled the processor time of
    a picture where other programs ran, and took it from the answers."""
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return InferenceSession(model, options, providers=["CPUExecutionProvider"])


def clean(text: Any) -> str:
    """One line of visible characters: control, format (right-to-left overrides) and private ones are dropped."""
    spaced = (" " if character.isspace() else character for character in str(text))
    return " ".join("".join(c for c in spaced if c == " " or unicodedata.category(c)[0] != "C").split())


def in_reading_order(found: list[tuple[str, float, tuple[float, float, float, float]]]) -> list[TextLine]:
    """Pieces of text that overlap vertically by half of the lower one form a row; rows go down, pieces go right.

    `found`: text, confidence, (left, top, right, bottom) as fractions of the picture.
    """
    rows: list[list] = []
    for piece in sorted(found, key=lambda piece: piece[2][1] + piece[2][3]):
        _, _, (_, top, _, bottom) = piece
        for row in rows[-1:]:
            _, _, (_, other_top, _, other_bottom) = row[-1]
            overlap = min(bottom, other_bottom) - max(top, other_top)
            if overlap > 0.5 * min(bottom - top, other_bottom - other_top):
                row.append(piece)
                break
        else:
            rows.append([piece])
    return [
        TextLine(text, round(score, 3), tuple(round(edge, 4) for edge in box), number)
        for number, row in enumerate(rows)
        for text, score, box in sorted(row, key=lambda piece: piece[2][0])
    ]


def _scale(image: Image.Image) -> float:
    """Of the copy that is read."""
    longest, shortest = max(image.size), min(image.size)
    if longest >= _DETECTED:
        return min(1.0, LONGEST / longest)
    return max(1.0, min(2.0, _ENLARGED / shortest, _DETECTED / longest))


def _canvas(image: Image.Image) -> Image.Image:
    """At most 1,800 pixels long and at most three times as long as wide; padding lies to the right or below."""
    scale = _scale(image)
    if scale != 1.0:
        size = tuple(max(1, round(side * scale)) for side in image.size)
        image = image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)
    size = tuple(max(side, -(-max(image.size) // _ASPECT)) for side in image.size)
    if size == image.size:
        return image
    canvas = Image.new("RGB", size, "white")
    canvas.paste(image)
    return canvas
