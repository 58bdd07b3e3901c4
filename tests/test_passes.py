"""The compiled passes: close to transformers, and the same bits for a token however its pass is cut.

Shapes are tiny here; `test_passes_builtin.py` asks the same of the built-in model.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from recap.targets.cpu import available
from recap.targets.cpu.checkpoint import Checkpoint
from recap.targets.cpu.reference import Network as Reference
from recap.targets.trees import PackedTree

from . import llamas

needs_kernels = pytest.mark.skipif(not available(), reason="the C extension of the passes is not built")
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folders = {}

    def write(dtype: str = "bfloat16", **changes):
        key = (dtype, *sorted((name, str(value)) for name, value in changes.items()))
        if key not in folders:
            folders[key] = llamas.write(tmp_path_factory.mktemp("llama") / "model", DTYPES[dtype], **changes)
        return folders[key]

    return write


def compiled(folder, threads: int = 1, **options):
    from recap.targets.cpu.compiled import Network

    try:
        return Network(Checkpoint(folder), threads, **options)
    except ValueError as error:
        if "this processor has no instructions" in str(error):
            pytest.skip(str(error))
        raise


KINDS = {
    "reference": (lambda folder: Reference(Checkpoint(folder))),
    "best": compiled,
    **{
        name: (lambda folder, name=name: compiled(folder, instructions=name)) for name in ("portable", "avx2", "avx512")
    },
}
every_kind = pytest.mark.parametrize(
    "make",
    [pytest.param(make, id=name, marks=[] if name == "reference" else needs_kernels) for name, make in KINDS.items()],
)
SHAPES = {
    "small": {},
    "one head": dict(num_attention_heads=1, num_key_value_heads=1, hidden_size=32, num_hidden_layers=1),
    "wide heads": dict(
        num_attention_heads=6, num_key_value_heads=2, head_dim=64, hidden_size=192, intermediate_size=416
    ),
    "large vocabulary": dict(vocab_size=1537, num_hidden_layers=1),
}


def run(network, cache, tokens, depths, mask):
    """A pass over one tree."""
    return network.run([PackedTree(tokens, depths, mask, cache)])


def run_chain(network, cache, ids, kept=True):
    hidden = run(network, cache, ids, *llamas.chain(len(ids)))
    if kept:
        cache.keep(range(len(ids)))
    return hidden


@every_kind
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_logits_are_transformers(folder, make, dtype, shape):
    path = folder(dtype, **SHAPES[shape])
    network = make(path)
    ids = np.random.default_rng(1).integers(0, network.sizes.vocabulary, 70)
    expected = llamas.transformers_logits(path, ids)
    hidden = run_chain(network, network.new_cache(), ids)
    logits = network.logits(hidden)
    np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=2e-5 * np.abs(expected).max())
    assert (logits.argmax(1) == expected.argmax(1)).all()
    chosen, values = network.top(hidden, 8)
    order = np.argsort(-logits, axis=1, kind="stable")[:, :8]
    np.testing.assert_array_equal(chosen, order)
    np.testing.assert_array_equal(values, np.take_along_axis(logits, order, 1))


@every_kind
def test_a_tree_is_its_paths(folder, make):
    """Every node's logits are close to those of its own path read as plain text, and a kept path goes on like it."""
    network = make(folder())
    random = np.random.default_rng(2)
    prompt = random.integers(0, 101, 9)
    tokens, parents, depths, mask = llamas.random_tree(random, 20, 101)
    cache = network.new_cache()
    run_chain(network, cache, prompt)
    logits = network.logits(run(network, cache, tokens, depths, mask))
    for node in range(20):
        path = np.flatnonzero(mask[node])
        text = np.concatenate([prompt, tokens[path]])
        alone = network.logits(run_chain(network, network.new_cache(), text))
        np.testing.assert_allclose(logits[node], alone[-1], rtol=1e-4, atol=1e-4)
    path = np.flatnonzero(mask[19])
    cache.keep(path.tolist())
    assert cache.length == 9 + len(path) <= cache.capacity
    after = network.logits(run_chain(network, cache, np.array([5, 6])))
    text = np.concatenate([prompt, tokens[path], [5, 6]])
    np.testing.assert_allclose(
        after, network.logits(run_chain(network, network.new_cache(), text))[-2:], rtol=1e-4, atol=1e-4
    )


