"""The Python twin of the C core: the same drafts, written to be read (engine.h)."""

from __future__ import annotations

import sys

import numpy as np

from ..config import FUSIONS, SUFFIX_REACH
from .arguments import token_list
from .draft import Draft, Explanation
from .reference_base import Rows, make_base
from .reference_rows import Fused, Row, confidence_of, float32, fuse, fuse_spare, make_rows
from .reference_suffix import Suffix
from .reference_tree import Tree

_ORDERS = (3, 2, 1)
"""Tokens in a key of G, C, U."""


class Core:
    """Settings as in `compiled.Core`. The door checks shapes and the order of calls."""

    backend = "python"
    make_base = staticmethod(make_base)

    def __init__(
        self, top_k, width, max_depth, fusion, kept, persistent, suffix, fixed, priors, depth_priors,
        base: Rows | None = None,
    ) -> None:  # fmt: skip
        self.top_k, self.width, self.max_depth = top_k, width, max_depth
        self.rule, self.kept, self.persistent = FUSIONS[fusion], kept, persistent
        self.use_suffix, self.fixed = suffix, fixed
        self.priors, self.depth_priors = priors, depth_priors
        self.base: Rows = {} if base is None else base
        self.reset()

    def reset(self) -> None:
        self.memories: list[dict[tuple[int, ...], Row]] = [{}, {}, {}]
        self._new_request([], frozenset())

    def begin(self, prompt_ids: np.ndarray, banned: np.ndarray) -> None:
        prompt, refused = token_list("prompt_ids", prompt_ids), frozenset(token_list("banned", banned))
        self.memories = [{}, {}, self.memories[2] if self.persistent else {}]
        self._new_request(prompt, refused)

    def _new_request(self, prompt: list[int], banned: frozenset[int]) -> None:
        self.banned = banned
        self.seeded: set[int] = set()
        self.text: list[int] = []
        self.suffix = Suffix()
        self.tree: Tree | None = None
        self.offered: tuple[list[int], int] = ([], 0)
        self._append(prompt)

    def _append(self, tokens: list[int]) -> None:
        self.text += tokens
        if self.use_suffix:
            for token in tokens:
                if token in self.banned:
                    self.suffix.append_break()
                else:
                    self.suffix.append(token)

    def seed(self, token_ids: np.ndarray, ids: np.ndarray, logits: np.ndarray) -> None:
        tokens, rows = token_list("token_ids", token_ids), make_rows(ids, logits)
        for token, row in zip(tokens, rows):
            if token not in self.seeded:
                self.seeded.add(token)
                self.memories[2][token,] = row

    def commit(self, token_ids: np.ndarray) -> None:
        self._append(token_list("token_ids", token_ids))
        self.tree = None
        self.offered = ([], 0)

    def offer(self, path: np.ndarray, match: int) -> None:
        """What followed in another text whose end agrees with the last `match` tokens: a draft takes it for its suffix path
        if no longer match is in this text. It holds until the next commit."""
        self.offered = (token_list("path", path), match)

    def draft(
        self, max_nodes: int, suffix_tokens: int, ids: np.ndarray | None = None, logits: np.ndarray | None = None,
        spare: int = 0,
    ) -> Draft:  # fmt: skip
        """`ids`, `logits`, (spare, K) each: rows for a root that no memory knows (appendix H)."""
        settings = (self.width, self.max_depth, self.depth_priors, self.banned)
        rows = fuse_spare(make_rows(ids, logits), self.priors, self.top_k) if spare else None
        tree = Tree(tuple(self.text[-3:]), self._fuse, settings, rows)
        if self.fixed:
            tree.fixed(max_nodes)
        else:
            tree.best_first(max_nodes)
        start, matched = self.suffix.match() if self.use_suffix and suffix_tokens else (-1, 0)
        path = self.text[start : start + SUFFIX_REACH] if start >= 0 else []
        if self.use_suffix and suffix_tokens and self.offered[0] and self.offered[1] > matched:
            path, matched = self.offered
        tree.add_suffix(path, suffix_tokens)
        self.tree = tree
        return tree.pack(matched)

    def observe(self, ids: np.ndarray, logits: np.ndarray) -> None:
        rows = make_rows(ids, logits)
        # Backwards: of equal keys the first node's row stays.
        for context, row in zip(reversed(self.tree.contexts), reversed(rows)):
            for memory, order in list(zip(self.memories, _ORDERS))[3 - self.kept :]:
                if len(context) >= order:
                    memory[context[-order:]] = row

    def explain(self) -> Explanation:
        table: list[Row] = []
        rows, fused_rows = [], []

        def place(row: Row | None) -> int:
            if row is None:
                return -1
            table.append(row)
            return len(table) - 1

        for context in self.tree.contexts:
            rows.append([place(row) for row in self._rows(context)])
            fused = self._fuse(context)
            row = None
            if fused.candidates:
                probs = float32([fused.probability(rank) for rank in range(len(fused.candidates))])
                row = Row(tuple(token for _, token, _ in fused.candidates), tuple(probs), confidence_of(probs))
            fused_rows.append(place(row))
        shape = (len(table), self.top_k)
        return Explanation(
            np.array(rows, np.int32),
            np.array(fused_rows, np.int32),
            np.array([row.ids for row in table], np.int32).reshape(shape),
            np.array([row.probs for row in table], np.float32).reshape(shape),
            np.array([row.confidence for row in table], np.float32),
        )

    def lookup(self, context: np.ndarray) -> list[tuple[np.ndarray, np.ndarray] | None]:
        found = self._rows(tuple(token_list("context", context)))
        return [row and (np.array(row.ids, np.int64), np.array(row.probs, np.float32)) for row in found]

    def fuse(self, context: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[float | None]]:
        fused = self._fuse(tuple(token_list("context", context)))
        ids = [token for _, token, _ in fused.candidates]
        probs = [fused.probability(rank) for rank in range(len(ids))]
        return np.array(ids, np.int64), np.array(probs, np.float64), fused.weights

    def stats(self) -> dict[str, int]:
        g, c, u = (len(memory) for memory in self.memories)
        numbers = 28 * self.top_k + 24 * (self.top_k + 1)
        row = sys.getsizeof(Row((), (), 0.0)) + 2 * sys.getsizeof((0,) * self.top_k) + numbers
        keys = sum(len(memory) * sys.getsizeof((0,) * order) for memory, order in zip(self.memories, _ORDERS))
        tables = sum(sys.getsizeof(memory) for memory in self.memories) + sys.getsizeof(self.seeded)
        text = sys.getsizeof(self.text) + 28 * len(self.text) + sys.getsizeof(self.banned)
        return {"U": u, "C": c, "G": g, "bytes": (g + c + u) * row + keys + tables + text + self.suffix.bytes()}

    def from_base(self, context: np.ndarray) -> bool:
        key = tuple(token_list("context", context)[-1:])
        return key in self.base and key not in self.memories[2]

    def export(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        u, shape = self.memories[2], (len(self.memories[2]), self.top_k)
        ids = np.array([row.ids for row in u.values()], np.int32).reshape(shape)
        probs = np.array([row.probs for row in u.values()], np.float32).reshape(shape)
        return np.array([token for token, in u], np.int32), ids, probs

    def _rows(self, context: tuple[int, ...]) -> list[Row | None]:
        """G, C, U; None where there is no row, the context is too short, or the memory is not kept."""
        found = [
            memory.get(context[-order:]) if order <= min(self.kept, len(context)) else None
            for memory, order in zip(self.memories, _ORDERS)
        ]
        return found if found[2] is not None else [*found[:2], self.base.get(context[-1:])]

    def _fuse(self, context: tuple[int, ...]) -> Fused:
        return fuse(self._rows(context), self.rule, self.priors, self.top_k)
