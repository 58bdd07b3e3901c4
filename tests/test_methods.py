"""Every method as a proposer: valid trees within the limits on any stream; on the loop, plain decoding's tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import recap
from recap.budget import Fixed
from recap.choosing import Greedy
from recap.custom import _scrap
from recap.decoding import Decoding
from recap.targets.predictions import Predictions
from recap.targets.prompt import Prompt

RIVALS = [method for method in recap.METHODS if method not in ("recap", "ar")]
every_method = pytest.mark.parametrize("method", recap.METHODS)
every_rival = pytest.mark.parametrize("method", RIVALS)
HUGE = 2**31 - 1
CHAINS = ("pld", "sam", "sam_viskip")


def check(draft, root, banned, most, extra):
    """What the loop relies on, and the limits."""
    n = len(draft)
    tokens, parents, depths = draft.tokens.tolist(), draft.parents.tolist(), draft.depths.tolist()
    assert tokens[0] == root and parents[0] == -1 and depths[0] == 0 and draft.scores[0] == 1.0
    assert n <= 1 + most + extra and 1 <= draft.suffix_start <= n and (draft.suffix_start < n or not draft.suffix_match)
    assert len(set(zip(parents, tokens))) == n, "siblings must differ"
    assert not banned & set(tokens[1:])
    for node in range(1, n):
        parent = parents[node]
        assert 0 <= parent < node and depths[node] == depths[parent] + 1
        assert draft.mask[node].tolist() == [mine or own == node for own, mine in enumerate(draft.mask[parent])]
        assert 0.0 <= draft.scores[node] <= draft.scores[parent]
    assert draft.mask[0].tolist() == [True] + [False] * (n - 1)
    assert draft.tokens.dtype == np.int64 and draft.parents.dtype == draft.depths.dtype == np.int32
    assert draft.mask.dtype == bool and draft.weights.shape == draft.shares.shape == (n, 3)


def rows(random, draft, top_k, vocabulary):
    """Random predictions at every node: ids (n, K) that differ in a row, logits (n, K)."""
    ids = np.array([random.choice(vocabulary, top_k, replace=False) for _ in range(len(draft))])
    return ids, random.normal(size=ids.shape).astype(np.float32)


def run(proposer, seed, vocabulary, banned=frozenset(), requests=2, passes=12, cut=None):
    """Random requests and answers that often follow the draft; yields (draft, root, limits)."""
    random = np.random.default_rng(seed)
    allowed = np.array([token for token in vocabulary if token not in banned])
    for _ in range(requests):
        prompt = random.choice(vocabulary, random.integers(0, 30))
        proposer.begin(prompt, sorted(banned))
        if proposer.seeds and len(prompt):
            first = np.unique(prompt)
            ids = np.array([random.choice(vocabulary, proposer.top_k, replace=False) for _ in first])
            proposer.seed(first, ids, random.normal(size=ids.shape).astype(np.float32))
        proposer.commit([int(random.choice(allowed))])
        root = proposer._text[-1]
        for _ in range(passes):
            limits = cut or (int(random.integers(0, 130)), int(random.integers(0, 11)))
            draft = proposer.draft(*limits)
            yield draft, root, limits
            if proposer.top_k:
                proposer.observe(*rows(random, draft, proposer.top_k, vocabulary))
            path, node = [], 0
            while random.random() < 0.7 and (below := np.flatnonzero(draft.parents == node)).size:
                node = int(random.choice(below))
                path.append(int(draft.tokens[node]))
            path.append(int(random.choice(allowed)))
            proposer.commit(path)
            root = path[-1]


@every_rival
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), spread=st.sampled_from([1, 1000, HUGE // 24]), refused=st.integers(0, 5))
def test_trees_are_valid_whatever_the_stream(method, seed, spread, refused):
    vocabulary = HUGE - spread * np.arange(24)
    banned = frozenset(vocabulary[:refused].tolist())
    for draft, root, limits in run(recap.drafter(method), seed, vocabulary, banned):
        check(draft, root, banned, *(limits if method in CHAINS else (limits[0], 0)))


@every_rival
def test_the_same_calls_give_the_same_drafts(method):
    vocabulary = np.arange(12)
    once, used = recap.drafter(method), recap.drafter(method)
    first = [draft.tokens.tolist() for draft, *_ in run(once, 1, vocabulary, requests=1)]
    for _ in run(used, 2, vocabulary):
        pass
    used.reset()
    assert [draft.tokens.tolist() for draft, *_ in run(used, 1, vocabulary, requests=1)] == first
    assert any(len(tokens) > 2 for tokens in first)


@pytest.mark.parametrize("method", [*CHAINS, "token_recycling", "tree_recycling", "suffix_decoding", "lookahead_trie"])
def test_fewer_candidates_are_the_first_of_more(method):
    """What the budget "auto" counts on."""
    proposer, shorter = recap.drafter(method), 0
    for whole, root, _ in run(proposer, 5, np.arange(12), cut=(64, 10)):
        for most in (0, 1, 2, 5, len(whole) - 1):
            part = proposer.draft(most, 0)
            assert part.tokens.tolist() == whole.tokens[: 1 + most].tolist()
            assert part.parents.tolist() == whole.parents[: 1 + most].tolist()
            shorter += len(part) < len(whole)
        proposer.draft(64, 10)
    assert shorter > 20


@every_rival
def test_the_published_numbers_are_what_a_method_drafts_by_itself(method):
    proposer = recap.drafter(method)
    most, extra = proposer.sizes
    for _, _, limits in run(proposer, 3, np.arange(12), passes=40):
        free, bound = proposer.draft(), proposer.draft(most, extra)
        assert free.tokens.tolist() == bound.tokens.tolist() and len(free) <= 1 + most + extra
        assert len(proposer.draft(0, 0)) == 1
        proposer.draft(*limits)  # the one that is observed


@every_rival
def test_calls_out_of_order_are_refused(method):
    proposer = recap.drafter(method)
    k = max(proposer.top_k, 1)
    ids, logits = np.arange(k)[None], np.zeros((1, k), np.float32)
    with pytest.raises(RuntimeError, match="begin"):
        proposer.commit([1])
    with pytest.raises(RuntimeError, match="commit"):
        proposer.draft()
    proposer.begin([1, 2])
    with pytest.raises(RuntimeError, match="commit"):
        proposer.draft()
    proposer.commit([3])
    with pytest.raises(RuntimeError, match="seed"):
        proposer.seed([1], ids, logits)
    with pytest.raises(RuntimeError, match="draft"):
        proposer.observe(ids, logits)
    proposer.draft(0, 0)
    proposer.observe(ids, logits)
    with pytest.raises(RuntimeError, match="draft"):
        proposer.observe(ids, logits)
    for bad, error in (([], ValueError), ([-1], ValueError), ([2**31], ValueError), (["a"], TypeError), (5, TypeError)):
        with pytest.raises(error, match="token_ids"):
            proposer.commit(bad)
    for bad in (-1, 2000):
        with pytest.raises(ValueError, match="max_nodes"):
            proposer.draft(bad)
    if proposer.top_k:
        proposer.draft(0, 0)
        with pytest.raises(ValueError, match=r"\(n, K\)"):
            proposer.observe(np.zeros((2, k), int), np.zeros((2, k), np.float32))
    with pytest.raises(ValueError, match="banned"):
        proposer.begin([1], [-5])
    proposer.reset()
    with pytest.raises(RuntimeError):
        proposer.draft()


class Scripted:
    """A target whose next token is a fixed function of the last two tokens: 16 tokens, the last a placeholder."""

    vocabulary, banned, placeholder = 16, (15,), 15
    text_of = staticmethod(str)

    def __init__(self, seed: int, ends: set[int]) -> None:
        self.logits = np.random.default_rng(seed).normal(size=(16, 16, 16)).astype(np.float32)
        self.logits[..., 15] = -9.0
        self.end_ids = frozenset(ends)

    def prefill(self, prompt, start, cache):
        cache.text = prompt.ids.tolist()
        before = [0, *cache.text]
        yield torch.tensor([[before[at], before[at + 1]] for at in range(len(cache.text))])

    def predict(self, pairs):
        return Predictions(torch.from_numpy(self.logits[tuple(pairs.numpy().T)]))

    def verify(self, tokens, depths, mask, cache, delta):
        pairs = []
        for node in range(len(tokens)):
            path = sorted(np.flatnonzero(mask[node]).tolist(), key=lambda one: depths[one])
            assert [depths[one] for one in path] == list(range(len(path)))
            pairs.append((cache.text + [int(tokens[one]) for one in path])[-2:])
        cache.drafted = tokens.tolist()
        return self.predict(torch.tensor(pairs))

    def plain(self, prompt, length):
        text = [0, *prompt]
        while len(text) - 1 - len(prompt) < length:
            text.append(int(self.logits[text[-2], text[-1]].argmax()))
            if text[-1] in self.end_ids:
                break
        return text[1 + len(prompt) :]


class Cache:
    length = 0

    def keep(self, path):
        self.text += [self.drafted[node] for node in path]


def decode(target, proposer, prompt, length, numbers):
    trace = _scrap()
    decoding = Decoding(
        target, proposer, Greedy(), Prompt(np.array(prompt), []), 0, Cache(), trace, Fixed(*numbers), lambda _: None,
        length,
    )  # fmt: skip
    decoding.prefill()
    return decoding.tokens, list(decoding.steps()), decoding.finish_reason


@every_method
def test_the_loop_gives_plain_decodings_tokens(method):
    """Many targets and limits, several requests each: the end, by length or an end token, falls anywhere in a path."""
    ended = inside = accepted = 0
    for seed in range(24):
        random = np.random.default_rng(seed)
        target = Scripted(seed, {int(random.integers(0, 15))} if seed % 2 else set())
        proposer = recap.drafter(method)
        numbers = (getattr(proposer, "sizes", None) or (63, 4)) if seed % 3 else (int(random.integers(0, 9)), 3)
        for _ in range(2):
            prompt = random.integers(0, 16, random.integers(2, 12)).tolist()
            length = int(random.integers(1, 60))
            # an answer so far is part of the next prompt, as in a conversation: what ends it now is drafted from there
            prompt += target.plain(prompt, 30) + [15] + prompt
            tokens, steps, reason = decode(target, proposer, prompt, length, numbers)
            assert tokens == target.plain(prompt, length)
            assert reason == ("stop" if tokens[-1] in target.end_ids else "length")
            accepted += sum(len(step.accepted_nodes) for step in steps)
            last = steps[-1] if steps else None
            ended += bool(last and reason == "stop" and len(last.accepted_nodes) == len(last.committed))
            inside += bool(last and any(last.tokens[node] == last.committed[-1] and last.depths[node] > 1
                                        for node in last.accepted_nodes))
    if method != "ar":
        assert accepted > 80 and ended > 1 and inside > 1, "end tokens must have been drafts"