def several(random, network, lengths, vocabulary=101, most=20):
    """Trees of random sizes behind random prompts of these lengths."""
    trees = []
    for length in lengths:
        cache = network.new_cache()
        if length:
            run_chain(network, cache, random.integers(0, vocabulary, length))
        tokens, _, depths, mask = llamas.random_tree(random, int(random.integers(1, most)), vocabulary)
        trees.append(PackedTree(tokens, depths, mask, cache))
    return trees


@every_kind
def test_trees_of_one_pass_are_as_they_are_alone(folder, make):
    """Bit for bit in the kernels, where that is what the product promises; what is kept behind each is its own."""
    network = make(folder())
    random = np.random.default_rng(11)
    trees = several(random, network, (0, 1, 9, 32, 70, 33))
    alone = [run(network, tree.cache, *tree[:3]) for tree in trees]
    together = network.run(trees)
    same = np.testing.assert_array_equal if network.backend == "c" else np.testing.assert_allclose
    same(together, np.concatenate(alone))
    for tree in trees:
        length, path = tree.cache.length, np.flatnonzero(tree.mask[-1])
        tree.cache.keep(path.tolist())
        after = run_chain(network, tree.cache, np.array([5, 6]))
        tree.cache.truncate(length)
        for token in tree.tokens[path]:
            run_chain(network, tree.cache, np.array([token]))
        np.testing.assert_allclose(run_chain(network, tree.cache, np.array([5, 6])), after, rtol=1e-4, atol=1e-4)


@every_kind
def test_a_pass_with_a_tree_that_cannot_be_leaves_nothing_behind(folder, make):
    network = make(folder())
    first, second = several(np.random.default_rng(12), network, (3, 4))
    for wrong in (
        [], [first, first], [first, second._replace(tokens=second.tokens + 101)],
        [first, second._replace(depths=second.depths + 2048)], [first, second._replace(mask=~second.mask)],
        [first, second._replace(tokens=second.tokens[:0])],
    ):  # fmt: skip
        with pytest.raises(ValueError):
            network.run(wrong)
        for tree in (first, second):
            assert tree.cache.length in (3, 4)
            with pytest.raises(ValueError):
                tree.cache.keep([0])
    assert len(network.run([first, second])) == len(first.tokens) + len(second.tokens)


@every_kind
def test_what_cannot_be_is_refused(folder, make):
    network = make(folder())
    cache = network.new_cache()
    one, at, seen = np.array([1]), np.array([0]), np.ones((1, 1), bool)
    later = np.array([[True, True], [False, True]])
    for tokens, depths, mask in (
        (np.array([101]), at, seen), (np.array([-1]), at, seen), (np.array([2**40]), at, seen),
        (one, np.array([2048]), seen), (one, np.array([-1]), seen),
        (one, at, np.zeros((1, 1), bool)), (one, at, np.ones((2, 2), bool)), (one, np.array([0, 1]), seen),
        (np.array([1, 2]), np.array([0, 1]), later), (one[:0], at[:0], seen[:0, :0]),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            run(network, cache, tokens, depths, mask)
    assert cache.length == 0
    run(network, cache, np.array([1, 2, 3]), np.arange(3), np.tri(3, dtype=bool))
    for entries in ([3], [-1], [1, 0], [0, 0]):
        with pytest.raises(ValueError):
            cache.keep(entries)
    cache.keep([0, 2])
    for length in (3, -1):
        with pytest.raises(ValueError):
            cache.truncate(length)
    cache.truncate(1)
    assert cache.length == 1


@every_kind
def test_broken_logits_are_named(folder, make):
    network = make(folder())
    hidden = np.zeros((3, 64), np.float32)
    hidden[1, 3] = np.nan
    with pytest.raises(FloatingPointError):
        network.top(hidden, 8)
    hidden[1, 3] = np.inf
    with pytest.raises(FloatingPointError):
        network.top(hidden, 8)
    ids, values = network.top(np.zeros((3, 64), np.float32), 8)  # all logits equal: lowest ids first
    assert ids.tolist() == [list(range(8))] * 3 and not values.any()


# the same bits


BITS = [
    pytest.param(dict(instructions=name, wide=wide), id=f"{name}-{'float32' if wide else 'bfloat16'}")
    for name in ("portable", "avx2", "avx512")
    for wide in (False, True)
]
every_kernel = pytest.mark.parametrize("options", BITS)


@needs_kernels
@every_kernel
@pytest.mark.parametrize("shape", ["small", "wide heads"])
def test_a_node_has_the_bits_of_plain_decoding(folder, options, shape):
    """Random trees of 1 to 64 nodes behind prefixes of many lengths against one-token passes along every path."""
    network = compiled(folder(**SHAPES[shape]), threads=2, **options)
    random = np.random.default_rng(3)
    prompt = random.integers(0, 101, 75)
    for n in (*range(1, 20), 24, 31, 48, 63, 64):
        length = int(random.integers(0, len(prompt)))
        tokens, parents, depths, mask = llamas.random_tree(random, n, 101)
        cache = network.new_cache()
        if length:
            run_chain(network, cache, prompt[:length])
        together = run(network, cache, tokens, depths, mask)
        logits, best = network.logits(together), network.top(together, 8)
        leaves = set(range(n)) - set(parents.tolist())
        for leaf in random.permutation(sorted(leaves))[:4]:
            cache.truncate(length)
            for node in np.flatnonzero(mask[leaf]):
                alone = run_chain(network, cache, tokens[[node]])
                np.testing.assert_array_equal(alone[0], together[node])
                np.testing.assert_array_equal(network.logits(alone)[0], logits[node])
                ids, values = network.top(alone, 8)
                assert ids[0].tolist() == best[0][node].tolist() and values[0].tolist() == best[1][node].tolist()


@needs_kernels
@every_kernel
def test_a_prompt_has_the_same_bits_however_it_is_cut(folder, options):
    network = compiled(folder(), **options)
    ids = np.random.default_rng(4).integers(0, 101, 600)  # more than the cache holds at first
    whole = run_chain(network, network.new_cache(), ids)
    for parts in (1, 7, 96, 333):
        cache = network.new_cache()
        pieces = [run_chain(network, cache, ids[begin : begin + parts]) for begin in range(0, 600, parts)]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)
        assert cache.length == 600 <= cache.capacity


