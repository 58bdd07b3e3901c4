"""Search and suffix path against definitions written naively, over the public `fuse` and `lookup`."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recap import Drafter, RecapConfig

from .test_drafter_rules import _built, paths

BACKENDS = [pytest.param("c", marks=pytest.mark.skipif(not _built(), reason="no C core built")), "python"]


def naive_suffix(text, banned):
    """The continuation by definition: the longest suffix that ends earlier too, its earliest end, ten tokens on."""
    best = None
    for length in range(1, len(text)):
        suffix = text[-length:]
        if banned & set(suffix):
            break
        ends = [end for end in range(length, len(text)) if text[end - length : end] == suffix]
        if not ends:
            break
        best = ends[0]
    out = []
    for token in [] if best is None else text[best : best + 10]:
        if token in banned:
            break
        out.append(token)
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4), st.lists(st.integers(0, 9), max_size=60),
       st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sets(st.integers(0, 3), max_size=2))
def test_suffix_path(backend, alphabet, prompt, answer, banned):
    drafter = Drafter(RecapConfig(), backend)
    text = [token % alphabet for token in prompt]
    drafter.begin(text, banned)
    for token in answer:
        token %= alphabet
        text.append(token)
        drafter.commit([token])
        expected = naive_suffix(text, banned)
        found = paths(drafter.draft(0, 10))
        assert [path[-1] for path in found] == expected and all(len(path) == i + 1 for i, path in enumerate(found))


def naive_search(fuse, history, config):
    """Best-first with every candidate in one list; ties to the first pushed."""
    nodes, waiting, pushed = [((), 1.0)], [], 0
    while True:
        path, score = nodes[-1]
        if len(path) < config.max_depth:
            ids, probs, _ = fuse([*history, *path])
            prior = config.depth_priors[min(len(path), len(config.depth_priors) - 1)]
            for token, p in list(zip(ids.tolist(), probs.tolist()))[: config.width]:
                waiting.append((-(score * prior * p), pushed, (*path, token)))
                pushed += 1
        if not waiting or len(nodes) > config.max_nodes:
            return nodes[1 : config.max_nodes + 1]
        best = min(waiting)
        waiting.remove(best)
        nodes.append((best[2], -best[0]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(4))
def test_best_first(backend, seed):
    numbers = np.random.default_rng(seed)
    config = RecapConfig(top_k=4, width=3, max_depth=4, max_nodes=40, suffix=False)
    drafter = Drafter(config, backend)
    text = numbers.integers(0, 7, 20).tolist()
    drafter.begin(text)
    for _ in range(6):
        token = int(numbers.integers(0, 7))
        text.append(token)
        drafter.commit([token])
        tree = drafter.draft()
        expected = naive_search(drafter.fuse, text, config)
        assert paths(tree) == [path for path, _ in expected]
        assert tree.scores[1:].tolist() == [score for _, score in expected]
        ids = numbers.random((len(tree), 7)).argsort(axis=1)[:, :4]
        drafter.observe(ids, numbers.normal(size=ids.shape).round().astype(np.float32))
