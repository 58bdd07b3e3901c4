"""How many nodes a pass gets: those whose chance of being accepted is worth the time they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..drafter import Draft

_CERTAIN = 0.98
"""The chance that any of a node's children is accepted is never taken to be more."""


class Choice(NamedTuple):
    """The budget of one pass, and what was expected of it."""

    max_nodes: int
    suffix_tokens: int
    expected_tokens: float | None = None
    """Tokens that the pass is expected to commit, the bonus token included; None where nobody asked."""
    expected_ms: float | None = None
    """What it is expected to take; of a pass that is shared, this answer's share."""
    plain_ms: float | None = None
    """What a pass over the root alone would be expected to take."""


def suffix_path(draft: Draft, alone: Draft | None = None) -> list[int]:
    """Nodes of the suffix path in a draft with room for all of it, root left out, by rising depth.

    `alone`: the same without memory nodes, needed where the memories proposed the whole path themselves.
    """
    if draft.suffix_start < len(draft):
        path, node = [], len(draft) - 1
        while node > 0:
            path.append(node)
            node = int(draft.parents[node])
        return path[::-1]
    if alone is None:
        return []
    child = {key: node for node, key in enumerate(zip(draft.parents.tolist(), draft.tokens.tolist()))}
    path = [0]
    for token in alone.tokens[1:].tolist():
        path.append(child[path[-1], token])
    return path[1:]


def reach(draft: Draft, chances: np.ndarray, useful_depth: int) -> np.ndarray:
    """Chance that the accepted path comes through a node, (n,): the product of `chances` (n,) down to it, 0 for nodes so
    deep that the answer ends before them. Of the children of a node one at most is accepted: where their chances add up
    to more, all of them are lowered."""
    below = draft.parents[1:]
    together = np.bincount(below, chances[1:], minlength=len(chances))
    single = (chances[1:] / np.maximum(together[below] / _CERTAIN, 1.0)).tolist()
    parents, product = below.tolist(), [1.0]
    for parent, chance in zip(parents, single):
        product.append(product[parent] * chance)
    return np.where(draft.depths <= useful_depth, product, 0.0)


def choose(
    reached: np.ndarray, memory: int, path: Sequence[int], costs: np.ndarray, rate: float, limits: tuple[int, int]
) -> tuple[int, int, float]:
    """Memory nodes, suffix nodes, and the tokens that a pass over them is expected to commit.

    `reached` (n,) for the nodes of a full draft of which the first 1 + `memory` are the root and memory nodes; `path`: the
    suffix path; `costs` (c,): milliseconds of passes of 1 ... c nodes; `rate`: tokens per millisecond that time is worth
    otherwise; `limits`: the most memory nodes, and the most nodes in all. Every prefix of the memory nodes is a tree, and
    the suffix path may follow any of them for any part of its length. Of equal choices the smaller one is taken.
    """
    most, in_all = min(memory, limits[0]), min(limits[1], len(costs) - 1)
    if not path:
        hoped = np.cumsum(reached[: min(most, in_all) + 1])
        value = hoped - rate * costs[: len(hoped)]
        at = int(np.argmax(value >= value.max() - 1e-12))
        return at, 0, float(hoped[at])
    kept = np.arange(most + 1)
    expected = np.cumsum(reached[: most + 1])[:, None]
    places = np.array(path, dtype=np.int64)
    missing = places[None, :] > kept[:, None]  # nodes of the path that this many memory nodes do not hold
    extra = np.concatenate([np.zeros((most + 1, 1), dtype=np.int64), np.cumsum(missing, axis=1)], axis=1)
    gain = np.concatenate([np.zeros((most + 1, 1)), np.cumsum(missing * reached[places], axis=1)], axis=1)
    nodes = kept[:, None] + extra
    value = expected + gain - rate * costs[np.minimum(nodes, in_all)]
    value[nodes > in_all] = -np.inf
    best = np.flatnonzero(value >= value.max() - 1e-12)
    at = best[np.argmin(nodes.ravel()[best])]
    m, r = divmod(int(at), extra.shape[1])
    return m, int(extra[m, r]), float(expected[m, 0] + gain[m, r])