@needs_kernels
@every_kernel
def test_threads_share_the_work_and_change_nothing(folder, options):
    networks = [compiled(folder(**SHAPES["large vocabulary"]), threads, **options) for threads in (1, 2, 5)]
    random = np.random.default_rng(5)
    ids = random.integers(0, 1537, 130)
    tokens, _, depths, mask = llamas.random_tree(random, 40, 1537)
    results = []
    for network in networks:
        cache = network.new_cache()
        prompt = run_chain(network, cache, ids)
        tree = run(network, cache, tokens, depths, mask)
        results.append((prompt, tree, network.logits(tree), *network.top(tree, 64)))
    for other in results[1:]:
        for ours, theirs in zip(results[0], other):
            np.testing.assert_array_equal(ours, theirs)


@needs_kernels
@every_kernel
def test_a_kept_path_leaves_the_entries_of_plain_decoding(folder, options):
    network = compiled(folder(), **options)
    random = np.random.default_rng(6)
    trees, plain = network.new_cache(), network.new_cache()
    for _ in range(80):  # past the room of a new cache
        tokens, _, depths, mask = llamas.random_tree(random, int(random.integers(1, 30)), 101)
        run(network, trees, tokens, depths, mask)
        path = np.flatnonzero(mask[random.integers(0, len(tokens))])
        trees.keep(path.tolist())
        for token in tokens[path]:
            run_chain(network, plain, np.array([token]))
        assert trees.length == plain.length
        if random.random() < 0.2:
            back = int(random.integers(0, trees.length + 1))
            trees.truncate(back)
            plain.truncate(back)
        probe = tokens[:3]
        np.testing.assert_array_equal(*(run_chain(network, cache, probe, kept=False) for cache in (trees, plain)))


@needs_kernels
def test_bfloat16_weights_as_they_are_or_widened_are_the_same_numbers(folder):
    ids = np.random.default_rng(7).integers(0, 101, 50)
    narrow, wide = (compiled(folder(), wide=wide) for wide in (None, True))
    assert (narrow.wide, wide.wide) == (False, True) and compiled(folder("float32")).wide
    np.testing.assert_array_equal(*(run_chain(one, one.new_cache(), ids) for one in (narrow, wide)))


@needs_kernels
def test_two_threads_in_one_network_are_told_apart(folder):
    """The lock of `Passes` lets them wait; without it the second is refused rather than wrong."""
    from concurrent.futures import ThreadPoolExecutor

    from recap.targets.cpu import Passes

    passes = Passes(Checkpoint(folder()))
    ids = np.random.default_rng(8).integers(0, 101, 300)
    expected = passes.prefill(ids, passes.new_cache())
    with ThreadPoolExecutor(4) as pool:
        for hidden in pool.map(lambda _: passes.prefill(ids, passes.new_cache()), range(12)):
            assert torch.equal(hidden, expected)


