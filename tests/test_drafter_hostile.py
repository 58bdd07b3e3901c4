"""Wrong input and wrong order: a sentence that names the argument, nothing changed, nothing leaked."""

import gc
import sys
import threading

import numpy as np
import pytest

import recap
from recap import Drafter, RecapConfig
from recap.drafter import Base

from .test_drafter_rules import _built

IDS = np.tile(np.arange(8), (3, 1))
LOGITS = np.zeros((3, 8), np.float32)


@pytest.fixture(params=[pytest.param("c", marks=pytest.mark.skipif(not _built(), reason="no C core built")), "python"])
def drafter(request):
    return Drafter(backend=request.param)


def changed(array, value, at=(1, 2)):
    array = array.copy()
    array[at] = value
    return array


def snapshot(drafter):
    stats = drafter.stats()
    return [stats[name] for name in "UCG"], [row and [part.tolist() for part in row]
                                             for row in drafter.lookup([1, 2, 3]).values()]


BAD_TOKENS = [
    ([-1], ValueError),
    ([2**31], ValueError),
    ([2**63], ValueError),
    ([2**70], ValueError),
    ([1.0], TypeError),
    ([True], TypeError),
    (["a"], TypeError),
    ("abc", TypeError),
    (5, TypeError),
    (None, TypeError),
    ([[1, 2]], ValueError),
    ([[1, 2], [3]], ValueError),
    ([None], TypeError),
    (np.array([np.nan]), TypeError),
    (np.array([1], ">i8") - 2, ValueError),
    (np.array([2**64 - 1], np.uint64), ValueError),
]


@pytest.mark.parametrize("bad, error", BAD_TOKENS, ids=[repr(bad)[:24] for bad, _ in BAD_TOKENS])
def test_token_ids(drafter, bad, error):
    with pytest.raises(error, match="prompt_ids"):
        drafter.begin(bad)
    with pytest.raises(error, match="banned"):
        drafter.begin([1], bad)
    with pytest.raises(error, match="context"):
        drafter.lookup(bad)
    with pytest.raises(error, match="context"):
        drafter.fuse(bad)
    drafter.begin([1])
    with pytest.raises(error, match="token_ids"):
        drafter.seed(bad, IDS[:1], LOGITS[:1])
    with pytest.raises(error, match="token_ids"):
        drafter.commit(bad)


BAD_ROWS = [
    (IDS[:2], LOGITS, "ids", ValueError),
    (IDS, LOGITS[:2], "logits", ValueError),
    (IDS[:, :7], LOGITS[:, :7], "ids", ValueError),
    (np.hstack([IDS, IDS + 8]), LOGITS, "ids", ValueError),
    (IDS, LOGITS[0], "logits", ValueError),
    (IDS[0], LOGITS, "ids", ValueError),
    (IDS[None], LOGITS, "ids", ValueError),
    (IDS.astype(float), LOGITS, "ids", TypeError),
    (IDS, IDS, "logits", TypeError),
    (IDS, LOGITS.astype(complex), "logits", TypeError),
    (changed(IDS, 5), LOGITS, "ids", ValueError),
    (changed(IDS, -1), LOGITS, "ids", ValueError),
    (changed(IDS, 2**31), LOGITS, "ids", ValueError),
    (IDS, changed(LOGITS, np.nan), "logits", ValueError),
    (IDS, changed(LOGITS, np.inf), "logits", ValueError),
    (IDS, changed(LOGITS, -np.inf), "logits", ValueError),
    (IDS, changed(LOGITS.astype(float), 1e300), "logits", ValueError),
    (None, LOGITS, "ids", TypeError),
    (IDS, "abc", "logits", TypeError),
    (IDS, [[0.0], [0.0, 1.0]], "logits", ValueError),
]


@pytest.mark.parametrize("ids, logits, name, error", BAD_ROWS, ids=range(len(BAD_ROWS)))
def test_rows(drafter, ids, logits, name, error):
    drafter.begin([1])
    with pytest.raises(error, match=f"^{name}"):
        drafter.seed([1, 2, 3], ids, logits)
    drafter.seed([1, 2], IDS[:2] + 1, LOGITS[:2])
    drafter.commit([1, 2])
    drafter.draft(2, 0)
    before = snapshot(drafter)
    with pytest.raises(error, match=f"^{name}"):
        drafter.observe(ids, logits)
    assert snapshot(drafter) == before  # nothing of the good rows was written
    drafter.observe(IDS, LOGITS)  # the draft still waits


