"""The file of a warm U: three arrays and a page of JSON in safetensors. Reading one runs nothing that is in it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..config import MAX_TOP_K
from ..files import write as write_whole

FORMAT = 1
_KEY = "recap.warm"
_ARRAYS = {"token_ids": ("I32", 1), "ids": ("I32", 2), "probs": ("F32", 2)}
MOST_ROWS = 1 << 22
"""More than any vocabulary has."""
BUILD = "build one with `python -m recap memory build -o FILE`"


@dataclass(frozen=True)
class Origin:
    """What a warm U was built for, and from what."""

    model: str
    """Name of the model whose predictions it holds, for people; of a folder its last part."""
    weights: str
    """Fingerprint of its weights (`recap.targets.fingerprint`): what decides whether another model may use it."""
    vocabulary: int
    """Tokens that the model knows; every id is below."""
    top_k: int
    """K: ids in a row."""
    inputs: int = 0
    """How many inputs it was built from."""
    tokens: int = 0
    """Tokens of their answers."""
    sources: tuple[str, ...] = ()
    """Marks of those inputs (`recap.bench.manifest.marks`), by which a measurement keeps them apart."""
    config: dict[str, Any] = field(default_factory=dict)
    """The settings that it was built with; top_k alone has to be the same where it is used."""
    created: str = ""
    versions: dict[str, str] = field(default_factory=dict)


def write(path: str | Path, token_ids: np.ndarray, ids: np.ndarray, probs: np.ndarray, origin: Origin) -> None:
    """Rows as `Drafter.export` gives them, sorted by token. Raises OSError."""
    order = np.argsort(token_ids, kind="stable")
    arrays = {
        "token_ids": token_ids[order].astype(np.int32), "ids": ids[order].astype(np.int32),
        "probs": probs[order].astype(np.float32),
    }  # fmt: skip
    header = json.dumps({"format": FORMAT, **asdict(origin)}, ensure_ascii=True)
    write_whole(path, save(arrays, {_KEY: header}))


def read(path: str | Path) -> tuple[dict[str, np.ndarray], Origin]:
    """Arrays "token_ids" (n,), "ids" (n, K) and "probs" (n, K), and what they were built for.

    Raises ValueError with a sentence for a file that is none, is damaged or does not fit together. Whether the rows are
    rows is left to `recap.drafter.Base`.
    """
    path = Path(path)
    try:
        if not path.is_file():
            raise ValueError(f"there is no warm memory {_shown(path)}; {BUILD}")
        with safe_open(path, framework="np") as file:
            origin = _origin(file.metadata() or {})
            _check_shapes(file, origin)
            arrays = {name: file.get_tensor(name) for name in _ARRAYS}
    except SafetensorError as error:
        raise ValueError(f"{path.name!r} is no warm memory: it is not a whole safetensors file ({error}); {BUILD}") from None
    except _Wrong as error:
        raise ValueError(f"{path.name!r} is no warm memory that can be used: {error}; {BUILD}") from None
    except OSError as error:
        raise ValueError(f"the warm memory {_shown(path)} cannot be read ({error.strerror or error})") from None
    return arrays, origin


class _Wrong(ValueError):
    pass


def _origin(metadata: dict[str, str]) -> Origin:
    try:
        values = json.loads(metadata[_KEY])
        if values.pop("format") != FORMAT:
            raise _Wrong(f"it has another format than {FORMAT}, the one that this version reads")
        known = {one.name for one in fields(Origin)}
        origin = Origin(**{name: value for name, value in values.items() if name in known})
    except _Wrong:
        raise
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
        raise _Wrong(f"its header lacks {_KEY!r}, or that is not what RECAP writes") from None
    texts = (origin.model, origin.weights, origin.created)
    if not all(isinstance(text, str) and len(text) <= 1000 for text in texts):
        raise _Wrong('"model", "weights" and "created" must be short texts')
    for name, most in (("top_k", MAX_TOP_K), ("vocabulary", 2**31), ("inputs", 2**53), ("tokens", 2**53)):
        value = getattr(origin, name)
        if type(value) is not int or not 0 <= value <= most or (name in ("top_k", "vocabulary") and not value):
            raise _Wrong(f'"{name}" must be a whole number of at most {most}')
    if not isinstance(origin.sources, list) or not all(isinstance(one, str) for one in origin.sources):
        raise _Wrong('"sources" must be a list of texts')
    if not isinstance(origin.config, dict) or not isinstance(origin.versions, dict):
        raise _Wrong('"config" and "versions" must be objects')
    object.__setattr__(origin, "sources", tuple(origin.sources))
    return origin


def _check_shapes(file: Any, origin: Origin) -> None:
    """Before anything is read."""
    if set(file.keys()) != set(_ARRAYS):
        raise _Wrong(f"it must hold {', '.join(_ARRAYS)} and nothing else")
    found = {name: file.get_slice(name) for name in _ARRAYS}
    shapes = {name: tuple(one.get_shape()) for name, one in found.items()}
    for name, (dtype, order) in _ARRAYS.items():
        if found[name].get_dtype() != dtype or len(shapes[name]) != order:
            raise _Wrong(f'"{name}" must have {order} dimension{"s" * (order > 1)} of {dtype}')
    rows = shapes["token_ids"][0]
    if rows > min(MOST_ROWS, origin.vocabulary):
        raise _Wrong(f"it has {rows:,} rows, more than one for each of {origin.vocabulary:,} tokens")
    if {shapes["ids"], shapes["probs"]} != {(rows, origin.top_k)}:
        raise _Wrong(f'"ids" and "probs" must have shape ({rows}, {origin.top_k}), one line for each token')


def _shown(path: Path) -> str:
    text = str(path)
    return repr(text if len(text) <= 200 else text[:199] + "…")