@needs_kernels
def test_a_cache_belongs_to_its_network(folder):
    ours, other = compiled(folder()), compiled(folder())
    with pytest.raises(ValueError, match="another model"):
        run(ours, other.new_cache(), np.array([1]), np.array([0]), np.ones((1, 1), bool))


@needs_kernels
def test_answers_share_a_pass_and_a_head(folder, monkeypatch):
    """`Passes.verify_all` against `verify`: the same predictions, however many are asked for and whoever asks first."""
    from recap.targets.cpu import Passes, passes

    monkeypatch.setattr(passes, "MOST_TREES", 3)  # two passes
    made = Passes(Checkpoint(folder()))
    random = np.random.default_rng(13)
    trees = several(random, made.network, (2, 40, 7, 0, 66))
    alone = [made.verify(*tree) for tree in trees]
    wanted = [(one.top(8), one.top(1), one.top(20), one.logits) for one in alone]
    for order in ((8, 1, 20), (1, 20, 8)):
        reads = []
        top = made.network.top
        monkeypatch.setattr(made.network, "top", lambda hidden, k: reads.append(len(hidden)) or top(hidden, k))
        together = made.verify_all(trees)
        for k in order:
            for one, expected in zip(together, wanted):
                for ours, theirs in zip(one.top(k), expected[(8, 1, 20).index(k)]):
                    np.testing.assert_array_equal(ours, theirs)
        assert len(reads) == 2 + len(trees)  # 20 are more than were found for all
        monkeypatch.undo()
        monkeypatch.setattr(passes, "MOST_TREES", 3)
        for one, expected in zip(together, wanted):
            assert torch.equal(one.logits, expected[3]) and one.choices().tolist() == expected[1][0][:, 0].tolist()
    assert made.verify_all([]) == []


@needs_kernels
def test_one_answer_that_breaks_does_not_break_those_beside_it(folder):
    from recap.targets.cpu import Passes
    from recap.targets.cpu.predictions import LazyPredictions, SharedHead

    made = Passes(Checkpoint(folder()))
    good, bad = np.ones((2, made.network.sizes.hidden), np.float32), np.full((1, made.network.sizes.hidden), np.nan, np.float32)
    head = SharedHead(made.network, np.concatenate([good, bad]), made.lock)
    np.testing.assert_array_equal(LazyPredictions(made.network, good, made.lock, head).top(8)[0], made.network.top(good, 8)[0])
    with pytest.raises(FloatingPointError):
        LazyPredictions(made.network, bad, made.lock, head, 2).top(8)


@needs_kernels
def test_an_interrupted_prefill_leaves_the_cache_as_it_was(folder, monkeypatch):
    from recap.targets.cpu import Passes

    passes = Passes(Checkpoint(folder()))
    cache = passes.new_cache()
    passes.prefill(np.arange(10), cache)
    whole, calls = passes.network.run, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(passes.network, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        passes.prefill(np.arange(101).repeat(3), cache)
    assert cache.length == 10


# what is loaded


@pytest.mark.parametrize(
    ("changes", "word"),
    [(dict(hidden_size=80), "hidden_size"), (dict(head_dim=16), "head size"),
     (dict(intermediate_size=100), "mlp size"), (dict(attention_bias=True), "attention_bias"),
     (dict(hidden_act="gelu"), "hidden_act"), (dict(tie_word_embeddings=False), "tie_word_embeddings"),
     (dict(rope_parameters={"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}), "rotary")],
)  # fmt: skip
def test_other_models_are_refused_with_a_sentence(tmp_path, changes, word):
    with pytest.raises(ValueError, match=word):
        Checkpoint(llamas.write(tmp_path, num_hidden_layers=1, **changes))


@needs_kernels
def test_damaged_weights_are_found_at_load(tmp_path, folder):
    from safetensors.torch import load_file, save_file

    from recap.targets.cpu import Passes

    path = llamas.write(tmp_path / "model")
    weights = load_file(path / "model.safetensors")
    weights["model.layers.1.mlp.up_proj.weight"][3, 5] = float("nan")
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="damaged"):
        Passes(Checkpoint(path))


def test_the_choice_of_passes(monkeypatch):
    from recap.targets.cpu import choose

    monkeypatch.delenv("RECAP_PASSES", raising=False)
    assert choose() == ("compiled" if available() else "torch") and choose("torch") == "torch"
    monkeypatch.setenv("RECAP_PASSES", "torch")
    assert choose() == "torch"
    if available():
        assert choose("compiled") == "compiled"
    monkeypatch.setenv("RECAP_PASSES", "fast")
    with pytest.raises(ValueError, match="RECAP_PASSES"):
        choose()
