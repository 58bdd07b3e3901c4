"""How likely a candidate is to be accepted once its parent was, learned from every pass that runs.

Candidates of a kind share one estimate. The kinds follow what was seen to matter: how much of its parent's score a node
has, the longest key under which its parent was known, its depth, whether the suffix path goes another way there; and on
the suffix path, how many tokens back the texts agree and whether the memories propose the same token.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..drafter import Draft

_SOURCES = 4
"""The longest key that knew the parent: G, C, U, or none that the proposer tells."""
_RATIOS = 8
"""Node's score over its parent's: 1/2 and more, 1/4, ..., 1/128, less."""
_DEPTHS = 3
"""1, 2, deeper."""
_MEMORY_KINDS = _SOURCES * _RATIOS * _DEPTHS * 2
_MATCHES = (1, 2, 3, 4, 6, 9, 15)
"""Upper ends of the groups of match lengths; the last group is open."""
_LEVELS = (0.0, 0.1, 0.3)
"""A node of the suffix path: not proposed by memories, or with a ratio up to 0.1, up to 0.3, above."""
KINDS = _MEMORY_KINDS + (len(_MATCHES) + 1) * (len(_LEVELS) + 1)

_PRIOR_WEIGHT = 6.0
"""How many candidates seen the prior is worth."""
_HISTORY_WEIGHT = 24.0
"""How many candidates seen what earlier answers taught is worth, at most."""
_HISTORY_MEMORY = 400.0
"""Candidates remembered per kind: older ones fade."""


def kinds(draft: Draft, path: Sequence[int]) -> np.ndarray:
    """The kind of every node, (n,) int; the root's has no meaning. `path`: nodes of the suffix path, root left out."""
    above, scores, known = draft.parents, draft.scores, draft.weights > 0
    ratio = np.maximum(scores / np.maximum(scores[above], 1e-300), 1e-9)  # the root, "above" itself -1, does not matter
    halvings = np.minimum(-np.minimum(np.frexp(ratio)[1], 0), _RATIOS - 1)
    source = np.where(known.any(axis=1), known.argmax(axis=1), _SOURCES - 1)
    depth = np.minimum(draft.depths, _DEPTHS) - 1
    found = ((source * _RATIOS + halvings) * _DEPTHS + depth) * 2
    if len(path):
        rival = np.zeros(len(above), dtype=np.int64)
        rival[[0, *path[:-1]]] = 1
        found += rival[above]
        for matched, node in enumerate(path, start=draft.suffix_match):
            level = bisect_left(_LEVELS, ratio[node]) if node < draft.suffix_start else 0
            found[node] = _MEMORY_KINDS + bisect_left(_MATCHES, matched) * (len(_LEVELS) + 1) + level
    return found


def _prior() -> np.ndarray:
    """Before anything was seen: the ratio itself, which the paper's depth priors make a probability, more where a long
    key knows the parent and less where the suffix path goes elsewhere; on the suffix path, more for longer matches."""
    mean = np.empty(KINDS)
    ratio = 0.7 * 0.5 ** np.arange(_RATIOS)
    for source, trust in enumerate((1.4, 1.4, 0.8, 0.9)):
        off_path = np.minimum(trust * ratio, 0.85)
        table = mean[:_MEMORY_KINDS].reshape(_SOURCES, _RATIOS, _DEPTHS, 2)[source]
        table[..., 0], table[..., 1] = off_path[:, None], 0.6 * off_path[:, None]
    alone = np.array([0.05, 0.25, 0.35, 0.40, 0.50, 0.65, 0.80, 0.90])
    proposed = np.array([0.0, 0.2, 0.35, 0.65])
    mean[_MEMORY_KINDS:] = (1.0 - np.outer(1.0 - alone, 1.0 - proposed)).ravel()
    return mean


class Acceptance:
    """Counts per kind, and the chances they imply. `history` is what earlier answers taught, shared and updated too."""

    def __init__(self, history: Acceptance | None = None) -> None:
        self._history = history
        self._seen = np.zeros(KINDS)
        self._accepted = np.zeros(KINDS)
        self._prior = _prior() if history is None else None

    def chances(self) -> np.ndarray:
        """Chance of acceptance per kind, given that the parent was accepted, (KINDS,)."""
        if self._history is None:
            mean, weight = self._prior, _PRIOR_WEIGHT
        else:
            mean = self._history.chances()
            weight = np.minimum(self._history._seen + _PRIOR_WEIGHT, _HISTORY_WEIGHT)
        return (self._accepted + weight * mean) / (self._seen + weight)

    def learn(self, seen: np.ndarray, accepted: np.ndarray) -> None:
        """Kinds (integers) of the candidates whose parent was accepted, and of those among them that were accepted too."""
        seen, accepted = (np.asarray(given, dtype=np.int64).tolist() for given in (seen, accepted))
        self._learn(seen, accepted)
        if self._history is not None:
            self._history._learn(seen, accepted)

    def _learn(self, seen: list[int], accepted: list[int]) -> None:
        for kind in seen:  # a handful: cheaper one by one than as arrays over all kinds
            self._seen[kind] += 1.0
        for kind in accepted:
            self._accepted[kind] += 1.0
        if self._history is None:
            for kind in seen:
                fading = min(_HISTORY_MEMORY / self._seen[kind], 1.0)
                self._seen[kind] *= fading
                self._accepted[kind] *= fading

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"seen": self._seen.tolist(), "accepted": self._accepted.tolist()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Acceptance:
        """The inverse of `to_dict`. Raises ValueError for anything that is no such thing."""
        table = cls()
        try:
            seen, accepted = (np.array(values[name], dtype=np.float64) for name in ("seen", "accepted"))
        except (KeyError, TypeError) as error:
            raise ValueError(f"these are no counts of candidates: {error}") from None
        if seen.shape != (KINDS,) or accepted.shape != (KINDS,) or not (0 <= accepted).all() or not (
            (accepted <= seen).all() and (seen <= _HISTORY_MEMORY).all()
        ):
            raise ValueError("these are no counts of candidates")
        table._seen, table._accepted = seen, accepted
        return table
