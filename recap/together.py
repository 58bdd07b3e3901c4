"""One pass for several answers: each has its own cache, memories and budget, and the weights are read once for all.

A token's logits are the same bits in a pass of any size where the target `packs`, so every answer stays the one that it
would be alone, whoever shares its passes.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from time import perf_counter

from .generation import Stream
from .targets.base import Target
from .targets.predictions import Predictions
from .targets.trees import PackedTree
from .trace import Step

log = logging.getLogger(__name__)


def advance(target: Target, streams: Sequence[Stream]) -> list[tuple[Step | Exception, float]]:
    """A step of every stream, all of them `writing` on this target, in one pass. For each: its step, or what ended it, and
    the seconds that were its own. The pass is shared out by nodes. What is wrong with one ends that one alone.

    Budgets know of each other: the nodes of those that proposed before, and a root of everyone who comes after.
    """
    outcomes: list[tuple[Step | Exception, float]] = [(RuntimeError("not asked yet"), 0.0)] * len(streams)
    trees: dict[int, PackedTree] = {}
    nodes = 0
    for at, stream in enumerate(streams):
        clock = perf_counter()
        try:
            trees[at] = stream.propose(nodes + len(streams) - at - 1)
            nodes += len(trees[at].tokens)
            outcomes[at] = outcomes[at][0], perf_counter() - clock
        except Exception as error:
            outcomes[at] = error, perf_counter() - clock
    clock = perf_counter()
    try:
        found: list[Predictions | None] = list(target.verify_all(list(trees.values()))) if trees else []
    except Exception as error:  # one of them at least cannot be verified: each by itself tells which
        log.warning("a shared pass failed: %s", type(error).__name__)
        found = [None] * len(trees)
    whole = perf_counter() - clock
    for (at, tree), predictions in zip(trees.items(), found):
        stream, share = streams[at], whole * len(tree.tokens) / nodes
        clock = perf_counter()
        try:
            if predictions is None:
                predictions = target.verify(*tree)
                share += perf_counter() - clock
                clock = perf_counter()
            step: Step | Exception = stream.conclude(predictions, share)
        except Exception as error:
            stream.close()
            step = error
        outcomes[at] = step, outcomes[at][1] + share + perf_counter() - clock
    return outcomes
