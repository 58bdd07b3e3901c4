"""Arguments as numpy arrays of the right kind and shape, or an exception that names the argument."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

_INT64, _INT32, _FLOAT32 = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float32)
LARGEST_ID = 2**31 - 1


def _array(name: str, values: Any, shape: str) -> np.ndarray:
    if not hasattr(values, "__array__"):
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise TypeError(f"{name} must be an array of shape {shape}, not {type(values).__name__}")
        values = list(values)
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of shape {shape}: {error}") from None


def integers(name: str, values: Any, shape: str, ndim: int) -> np.ndarray:
    """A contiguous int32 or int64 array of token ids. The range is left to the core."""
    array = values if type(values) is np.ndarray else _array(name, values, shape)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if array.dtype is not _INT64 and array.dtype is not _INT32:
        if array.size and array.dtype.kind not in "iu":
            if array.dtype.kind == "O" and all(type(value) is int for value in array.flat):
                raise ValueError(f"{name} must lie between 0 and {LARGEST_ID}")
            raise TypeError(f"{name} must hold whole numbers, not {array.dtype}")
        if array.size and array.dtype.kind == "u" and array.max() > LARGEST_ID:
            raise ValueError(f"{name} must lie between 0 and {LARGEST_ID}, got {array.max()}")
        array = array.astype(np.int64)
    return np.ascontiguousarray(array)


def rows(ids: Any, logits: Any, count: int, top_k: int, letter: str) -> tuple[np.ndarray, np.ndarray]:
    """Contiguous (count, K) ids and float32 logits. `letter` names the first dimension in messages."""
    shape = f"({letter}, K) = ({count}, {top_k})"
    ids = integers("ids", ids, shape, 2)
    if ids.shape != (count, top_k):
        raise ValueError(f"ids must have shape {shape}, got {ids.shape}")
    return ids, numbers("logits", logits, shape, (count, top_k))


def numbers(name: str, values: Any, shape: str, wanted: tuple[int, ...]) -> np.ndarray:
    """A contiguous float32 array. `shape` says what is `wanted` in messages; what the numbers are is left to the core."""
    array = values if type(values) is np.ndarray else _array(name, values, shape)
    if array.shape != wanted:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if array.dtype is not _FLOAT32:
        if array.size and array.dtype.kind != "f":
            raise TypeError(f"{name} must hold floating-point numbers, not {array.dtype}")
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which the core refuses
            array = array.astype(np.float32)
    return np.ascontiguousarray(array)


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number from {low} to {high}, not {value!r}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be from {low} to {high}, got {number}")
    return number


def token_list(name: str, ids: np.ndarray) -> list[int]:
    """Token ids of an integer array as a list. Raises ValueError naming the first position that is out of range."""
    tokens = ids.tolist()
    for position, token in enumerate(tokens):
        if not 0 <= token <= LARGEST_ID:
            raise ValueError(f"{name} must lie between 0 and {LARGEST_ID}; position {position} does not")
    return tokens
