"""Random request streams for the drafting core: every call it has, small vocabularies so that G and C match often.

`python -m tests.sanitize.stream CORE.so SEED COUNT` drives a C core built elsewhere, for the sanitizers.
"""

import ctypes
import random
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import numpy as np

from recap.config import FALLBACKS, FUSIONS, MEMORIES, SEARCHES, RecapConfig


def random_config(draw: random.Random) -> RecapConfig:
    top_k = draw.choice([1, 2, 3, 8, 8, 64])
    return RecapConfig(
        top_k=top_k,
        width=draw.randint(1, top_k),
        max_depth=draw.choice([1, 2, 6, 10, 64]),
        max_nodes=draw.choice([0, 1, 7, 31, 63, 200]),
        suffix_tokens=draw.choice([0, 1, 4, 10]),
        priors=draw.choice([(0.7, 0.2, 0.1), (1, 1, 1), (1e90, 1e-90, 1e-95)]),
        depth_priors=draw.choice([(0.68, 0.63, 0.5, 0.43, 0.4, 0.38), (1.0,), (1e-200, 1.0)]),
        fusion=draw.choice(FUSIONS),
        memories=draw.choice(MEMORIES),
        persistent=draw.random() < 0.8,
        suffix=draw.random() < 0.9,
        search=draw.choice(SEARCHES),
        fallback=draw.choice(FALLBACKS),
    )


def calls(draw: random.Random, config: RecapConfig, requests: int, passes: int) -> Iterator[tuple]:
    """(method, arguments) in a legal order. A draft's number of nodes is sent back, as the generator's value."""
    numbers = np.random.default_rng(draw.getrandbits(32))
    vocabulary = config.top_k + draw.choice([0, 2, 40])
    sharpness = draw.choice([0, 1, 1, 3, 200])
    largest = 2**31 - vocabulary if draw.random() < 0.1 else 0  # ids at the far end of the range

    def tokens(count: int) -> np.ndarray:
        return largest + numbers.integers(0, vocabulary, count)

    def rows(count: int) -> tuple[np.ndarray, np.ndarray]:
        ids = numbers.random((count, vocabulary)).argsort(axis=1)[:, : config.top_k] + largest
        logits = numbers.normal(size=ids.shape) * sharpness
        if draw.random() < 0.3:
            logits = logits.round()  # ties
        return ids.astype(draw.choice([np.int32, np.int64])), logits.astype(np.float32)

    for _ in range(requests):
        yield "begin", tokens(draw.choice([0, 1, 2, 30, 200])), tokens(draw.choice([0, 0, 1, 3]))
        for _ in range(draw.choice([0, 1, 2])):
            seeds = tokens(draw.choice([0, 1, 20, 700]))
            yield "seed", seeds, *rows(len(seeds))
        yield "commit", tokens(1)
        for _ in range(draw.randint(0, passes)):
            if draw.random() < 0.1:
                yield "draft", config.max_nodes, config.suffix_tokens
            most = draw.choice([config.max_nodes, draw.randint(0, 70)])
            nodes = yield "draft", most, config.suffix_tokens, draw.random() < 0.6
            if draw.random() < 0.5:
                yield ("explain",)
            if draw.random() < 0.9:
                yield "observe", *rows(nodes)
            context = tokens(draw.randint(0, 5))
            yield "lookup", context
            yield "fuse", context
            yield ("stats",)
            yield "commit", tokens(draw.randint(1, 5))
        if draw.random() < 0.1:
            yield ("reset",)