def test_kinds_of_array_that_are_fine(drafter):
    torch = pytest.importorskip("torch")
    drafter.begin(torch.arange(5), banned={7, 8})
    drafter.seed((1, 2, 3), IDS.astype(np.uint8), LOGITS.astype(np.float16))
    drafter.seed([4, 5, 6], torch.tensor(IDS), torch.tensor(LOGITS, dtype=torch.float64))
    drafter.commit(np.array([3], ">i4"))
    drafter.draft(2, 0)
    drafter.observe(np.asfortranarray(IDS), LOGITS[:, ::-1])
    drafter.commit(iter([1, 2]))
    assert drafter.draft(max_nodes=np.int64(3), suffix_tokens=0).tokens[0] == 2
    read_only = IDS[:1].copy()
    read_only.setflags(write=False)
    drafter.draft(0, 0)
    drafter.observe(read_only, LOGITS[:1].tolist())


@pytest.mark.parametrize("name, most", [("max_nodes", 1024), ("suffix_tokens", 10)])
def test_budgets(drafter, name, most):
    drafter.begin([1])
    drafter.commit([1])
    for bad in (-1, most + 1, 2**80):
        with pytest.raises(ValueError, match=name):
            drafter.draft(**{name: bad})
    for bad in (1.5, "1"):
        with pytest.raises(TypeError, match=name):
            drafter.draft(**{name: bad})
    assert len(drafter.draft(**{name: most})) >= 1


def test_order_of_calls(drafter):
    for method, arguments in [("seed", ([1], IDS[:1], LOGITS[:1])), ("commit", ([1],)), ("draft", ()),
                              ("observe", (IDS, LOGITS)), ("explain", ())]:
        with pytest.raises(RuntimeError):
            getattr(drafter, method)(*arguments)
    drafter.begin([1])
    for method, arguments in [("draft", ()), ("observe", (IDS[:1], LOGITS[:1])), ("explain", ())]:
        with pytest.raises(RuntimeError):
            getattr(drafter, method)(*arguments)
    with pytest.raises(ValueError, match="token_ids"):
        drafter.commit([])
    drafter.commit([1])
    with pytest.raises(RuntimeError, match="seed"):
        drafter.seed([1], IDS[:1], LOGITS[:1])
    with pytest.raises(RuntimeError, match="draft"):
        drafter.observe(IDS[:1], LOGITS[:1])
    drafter.draft(0, 0)
    drafter.explain()
    drafter.observe(IDS[:1], LOGITS[:1])
    with pytest.raises(RuntimeError, match="draft"):
        drafter.observe(IDS[:1], LOGITS[:1])
    with pytest.raises(RuntimeError, match="draft"):
        drafter.explain()
    drafter.draft()
    drafter.reset()
    for method, arguments in [("observe", (IDS, LOGITS)), ("draft", ()), ("commit", ([1],))]:
        with pytest.raises(RuntimeError):
            getattr(drafter, method)(*arguments)
    drafter.begin([1])
    drafter.commit([1])
    assert len(drafter.draft()) == 2  # 1 follows 1


def test_a_refused_begin_leaves_the_request_as_it_was(drafter):
    drafter.begin([1, 2])
    drafter.commit([1])
    with pytest.raises(ValueError):
        drafter.begin([1, -2])
    assert drafter.draft().tokens.tolist() == [1, 2, 1]


def test_config_and_backend():
    with pytest.raises(TypeError, match="config"):
        Drafter({"top_k": 8})
    with pytest.raises(ValueError, match="backend"):
        Drafter(backend="rust")
    with pytest.raises(ValueError, match="priors"):
        Drafter(RecapConfig(priors=(1e308, 1e308, 1e308)))


def test_without_the_extension(monkeypatch):
    monkeypatch.setitem(sys.modules, "recap.drafter.compiled", None)
    assert Drafter().backend == "python"
    with pytest.raises(ImportError, match="not built"):
        Drafter(backend="c")


def test_the_package_is_callable():
    with pytest.raises(ValueError):
        recap.drafter("no such method")
    assert recap.drafter.Drafter is Drafter


@pytest.mark.skipif(not _built(), reason="no C core built")
def test_results_outlive_their_drafter():
    drafter = Drafter(backend="c")
    drafter.begin(range(20))
    drafter.commit([3])
    tree, row = drafter.draft(), drafter.fuse([3])
    drafter.reset()
    del drafter
    gc.collect()
    assert tree.tokens.tolist() == [3, 4, 5, 6, 7] and len(row[0]) == 0
    tree.tokens[0] = 9  # the caller's own


