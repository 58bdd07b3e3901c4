"""Sampling: a seed gives AR's answer, and the distribution is the target's own, whatever was drafted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

import recap

from . import tiny
from .test_lossless import FIXED

QUESTION = "What is the woman carrying?"
PICTURE = tiny.picture(1)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("temperature", [0.2, 0.7, 1.5])
def test_equals_ar_with_the_same_seed(target, family, temperature):
    loaded = target(family)
    answers, accepted = [], []
    for seed in range(4):
        ours, theirs = (
            recap.generate(
                loaded, QUESTION, [PICTURE], method=method, temperature=temperature, seed=seed, max_new_tokens=40,
                config=FIXED,
            )
            for method in ("recap", "ar")
        )
        assert ours.token_ids == theirs.token_ids and ours.finish_reason == theirs.finish_reason
        assert ours.trace.seed == seed and ours.trace.temperature == temperature
        answers.append(tuple(ours.token_ids))
        accepted.append(ours.acceptance_length)
    assert len(set(answers)) > 1
    assert max(accepted) > (1.1 if temperature < 1 else 1.0), "no draft was accepted, so equality shows nothing"


@pytest.mark.parametrize("method", [method for method in recap.METHODS if method not in ("recap", "ar")])
def test_every_method_equals_ar_with_the_same_seed(target, method):
    loaded, accepted = target("llava"), []
    for seed in range(3):
        settings = dict(temperature=0.4, seed=seed, max_new_tokens=50, config=FIXED)
        ours, theirs = (recap.generate(loaded, QUESTION, [PICTURE], method=one, **settings) for one in (method, "ar"))
        assert ours.token_ids == theirs.token_ids and ours.finish_reason == theirs.finish_reason
        accepted.append(ours.acceptance_length)
    assert max(accepted) > 1.0, "no draft was accepted, so equality shows nothing"


def test_settings_do_not_change_a_seed(target):
    """However much is drafted, a seed is one answer."""
    loaded = target("llava")
    settings = dict(temperature=0.7, seed=11, max_new_tokens=50)
    expected = recap.generate(loaded, QUESTION, [PICTURE], method="ar", **settings).token_ids
    nothing = {"max_nodes": 0, "suffix_tokens": 0}
    for changes in (nothing, {"max_nodes": 1}, {"max_nodes": 127}, {"width": 1}, {"suffix": False}):
        config = recap.RecapConfig().replace(**changes)
        assert recap.generate(loaded, QUESTION, [PICTURE], config=config, **settings).token_ids == expected


def test_a_vanishing_temperature_is_greedy(target):
    loaded = target("llava")
    greedy = recap.generate(loaded, QUESTION, [PICTURE], max_new_tokens=30).token_ids
    assert recap.generate(loaded, QUESTION, [PICTURE], temperature=1e-4, seed=0, max_new_tokens=30).token_ids == greedy


def test_without_a_seed_answers_differ_and_can_be_repeated(target):
    loaded = target("llava")
    answers = [recap.generate(loaded, QUESTION, temperature=1.5, max_new_tokens=20) for _ in range(3)]
    assert len({tuple(answer.token_ids) for answer in answers}) > 1
    again = recap.generate(loaded, QUESTION, temperature=1.5, seed=answers[0].trace.seed, max_new_tokens=20)
    assert again.token_ids == answers[0].token_ids


def test_sampling_in_a_session_equals_ar(target):
    loaded = target("qwen2_5_vl")
    sessions = [recap.Session(loaded, method=method) for method in ("recap", "ar")]
    for turn, (text, pictures) in enumerate([(QUESTION, [PICTURE]), ("Why?", []), ("And this?", [tiny.picture(2)])]):
        ours, theirs = (
            recap.generate(loaded, text, pictures, session=session, temperature=0.7, seed=turn, max_new_tokens=30)
            for session in sessions
        )
        assert ours.token_ids == theirs.token_ids


def _next(side, sequences: torch.Tensor, temperature: float) -> torch.Tensor:
    """Exact distributions of the next token after each sequence, (n, vocabulary) float64."""
    with torch.no_grad():
        logits = side.model(input_ids=sequences, attention_mask=torch.ones_like(sequences)).logits[:, -1]
    return torch.softmax(logits.double() / temperature, dim=-1)


def _exact(side, prompt: torch.Tensor, temperature: float, length: int) -> dict[tuple[int, ...], float]:
    """Probabilities of the first `length` tokens, the very rare left out. An end token ends a sequence."""
    ends = {side.model.generation_config.eos_token_id}
    known: dict[tuple[int, ...], float] = {(): 1.0}
    for _ in range(length):
        ended = {key: p for key, p in known.items() if key and key[-1] in ends}
        running = [key for key in known if key not in ended]
        tails = torch.tensor(running, dtype=torch.long).reshape(len(running), -1)
        sequences = torch.cat([prompt.expand(len(running), -1), tails], dim=1)
        longer = dict(ended)
        for key, row in zip(running, _next(side, sequences, temperature)):
            for token in torch.nonzero(row * known[key] > 1e-4).flatten().tolist():
                longer[(*key, token)] = known[key] * float(row[token])
        known = longer
    return known


def _chi_square(counts: Counter, exact: dict, draws: int) -> tuple[float, int]:
    """Statistic and degrees of freedom; cells that expect fewer than 8 draws are pooled."""
    cells = [(counts[key], draws * p) for key, p in exact.items() if draws * p >= 8]
    rest = draws - sum(seen for seen, _ in cells), draws - sum(wanted for _, wanted in cells)
    cells.append(rest)
    return sum((seen - wanted) ** 2 / max(wanted, 1e-9) for seen, wanted in cells), len(cells) - 1


def _limit(freedom: int) -> float:
    """Five standard deviations above the mean of chi square: exceeded by chance in far less than 0.1 % of runs."""
    return freedom + 5 * (2 * freedom) ** 0.5 + 5


def test_distribution_is_the_targets(target, reference):
    """Joint distribution of the first tokens over many seeds, with memories warm enough that drafts are accepted."""
    loaded, side = target("llava"), reference("llava")
    temperature, draws = 0.7, 1500
    prompt = loaded.prompt("Why?", []).ids
    drafter = recap.drafter("recap")
    recap.generate(loaded, "Why?", max_new_tokens=60, drafter=drafter)
    session = recap.Session(loaded, config=FIXED)
    session.use(drafter)
    messages = [{"role": "user", "content": "Why?"}]
    triples: Counter = Counter()
    accepted = 0
    for seed in range(draws):
        answer = recap.generate(
            loaded, messages, session=session, temperature=temperature, seed=seed, max_new_tokens=3
        )
        triples[tuple(answer.token_ids)] += 1
        accepted += sum(len(step.accepted_nodes) for step in answer.trace.steps)
    assert accepted > draws / 3, "drafts must take part in what is tested"
    ids = torch.from_numpy(prompt)[None]
    for length in (2, 3):
        seen: Counter = Counter()
        for key, count in triples.items():
            seen[key[:length]] += count
        statistic, freedom = _chi_square(seen, _exact(side, ids, temperature, length), draws)
        assert freedom >= 8
        assert statistic < _limit(freedom), (length, statistic, freedom)
        statistic, freedom = _chi_square(seen, _exact(side, ids, 1.3 * temperature, length), draws)
        assert statistic > _limit(freedom), "these draws could not tell one temperature from another"


def test_random_numbers_are_uniform_enough():
    """The draw itself, without a model: every token of a known softmax, the edges of [0, 1) included."""
    from recap.choosing import draw

    logits = torch.tensor([0.0, -np.inf, 1.0, 2.0, -np.inf], dtype=torch.float64)
    exact = torch.softmax(logits, 0).numpy()
    numbers = (np.arange(20000) + 0.5) / 20000
    counts = np.bincount([draw(logits, number) for number in numbers], minlength=5) / 20000
    np.testing.assert_allclose(counts, exact, atol=1e-4)
    assert draw(logits, 0.0) == 0 and draw(logits, 1 - 2**-53) == 3
    assert draw(torch.tensor([-np.inf, 3.0]), 0.0) == 1
