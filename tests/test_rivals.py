"""What each rival drafts, on examples worked out by hand and against plain searches."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import recap
from recap.drafter.reference_tree import STATIC_TREE
from recap.methods.frequencies import Frequencies
from recap.methods.recycling import places

TEXTS = st.lists(st.integers(0, 3), min_size=1, max_size=40)


def after(method, text, banned=(), answer=1):
    """A proposer that was given a text, its last `answer` tokens as committed ones."""
    proposer = recap.drafter(method)
    proposer.begin(text[:-answer], banned)
    proposer.commit(text[-answer:])
    return proposer


def drafted(method, text, banned=(), **limits):
    return after(method, text, banned).draft(**limits).tokens[1:].tolist()


def paths(draft):
    """Every root path as a tuple of tokens, by pack order."""
    found = [()]
    for node in range(1, len(draft)):
        found.append((*found[draft.parents[node]], int(draft.tokens[node])))
    return found[1:]


def occurrences(text, piece):
    """Positions right after a piece, wherever it occurs in a text."""
    return [at for at in range(len(piece), len(text) + 1) if text[at - len(piece) : at] == piece]


# prompt lookup


def test_pld_takes_the_earliest_occurrence_of_the_longest_key():
    text = [9, 4, 50, 51, 1, 2, 3, 4, 60, 61, 7, 1, 2, 3, 4, 70, 71, 8, 1, 2, 3, 4]
    assert drafted("pld", text) == [60, 61, 7, 1, 2, 3, 4, 70, 71, 8], "at most ten, of the first of two"
    assert drafted("pld", [9, 4, 50, 51, 8, 4]) == [50, 51, 8, 4], "a key of one token, as far as the text goes"
    assert drafted("pld", [0, 1, 2, 3, 4, 60, 9, 1, 2, 3, 4]) == [60, 9, 1, 2, 3, 4]
    assert drafted("pld", [5, 3, 4, 60, 9, 2, 3, 4, 61, 1, 2, 3, 4])[0] == 61, "three tokens before two"
    assert drafted("pld", [1, 2, 3]) == []


def test_pld_copies_nothing_banned():
    assert drafted("pld", [1, 99, 5, 1, 6, 99, 7, 1], banned=[99]) == [6]
    assert drafted("pld", [99, 4, 1, 99], banned=[99]) == [], "a placeholder is no key"


@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_pld_is_that_of_transformers(text):
    from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

    theirs = PromptLookupCandidateGenerator(num_output_tokens=10, max_matching_ngram_size=4, max_length=1000)
    found, _ = theirs.get_candidates(torch.tensor([text]))
    assert drafted("pld", text) == found[0, len(text) :].tolist()


# SAM decoding


@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
def test_sam_follows_the_longest_repeated_suffix(text):
    matched = next((n for n in range(len(text) - 1, 0, -1) if len(occurrences(text, text[-n:])) > 1), 0)
    draft = after("sam", text).draft()
    assert draft.suffix_match == matched and draft.suffix_start == 1
    place = occurrences(text, text[-matched:])[0] if matched else len(text)
    assert draft.tokens[1:].tolist() == text[place : place + min(4 * matched, 40)]


def test_sam_drafts_four_tokens_for_each_that_matched_and_forty_at_most():
    text = list(range(100, 200))
    for matched in (1, 2, 5, 9, 10, 11, 30):
        assert drafted("sam", text + [0] + text[5 : 5 + matched]) == text[5 + matched :][: min(4 * matched, 40)]
    assert len(drafted("sam", text + [0] + text[:20], max_nodes=6, suffix_tokens=1)) == 7


def test_viskip_drafts_nothing_while_the_target_looks_at_the_picture():
    text = [1, 2, 3, 4, 5, 1, 2]
    proposer, plain = after("sam_viskip", text), after("sam", text)
    usual = plain.draft().tokens.tolist()
    assert not proposer.gated and proposer.draft().tokens.tolist() == usual and len(usual) > 1
    told = [(0.36, False), (0.35, True), (None, True), (1, False), (float("nan"), True), ("much", True), (0.0, True)]
    for share, drafts in told:
        proposer.attend(share)
        assert proposer.draft().tokens.tolist() == (usual if drafts else [2])
    assert proposer.gated
    proposer.begin([1])
    assert not proposer.gated


# recycling


def test_the_static_tree_has_eighty_candidates_and_depth_six():
    tree = recap.drafter("token_recycling").tree
    depth = [0]
    for place, (parent, rank, _) in enumerate(tree, start=1):
        assert parent < place and 0 <= rank < 8
        depth.append(depth[parent] + 1)
    assert len(tree) == 80 and max(depth) == 6 and len({(parent, rank) for parent, rank, _ in tree}) == 80
    assert [depth.count(layer) for layer in range(1, 7)] == [sum(row) for row in STATIC_TREE]
    assert [score for *_, score in tree] == sorted((score for *_, score in tree), reverse=True)
    assert places([[1], [2]]) == [(0, 0, 0.5), (1, 0, 0.25), (1, 1, 0.125)]


def row(first, k=8):
    """Tokens first, first + 1, ... by falling logit, given in another order."""
    order = np.arange(k)[::-1]
    return first + order, -order.astype(np.float32)


def test_token_recycling_fills_its_tree_from_what_was_verified():
    proposer = recap.drafter("token_recycling")
    proposer.begin([1])
    proposer.seed(np.array([1]), *(part[None] for part in row(700)))
    proposer.commit([1])
    assert proposer.draft().tokens.tolist() == [1] and not proposer.seeds, "prefill is not written"
    proposer.observe(*(part[None] for part in row(10)))
    proposer.commit([1])
    draft = proposer.draft()
    assert draft.tokens.tolist() == [1, *range(10, 18)], "the children of the root; theirs are not known"
    parts = [row(20 + 10 * node) for node in range(9)]
    proposer.observe(np.stack([ids for ids, _ in parts]), np.stack([logits for _, logits in parts]))
    proposer.commit([10])
    assert sorted(paths(proposer.draft())) == [(token,) for token in range(30, 38)]
    proposer.begin([5])
    proposer.commit([1])
    kept = proposer.draft()
    assert set(paths(kept)) == {
        *((20 + rank,) for rank in range(8))
    }, "the newest row of token 1, from another request"
    proposer.reset()
    proposer.begin([5])
    proposer.commit([1])
    assert len(proposer.draft()) == 1


def test_token_recycling_grows_the_whole_tree_and_the_most_promising_part_of_it():
    proposer = recap.drafter("token_recycling")
    known = [np.roll(np.arange(100, 140), -7 * token)[:8] for token in range(100, 140)]
    proposer.begin([])
    proposer._matrix = {100 + at: row.tolist() for at, row in enumerate(known)}
    proposer.commit([100])
    whole = proposer.draft()
    assert len(whole) == 81 and whole.depths.max() == 6
    by_hand, layer = set(), [((), 100)]
    for counts in STATIC_TREE:
        below = []
        for (path, token), count in zip(layer, counts):
            below += [((*path, int(one)), int(one)) for one in known[token - 100][:count]]
        by_hand |= {path for path, _ in below}
        layer = below
    assert set(paths(whole)) == by_hand
    assert paths(proposer.draft(5)) == paths(whole)[:5]


def test_of_equal_tokens_in_a_pass_the_first_ones_row_is_kept():
    proposer = recap.drafter("tree_recycling")
    proposer.begin([1])
    proposer.commit([1])
    proposer._matrix = {1: [2, 1, 8, 9], 2: [1, 3, 8, 9]}
    draft = proposer.draft()
    assert draft.tokens.tolist().count(1) > 2
    ids = np.stack([row(20 + 10 * node, 4)[0] for node in range(len(draft))])
    proposer.observe(ids, np.stack([row(0, 4)[1]] * len(draft)))
    assert proposer._matrix[1] == [20, 21, 22, 23]


def test_tree_recycling_is_a_binary_tree_of_thirty_for_one_request():
    proposer = recap.drafter("tree_recycling")
    tokens = np.arange(40)
    proposer.begin(tokens)
    ids = np.stack([(tokens * 3 + 1) % 40, (tokens * 5 + 2) % 40, tokens + 100, tokens + 200], axis=1)
    ids[:, 1] = np.where(ids[:, 0] == ids[:, 1], 99, ids[:, 1])
    proposer.seed(tokens, ids, np.tile(np.array([4, 3, 2, 1], np.float32), (40, 1)))
    proposer.commit([6])
    draft = proposer.draft()
    assert len(draft) == 31 and np.bincount(draft.depths).tolist() == [1, 2, 4, 8, 16]
    assert set(paths(draft)) >= {(19,), (32,), (19, 18), (19, 17)}
    proposer.begin(tokens)
    proposer.commit([6])
    assert len(proposer.draft()) == 1, "rows last one request"


# suffix decoding


@settings(max_examples=100, deadline=None)
@given(text=TEXTS)
def test_frequencies_are_counts(text):
    automaton = Frequencies()
    automaton.extend(text, frozenset({3}))
    pieces = {tuple(text[i:j]) for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    for piece in pieces:
        expected = 0 if 3 in piece else len(occurrences(text, list(piece)))
        assert automaton.counts[automaton.find(piece)] == expected or (not expected and not automaton.find(piece))
    assert automaton.find([4]) == 0


def test_suffix_decoding_estimates_by_counts():
    text = [1, 2, 9, 1, 2, 9, 1, 2, 8, 1, 2]
    draft = after("suffix_decoding", text).draft()
    found = dict(zip(paths(draft), draft.scores[1:].tolist()))
    assert found[9,] == pytest.approx(2 / 3) and found[8,] == pytest.approx(1 / 3)
    assert found[9, 1] == found[9, 1, 2] == pytest.approx(2 / 3) and found[9, 1, 2, 9] == pytest.approx(1 / 3)
    assert len(draft) <= 1 + 4 * 2 and draft.scores.tolist() == sorted(draft.scores, reverse=True)


def test_suffix_decoding_guesses_more_the_longer_the_match():
    text = list(range(100, 200))
    for matched in (1, 2, 5, 16, 20):
        expected = text[5 + matched :][: min(4 * matched, 64)]
        assert drafted("suffix_decoding", text + [0] + text[5 : 5 + matched]) == expected


def test_suffix_decoding_drops_what_is_unlikely():
    text = [one for number in range(20) for one in (1, 10 + number)] + [1]
    assert drafted("suffix_decoding", text) == [], "each was seen once in twenty times"


def test_suffix_decoding_learns_from_earlier_answers_not_from_earlier_prompts():
    proposer = after("suffix_decoding", [70, 71, 72, 73, 1, 2, 3, 4, 5], answer=5)
    for _ in range(2):
        proposer.begin([8])
        proposer.commit([1])
        assert proposer.draft().tokens.tolist() == [1, 2, 3, 4, 5]
        proposer.begin([8])
        proposer.commit([70])
        assert len(proposer.draft()) == 1
    proposer.reset()
    proposer.begin([8])
    proposer.commit([1])
    assert len(proposer.draft()) == 1


# lookahead


def test_lookahead_verifies_what_its_pool_holds():
    proposer = after("lookahead", [1, 2, 3, 4, 5, 6, 1, 7, 8, 9, 10, 11, 1])
    assert {(2, 3, 4, 5), (7, 8, 9, 10)} <= set(paths(proposer.draft()))
    assert paths(proposer.draft(4))[:2] == [(7,), (7, 8)], "the newest first; half of what there is room for"


def test_a_pass_of_lookahead_makes_ngrams_and_moves_its_window():
    proposer = after("lookahead", list(range(300, 320)))
    width, levels = 15, 3
    for moved in range(8):
        before_trunk, before = list(proposer._trunk), [list(level) for level in proposer._levels]
        draft = proposer.draft()
        if moved:
            assert (proposer._trunk, proposer._levels) == (before_trunk, before), "only an observed pass moves it"
        trunk, columns = list(proposer._trunk), [list(level) for level in proposer._levels]
        assert len(trunk) == width - 1 and [len(level) for level in columns] == [width] * levels
        known = paths(draft)
        made = np.array([1000 * (moved + 1) + node for node in range(len(draft))])
        tips = []
        for column in range(width):
            path = (*trunk[:column], *(level[column] for level in columns))
            tips.append(int(made[1 + known.index(path)]))
        root = int(draft.tokens[0])
        proposer.observe(made[:, None], np.zeros((len(draft), 1), np.float32))
        assert proposer._trunk == columns[0][1:] and proposer._levels == [*columns[1:], tips]
        fresh = (columns[0][0], columns[1][0], columns[2][0], tips[0])
        assert (fresh in proposer._pool.get(root, ())) is (moved >= levels), "not while random tokens are in it"
        if moved >= levels:
            second = (columns[0][1], columns[1][1], columns[2][1], tips[1])
            assert second in proposer._pool[trunk[0]]
        proposer.commit([int(made[0])])


def test_the_pool_keeps_the_newest_fifteen():
    text = [one for number in range(20) for one in (1, 100 + number, 2, 3, 4)]
    pool = after("lookahead", text + [1])._pool[1]
    assert list(pool) == [(100 + number, 2, 3, 4) for number in range(5, 20)]


def test_the_trie_drafts_the_most_frequent_branches():
    text = [1, 2, 9, 7, 1, 2, 9, 7, 1, 2, 8, 6, 1, 2]
    known = paths(after("lookahead_trie", text).draft())
    assert known[:3] == [(9,), (9, 7), (9, 7, 1)] and (8, 6) in known
    assert max(map(len, known)) == 12 and len(known) <= 63
    follows = list(range(100, 130))
    assert drafted("lookahead_trie", [5, 1, 2, *follows, 4, 2, 60, 61, 1, 2]) == follows[:12], "two tokens before one"
    few = paths(after("lookahead_trie", [1, 2, 3, 0, 2, 5, 6, 1, 2]).draft())
    assert (3,) in few and (5,) in few, "where two tokens find little, one is asked"


def test_the_trie_fills_up_with_earlier_answers():
    proposer = after("lookahead_trie", [70, 1, 2, 3, 4, 5], answer=5)
    proposer.begin([1, 9, 8])
    proposer.commit([1])
    assert paths(proposer.draft())[0] == (9,) and (2, 3, 4, 5) in paths(proposer.draft())