def test_a_second_thread_is_refused(drafter):
    inside, done = threading.Event(), threading.Event()

    class Slow:
        """An argument whose conversion waits, so that the first thread is inside for as long as we like."""

        def __array__(self, *args, **kwargs):
            inside.set()
            done.wait(10)
            return np.array([1, 2])

    thread = threading.Thread(target=drafter.begin, args=(Slow(),))
    thread.start()
    inside.wait(10)
    try:
        for call in (drafter.stats, lambda: drafter.begin([1]), lambda: drafter.lookup([1]), drafter.reset):
            with pytest.raises(RuntimeError, match="another thread"):
                call()
    finally:
        done.set()
        thread.join()
    drafter.commit([1])
    assert len(drafter.draft()) == 3


@pytest.mark.skipif(not _built(), reason="no C core built")
def test_long_work_lets_other_threads_run_and_refuses_them():
    """At the C type itself, past the door's lock: while one thread seeds without the GIL, another is refused."""
    core = Drafter(backend="c")._core
    core.begin(np.arange(3), np.arange(0))
    count = 400_000
    tokens, ids = np.arange(count), np.tile(np.arange(8), (count, 1))
    logits = np.zeros((count, 8), np.float32)
    thread = threading.Thread(target=core.seed, args=(tokens, ids, logits))
    thread.start()
    refused = 0
    while thread.is_alive():
        try:
            core.stats()
        except RuntimeError:
            refused += 1
    thread.join()
    assert refused > 0 and core.stats()["U"] == count


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not _built(), reason="no C core built")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/self/statm")
def test_nothing_leaks():
    """Whole lives of drafters, good calls and refused ones; memory must stay where the first hundred left it."""
    prompt, bad = np.arange(400) % 50, changed(LOGITS, np.nan)

    shared = np.full((3, 8), 0.125, np.float32)

    def life():
        drafter = Drafter(backend="c", base=Base([1, 2, 3], IDS, shared, "c"))
        drafter.export()
        with pytest.raises(ValueError):
            Base([1, 2, 2], IDS, shared, "c")
        with pytest.raises(ValueError):
            Drafter(RecapConfig(top_k=4, width=4), base=drafter.base)
        drafter.begin(prompt, banned=range(40, 45))
        drafter.seed(prompt[:3], IDS, LOGITS)
        drafter.commit([1])
        for _ in range(5):
            tree = drafter.draft()
            drafter.explain()
            rows = np.tile(np.arange(8), (len(tree), 1)), np.zeros((len(tree), 8), np.float32)
            for refused in (lambda: drafter.observe(IDS, bad), lambda: drafter.begin([-1]),
                            lambda: drafter.commit([2**31]), lambda: drafter.lookup([-1]),
                            lambda: drafter.begin([1], [-1]),
                            lambda: drafter.observe(rows[0], np.full_like(rows[1], np.nan))):
                with pytest.raises(ValueError):
                    refused()
            drafter.observe(*rows)
            drafter.fuse([1, 2, 3])
            drafter.lookup([1, 2, 3])
            drafter.commit([2, 3])
        drafter.reset()

    counted = (prompt, bad, IDS, LOGITS, shared)
    for _ in range(100):
        life()
    gc.collect()
    before, references = resident(), [sys.getrefcount(item) for item in counted]
    for _ in range(400):
        life()
    gc.collect()
    assert [sys.getrefcount(item) for item in counted] == references
    assert resident() - before < 2**20  # one leaked draft per life would be 2 MiB


@pytest.mark.skipif(not _built(), reason="no C core built")
def test_memory_follows_need():
    """U in full stays below 12 MiB, a long request's room is given back, and the count is honest."""
    drafter = Drafter(backend="c")
    drafter.begin([0])
    count = 152_064
    for start in range(0, count, 8192):
        tokens = np.arange(start, min(start + 8192, count))
        drafter.seed(tokens, np.tile(np.arange(8), (len(tokens), 1)), np.zeros((len(tokens), 8), np.float32))
    assert drafter.stats()["U"] == count and drafter.stats()["bytes"] < 12 * 2**20
    drafter.begin(range(200_000))
    drafter.commit([1])
    long = drafter.stats()["bytes"]
    for _ in range(3):
        drafter.begin([1, 2, 3])
    assert drafter.stats()["bytes"] < 12 * 2**20 < long
    drafter.reset()
    assert drafter.stats()["bytes"] < 2**14


@pytest.mark.skipif(not _built(), reason="no C core built")
def test_a_run_of_placeholders_is_cheap():
    drafter = Drafter(backend="c")
    drafter.begin([5] * 100_000, banned=[5])
    assert drafter.stats()["bytes"] < 2**20
    drafter.commit([5])
    assert len(drafter.draft()) == 1
