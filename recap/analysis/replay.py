"""One continuation, state by state, through drafters whose memories hold the rows of earlier states alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..config import RecapConfig
from ..drafter import Draft, Drafter
from .continuation import Continuation


def follow(one: Continuation, drafters: Sequence[Drafter], seeded: bool) -> Iterator[int]:
    """Yields each state's number before its row is stored: ask the drafters then.

    `seeded`: U starts with the prompt's rows; else all memories start empty. C and G start empty either way; whether U
    keeps what earlier continuations left is up to each drafter's `persistent`.
    """
    for drafter in drafters:
        drafter.begin(one.prompt[:-1], one.banned)
        if seeded:
            drafter.seed(one.seed_tokens, one.seed_ids, one.seed_logits)
        drafter.commit(one.prompt[-1:])
    for state in range(len(one)):
        yield state
        for drafter in drafters:
            drafter.draft(0, 0)
            drafter.observe(one.ids[state : state + 1], one.logits[state : state + 1])
            drafter.commit(one.tokens[state : state + 1])


def drafter(config: RecapConfig, one: Continuation | None = None) -> Drafter:
    """A drafter for replay: U starts anew with every continuation."""
    top_k = config.top_k if one is None else one.ids.shape[1]
    return Drafter(config.replace(top_k=top_k, width=min(config.width, top_k), persistent=False))


def matched(draft: Draft, reference: Sequence[int], nodes: int | None = None) -> int:
    """Matched continuation length: tokens of the longest path from the root, which is not counted, that agrees with the
    reference; no correction token. `nodes`: only the first so many candidates (a smaller tree is a prefix)."""
    last = len(draft) if nodes is None else nodes + 1
    child = {key: node for node, key in enumerate(zip(draft.parents.tolist()[:last], draft.tokens.tolist()[:last]))}
    at = length = 0
    for token in reference:
        at = child.get((at, token), -1)
        if at < 0:
            break
        length += 1
    return length