def random_base(draw: random.Random, top_k: int, vocabulary: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows for a base, as `Drafter.export` gives them, of tokens that `calls` may use."""
    numbers = np.random.default_rng(draw.getrandbits(32))
    tokens = numbers.permutation(vocabulary)[: draw.choice([0, 1, 20, vocabulary])]
    ids = numbers.random((len(tokens), top_k + vocabulary)).argsort(axis=1)[:, :top_k]
    probs = np.sort(numbers.dirichlet(np.full(top_k, draw.choice([0.1, 5.0])), len(tokens)))[:, ::-1]
    return tokens, np.ascontiguousarray(ids), np.ascontiguousarray(probs, np.float32)


def follow(script: Iterator[tuple], call: Callable) -> None:
    """Run a script of calls; `call(method, arguments)` returns the number of nodes of a draft."""
    answer = None
    while True:
        try:
            method, *arguments = script.send(answer)
        except StopIteration:
            return
        answer = call(method, arguments)


def settings_of(config: RecapConfig) -> tuple:
    """What the cores take."""
    fusion, kept, fixed = FUSIONS.index(config.fusion), len(config.memories), config.search == "fixed"
    return (config.top_k, config.width, config.max_depth, fusion, kept, config.persistent, config.suffix, fixed,
            config.priors, config.depth_priors)


def hostile(core: Callable, count: int) -> None:
    """Calls that must raise, straight at the C type: past the door's checks."""
    good = settings_of(RecapConfig())
    for place, wrong in enumerate([65, 9, 65, 6, 4, None, None, None, (0.1,), ()]):
        if wrong is not None:
            _refused(core, *good[:place], wrong, *good[place + 1 :])
    _refused(core)
    tokens, ids, logits = np.arange(3), np.tile(np.arange(8), (3, 1)), np.zeros((3, 8), np.float32)
    for _ in range(count):
        it = core(*good)
        for method, *arguments in (("draft", 1, 1), ("offer", tokens, 1), ("observe", ids, logits), ("commit", tokens), ("explain",),
                                   ("seed", tokens, ids, logits), ("begin", None, tokens), ("begin", tokens, [1])):
            _refused(getattr(it, method), *arguments)
        it.begin(tokens[:0], tokens[:0])
        _refused(it.draft, 1, 1)
        it.commit(tokens)
        for bad in (tokens - 1, tokens + 2**31, tokens.astype(float), tokens.astype(np.int16), "abc", None):
            _refused(it.commit, bad)
            _refused(it.begin, bad, tokens)
            _refused(it.begin, tokens, bad)
            _refused(it.lookup, bad)
            _refused(it.fuse, bad)
            _refused(it.seed, bad, ids, logits)
        bad_logits = np.where(np.arange(8) == 3, np.nan, logits).astype(np.float32)
        for a, b in ((ids[:2], logits), (ids, logits[:2]), (ids * 0, logits), (ids - 1, logits), (ids, bad_logits),
                     (ids, logits.astype(float)), (ids[:, ::-1], logits), (None, logits), (ids, None)):
            _refused(it.seed, tokens, a, b)
        for budget in ((-1, 0), (1025, 0), (0, -1), (0, 11), (2**40, 0), ("a", 0)):
            _refused(it.draft, *budget)
        for spare in ((ids, logits), (ids, logits, 4), (ids, logits, -1), (ids, logits, 2), (ids * 0, logits, 3),
                      (None, None, 3), (ids, bad_logits, 3), (ids, logits, 2**40)):  # fmt: skip
            _refused(it.draft, 1, 1, *spare)
        for offered in ((tokens - 1, 1), (np.arange(11), 1), (tokens, -1), (None, 1), (tokens, 2**40), (tokens,)):
            _refused(it.offer, *offered)
        it.draft(1024, 10)
        _refused(it.observe, ids, logits)
        it.explain()


def hostile_base(module: ModuleType) -> None:
    """The same for rows that cores share."""
    good = settings_of(RecapConfig())
    tokens, ids, probs = np.arange(3), np.tile(np.arange(8), (3, 1)), np.full((3, 8), 0.125, np.float32)
    many = np.arange(9000), np.tile(np.arange(8), (9000, 1)), np.full((9000, 8), 0.125, np.float32)
    many[2][8999] = np.nan  # found after the GIL was handed over and pages were filled
    rising = np.tile(np.linspace(0.1, 0.15, 8), (3, 1)).astype(np.float32)
    for arguments in (
        (tokens - 1, ids, probs), (tokens + 2**31, ids, probs), (tokens * 0, ids, probs), (None, ids, probs), ("abc", ids, probs),
        (tokens, ids - 1, probs), (tokens, ids + 2**31, probs), (tokens, ids * 0, probs), (tokens, ids[:2], probs),
        (tokens, None, probs), (tokens, ids, probs[:2]), (tokens, ids, probs.astype(float)), (tokens, ids, probs * np.nan),
        (tokens, ids, probs * np.inf), (tokens, ids, -probs), (tokens, ids, probs * 2), (tokens, ids, rising), (tokens, ids, None),
        many,
    ):  # fmt: skip
        _refused(module.make_base, *arguments, 8)
    for top_k in (0, 65, -1, 7, 2**40, None):
        _refused(module.make_base, tokens, ids, probs, top_k)
    base, size = module.make_base(tokens, ids, probs, 8)
    if size < 3 * 17 * 4:
        raise AssertionError(f"{size} bytes for 3 rows")
    for wrong in (module, 5, "base", type("Base", (), {})()):
        _refused(module.Core, *good, wrong)
    _refused(module.Core, *settings_of(RecapConfig(top_k=4, width=4)), base)
    cores = [module.Core(*good, base) for _ in range(3)]
    del base
    cores.pop()
    if not all(core.from_base(tokens) and core.export()[1] == 0 for core in cores):
        raise AssertionError("the base is gone")
    for core in cores:
        _refused(core.from_base, tokens - 9)


def starve(module: ModuleType, left: ctypes.c_long) -> int:
    """Let the first, the second, ... allocation fail, until a whole request needs no more. Each time: MemoryError, and
    the same core then decodes the request as if nothing had happened. Returns how many allocations there were."""
    prompt, ids = np.tile(np.arange(40), 20), np.tile(np.arange(8), (1500, 1))
    logits = np.tile(-np.arange(8, dtype=np.float32), (1500, 1))

    rows = np.arange(3000), np.tile(np.arange(8), (3000, 1)), np.full((3000, 8), 0.125, np.float32)

    def make() -> object:
        return module.Core(*settings_of(RecapConfig()), module.make_base(*rows, 8)[0])

    def decode(it: object) -> list:
        drafts = []
        it.begin(prompt, np.array([3]))
        it.seed(np.arange(1500), ids, logits)
        it.commit(np.arange(5))
        for max_nodes in (63, 200):
            it.offer(np.arange(60, 70), 2**20)
            drafts.append(it.draft(max_nodes, 4))
            it.explain()
            it.observe(ids[: drafts[-1][1]], logits[: drafts[-1][1]])
            it.commit(np.arange(300))
        return drafts

    expected = decode(make())
    for allocations in range(10_000):
        it = make()
        left.value = allocations
        try:
            decode(make())
            decode(it)
        except MemoryError:
            left.value = -1
            it.stats()
            if decode(it) != expected:
                raise AssertionError(f"other drafts after allocation {allocations} failed") from None
        else:
            left.value = -1
            return allocations
    raise AssertionError("allocations never stopped failing")


def _refused(method: Callable, *arguments: object) -> None:
    try:
        method(*arguments)
    except (ValueError, TypeError, RuntimeError, OverflowError, BufferError):
        return
    raise AssertionError(f"{method} took {arguments}")


def main(path: str, seed: int, count: int) -> None:
    spec = spec_from_file_location("_core", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    nodes = 0
    for number in range(seed, seed + count):
        draw = random.Random(number)
        config = random_config(draw)
        base = module.make_base(*random_base(draw, config.top_k), config.top_k)[0] if draw.random() < 0.5 else None
        core = module.Core(*settings_of(config), base)

        def call(method: str, arguments: list) -> int | None:
            nonlocal nodes
            if method == "draft" and len(arguments) == 3 and arguments.pop():  # as the door does for earlier answers
                core.offer(np.array([draw.randint(0, 50) for _ in range(draw.randint(0, 10))], np.int64), draw.randint(0, 4))
            if method == "draft" and draw.random() < 0.5:  # rows for a root that no memory knows
                count, k = draw.randint(1, 3), config.top_k
                falling = -np.arange(count * k, dtype=np.float32).reshape(count, k)
                arguments += [np.tile(np.arange(k), (count, 1)), falling, count]
            result = getattr(core, method)(*arguments)
            if method == "draft":
                nodes += result[1]
                return result[1]
            return None

        core._timing(number % 2)
        follow(calls(draw, config, requests=3, passes=6), call)
        core._times()
        core._time_lookups(np.arange(50))
        core.from_base(np.arange(3))
        core.export()
    hostile(module.Core, 3)
    hostile_base(module)
    allocations = starve(module, ctypes.c_long.in_dll(ctypes.PyDLL(path), "recap_allocations_left"))
    print(f"{count} streams, {nodes} nodes, {allocations} allocations")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
