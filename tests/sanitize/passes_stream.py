"""Random, hostile and starved calls at the C types of the passes: what Python can do to them.

`python -m tests.sanitize.passes_stream EXTENSION.so COUNT` drives a build made elsewhere, for the sanitizers.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Any

import numpy as np

LAYERS, HIDDEN, HEADS, KV_HEADS, SIZE, MLP, VOCABULARY, POSITIONS = SHAPE = (2, 64, 4, 2, 32, 96, 301, 700)
REFUSALS = (ValueError, TypeError, RuntimeError, OverflowError, IndexError, BufferError)


def layer(random: np.random.Generator, wide: bool) -> list[np.ndarray]:
    """Weights of one layer in the order that `set_layer` takes them."""
    queries, keys = HEADS * SIZE, KV_HEADS * SIZE
    shapes = [(HIDDEN,), (queries, HIDDEN), (keys, HIDDEN), (keys, HIDDEN), (HIDDEN, queries), (HIDDEN,), (MLP, HIDDEN),
              (MLP, HIDDEN), (HIDDEN, MLP)]  # fmt: skip
    return [weights(random, shape, wide or len(shape) == 1) for shape in shapes]


def weights(random: np.random.Generator, shape: tuple[int, ...], wide: bool) -> np.ndarray:
    """float32, or the upper halves of float32: bfloat16."""
    numbers = random.normal(0.0, 0.1, shape).astype(np.float32)
    return numbers if wide else (numbers.view(np.uint32) >> 16).astype(np.int16)


def model(module: ModuleType, random: np.random.Generator, wide: bool, threads: int, instructions: str) -> Any:
    made = module.Model(*SHAPE, 1e-5, wide, threads, instructions)
    turns = random.normal(0.0, 0.7, (2, POSITIONS, SIZE // 2)).astype(np.float32)
    made.set_ends(weights(random, (VOCABULARY, HIDDEN), wide), weights(random, (HIDDEN,), True), *turns)
    for index in range(LAYERS):
        made.set_layer(index, *layer(random, wide))
    return made


def use(module: ModuleType, made: Any, random: np.random.Generator, passes: int) -> int:
    """Random trees, kept paths and truncations; how many nodes there were."""
    cache, nodes = module.Cache(made), 0
    for _ in range(passes):
        n = int(random.choice([1, 2, 5, 13, 64, 97]))
        if cache.length + n > POSITIONS:
            cache.truncate(int(random.integers(0, cache.length)))
            continue
        depths, mask = np.zeros(n, np.int64), np.eye(n, dtype=bool)
        for i in range(1, n):
            parent = random.integers(0, i)
            depths[i] = depths[parent] + 1
            mask[i] |= mask[parent]
        hidden, ids, values = (
            np.empty((n, HIDDEN), np.float32),
            np.empty((n, 8), np.int64),
            np.empty((n, 8), np.float32),
        )
        own, seen = module.Cache(made), np.ones((1, 1), bool)  # another's tree in the same pass
        beside = [(own, random.integers(0, VOCABULARY, 1), np.zeros(1, np.int64), seen, 0)] * int(random.integers(0, 2))
        both = np.empty((n + len(beside), HIDDEN), np.float32)
        made.run([(cache, random.integers(0, VOCABULARY, n), depths, mask, 0), *beside], both)
        hidden[:] = both[:n]
        made.top(hidden, 8, ids, values)
        made.logits(hidden[:1], np.empty((1, VOCABULARY), np.float32))
        if not ((0 <= ids) & (ids < VOCABULARY)).all() or not np.isfinite(values).all():
            raise AssertionError("no ids of the vocabulary")
        cache.keep(np.flatnonzero(mask[random.integers(0, n)]))
        nodes += n
    return nodes


def hostile(module: ModuleType, made: Any, random: np.random.Generator) -> None:
    """Calls that must raise."""
    for place, wrong in enumerate((0, 65, 3, 3, 31, 95, 0, 0)):
        refused(module.Model, *SHAPE[:place], wrong, *SHAPE[place + 1 :], 1e-5, False, 1, "")
        refused(module.Model, *SHAPE[:place], -(2**31), *SHAPE[place + 1 :], 1e-5, False, 1, "")
    for threads, name in ((0, ""), (65, ""), (1, "mmx"), (1, None)):
        refused(module.Model, *SHAPE, 1e-5, False, threads, name)
    refused(module.Model)
    for wrong in (None, 5, module.Model):
        refused(module.Cache, wrong)
    good = layer(random, False)
    for index in (-1, LAYERS, 2**40):
        refused(made.set_layer, index, *good)
    for place in range(len(good)):
        for wrong in (None, good[place][:-1], good[place].astype(np.float64), "text"):
            refused(made.set_layer, 0, *good[:place], wrong, *good[place + 1 :])
    cache, one, at, seen = module.Cache(made), np.array([1]), np.array([0]), np.ones((1, 1), bool)
    hidden = np.empty((1, HIDDEN), np.float32)
    frozen = hidden.copy()
    frozen.flags.writeable = False
    for arguments in (
        (None, one, at, seen, 0, hidden), (cache, None, at, seen, 0, hidden), (cache, one, at, seen, 0, frozen),
        (cache, one - 2, at, seen, 0, hidden), (cache, one + 2**62, at, seen, 0, hidden),
        (cache, one[:0], at, seen, 0, hidden), (cache, one, at - 1, seen, 0, hidden),
        (cache, one, at + 2**62, seen, 0, hidden), (cache, one, at, seen, 700, hidden),
        (cache, one, at, seen, -1, hidden), (cache, one, at, ~seen, 0, hidden),
        (cache, one, at, seen, 0, hidden[:, :-1]), (cache, one.repeat(5000), at, seen, 0, hidden), (cache, one, at, np.ones((2, 2), bool), 0, hidden),
        (cache, one.repeat(2), at.repeat(2), np.ones((2, 2), bool), 0, hidden.repeat(2, 0)),
        (cache, one.astype(np.int32), at, seen, 0, hidden), (cache, one, at, seen.astype(np.int64), 0, hidden),
    ):  # fmt: skip
        refused(made.run, [arguments[:-1]], arguments[-1])
        if arguments[-1] is hidden:  # else it was the place for the result that was wrong
            beside = (module.Cache(made), one, at, seen, 0)
            refused(made.run, [beside, arguments[:-1]], np.empty((2, HIDDEN), np.float32))
    tree = (cache, one, at, seen, 0)
    for trees in ([], None, 5, [5], [None], [tree, tree], [tree[:-1]], [(*tree, 0)], [list(tree)], [tree] * 65):
        refused(made.run, trees, np.empty((len(trees) if isinstance(trees, list) else 1, HIDDEN), np.float32))
    refused(cache.keep, one)
    made.run((tree,), hidden)
    for entries in (one, -one, np.array([0, 0]), None, np.array([0.0]), one + 2**62):
        refused(cache.keep, entries)
    for length in (1, -1, 2**70, "a", None):
        refused(cache.truncate, length)
    ids, values, logits = (
        np.empty((1, 8), np.int64),
        np.empty((1, 8), np.float32),
        np.empty((1, VOCABULARY), np.float32),
    )
    for arguments in (
        (hidden, 0, ids, values), (hidden, 65, ids, values), (hidden, 7, ids, values), (None, 8, ids, values),
        (hidden[:, 1:], 8, ids, values), (hidden, 8, values, ids), (hidden[:0], 8, ids, values),
    ):  # fmt: skip
        refused(made.top, *arguments)
    for arguments in ((hidden, logits[:, 1:]), (hidden[:, 1:], logits), (None, logits), (hidden, None)):
        refused(made.logits, *arguments)


def starve(module: ModuleType, left: ctypes.c_long) -> int:
    """Let the first, the second, ... allocation fail until none is left to fail. Returns how many there were."""
    for allowed in range(10_000):
        random = np.random.default_rng(0)
        left.value = allowed
        try:
            use(module, model(module, random, False, 2, ""), random, 25)
        except MemoryError:
            left.value = -1
        else:
            left.value = -1
            return allowed
    raise AssertionError("allocations never stopped failing")


def refused(method: Any, *arguments: object) -> None:
    try:
        method(*arguments)
    except REFUSALS:
        return
    raise AssertionError(f"{method} took {arguments}")


def main(path: str, count: int) -> None:
    spec = spec_from_file_location("_passes", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    nodes = 0
    for number in range(count):
        random = np.random.default_rng(number)
        made = model(module, random, number % 2 == 1, 1 + number % 3, ("", "portable")[number // 2 % 2])
        nodes += use(module, made, random, 30)
        hostile(module, made, random)
    allocations = starve(module, ctypes.c_long.in_dll(ctypes.PyDLL(path), "recap_allocations_left"))
    print(f"{count} models, {nodes} nodes, {allocations} allocations")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
