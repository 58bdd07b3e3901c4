"""Several answers in one pass: each is the one that it would be alone, and only the weights are shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import recap
from recap.targets.cpu import available
from recap.together import advance
from recap.trace import Step

QUESTIONS = (
    "Count from one to twelve in words.", "Name three colours, then name them again.", "Why is the sky blue?",
    "Repeat after me: red, green, red, green, red, green.",
)  # fmt: skip
PAPER = recap.RecapConfig(budget="paper", max_nodes=7)
AUTO = recap.RecapConfig(budget="auto")
ASKED = (
    dict(method="recap", config=PAPER), dict(method="recap", config=AUTO), dict(method="ar"),
    dict(method="suffix_decoding", config=PAPER), dict(method="recap", config=PAPER, temperature=0.8, seed=5),
    dict(method="pld", config=PAPER),
)  # fmt: skip
"""Who may meet in a pass: memories of 8 predictions and none, trees and single nodes, greedy and drawn."""


@pytest.fixture(scope="module")
def builtin() -> Any:
    return recap.load_target("builtin", threads=2)


@pytest.fixture
def opened(target: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    streams = []

    def begin(where: Any, question: str, tokens: int = 24, **how: Any) -> Any:
        streams.append(one := recap.stream(where, question, max_new_tokens=tokens, **how))
        one.prefill()
        return one

    yield begin
    for one in streams:
        one.close()


def finish(where: Any, streams: list[Any]) -> int:
    """Passes until all have ended, everyone who is left taking part in each."""
    passes = 0
    while some := [one for one in streams if one.writing]:
        assert all(isinstance(step, Step) and spent > 0 for step, spent in advance(where, some))
        passes += 1
    return passes


def shown(trace: recap.Trace) -> list[Any]:
    """What a trace says but for clocks."""
    drafts = [(step.tokens, step.parents, step.committed, step.sizes) for step in trace.steps]
    return [trace.token_ids, trace.text, trace.finish_reason, trace.table.rows, drafts]


@pytest.mark.skipif(not available(), reason="the C extension of the passes is not built")
def test_answers_that_share_their_passes_are_those_of_alone(builtin: Any, opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert builtin.packs
    asked = [(QUESTIONS[at % len(QUESTIONS)], 20 + 3 * at, how) for at, how in enumerate(ASKED)]
    alone = [recap.generate(builtin, question, max_new_tokens=tokens, **how).trace for question, tokens, how in asked]
    streams = [opened(builtin, question, tokens, **how) for question, tokens, how in asked]
    sizes: list[int] = []
    run = builtin.runtime.network.run
    monkeypatch.setattr(builtin.runtime.network, "run", lambda trees: sizes.append(len(trees)) or run(trees))
    passes = finish(builtin, streams)
    assert len(sizes) == passes and sizes[0] == len(ASKED) and sum(sizes) == sum(len(one.trace.steps) for one in streams)
    for one, trace, how in zip(streams, alone, ASKED):
        assert (one.trace.token_ids, one.trace.finish_reason) == (trace.token_ids, trace.finish_reason)
        if how.get("config") is PAPER:
            assert shown(one.trace) == shown(trace)
        clocks = sum(step.draft_ms + step.verify_ms + step.update_ms for step in one.trace.steps)
        assert 0 < clocks <= 1000 * one.trace.decode_seconds


def test_a_target_that_cannot_pack_verifies_one_after_the_other(target: Any, opened: Any) -> None:
    one = target("llava")
    assert not one.packs
    streams = [opened(one, question, config=PAPER) for question in QUESTIONS]
    finish(one, streams)
    for stream, question in zip(streams, QUESTIONS):
        assert shown(stream.trace) == shown(recap.generate(one, question, max_new_tokens=24, config=PAPER).trace)


@pytest.mark.parametrize("where", ["propose", "verify", "conclude"])
def test_what_is_wrong_with_one_ends_that_one_alone(target: Any, opened: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = target("llava")
    broken, whole = (opened(one, question, config=PAPER) for question in QUESTIONS[:2])
    spoilt = broken._decoding

    def fail(*_: Any) -> None:
        raise MemoryError("no room")

    if where == "propose":
        monkeypatch.setattr(spoilt.budget, "draft", fail)
    elif where == "conclude":
        monkeypatch.setattr(spoilt, "_commit", fail)
    else:
        verify, cache = one.verify, spoilt.cache
        monkeypatch.setattr(one, "verify", lambda *tree: fail() if tree[3] is cache else verify(*tree))
    (mistake, _), (step, _) = advance(one, [broken, whole])
    assert isinstance(mistake, MemoryError) and isinstance(step, Step)
    assert not broken.writing and broken.trace.finish_reason == "cancelled"
    monkeypatch.undo()
    finish(one, [whole])
    assert shown(whole.trace) == shown(recap.generate(one, QUESTIONS[1], max_new_tokens=24, config=PAPER).trace)


def test_nobody_is_no_pass(target: Any) -> None:
    assert advance(target("llava"), []) == []
