"""The decoding loop: prefill, then draft, verify, accept, observe until the answer ends.

Every method runs through this one loop; they differ in the proposer alone (section 3.5). The loop keeps the answer
lossless by construction: a token is committed only if the target itself chose it at its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import torch

from .budget import Budget, Choice
from .choosing import Chooser
from .drafter import Draft
from .methods.base import Proposer
from .recording import record
from .targets.base import Target
from .targets.predictions import Predictions
from .targets.prompt import Prompt
from .targets.trees import PackedTree
from .trace import Step, Trace

if TYPE_CHECKING:
    from .targets.cache import PackedCache

_SEED_ROWS = 256
"""Prompt rows whose logits are held at once while seeding."""

Stop = Callable[[int], str | None]
"""Called with every committed token, in order; a finish reason ends the answer with that token."""


@dataclass
class Decoding:
    """One answer in the making. `start` prompt tokens are in the cache already."""

    target: Target
    proposer: Proposer
    chooser: Chooser
    prompt: Prompt
    start: int
    cache: PackedCache
    trace: Trace
    budget: Budget
    """Decides what is seeded and how many nodes a pass gets."""
    stop: Stop
    remaining: int
    """Tokens that may still be committed."""
    tokens: list[int] = field(default_factory=list)
    """Committed so far."""
    finish_reason: str | None = None
    _proposed: tuple[Draft, Choice, float] | None = None
    """What the pass that is under way verifies, and the milliseconds that drafting it took."""

    def reading(self) -> Iterator[None]:
        """Evaluate the rest of the prompt, seed the memories from it and commit the first token.

        Yields after every part of a long prompt; there the work may be left off, and so is the answer.
        """
        self.proposer.begin(self.prompt.ids, self.target.banned)
        parts = []
        for part in self.target.prefill(self.prompt, self.start, self.cache):
            parts.append(part)
            yield
        hidden = torch.cat(parts) if len(parts) > 1 else parts[0]
        last = self.target.predict(hidden[-1:])
        self.chooser.read(last, None)
        if self.proposer.seeds:
            self._seed(hidden)
        if self._wants_states:
            self.proposer.arrive(last.states[0])
        self._commit([self.chooser.at(0)])

    def prefill(self) -> None:
        """All of `reading` at once."""
        for _ in self.reading():
            pass

    def _seed(self, hidden: torch.Tensor) -> None:
        """Rows of the first occurrences among the tokens evaluated now; a picture's placeholders are not eligible."""
        fresh = self.prompt.ids[self.start :]
        eligible = np.nonzero(~np.isin(fresh, self.target.banned))[0]
        _, first = np.unique(fresh[eligible], return_index=True)
        count = self.budget.seeds(len(first), self.remaining)
        positions = np.sort(eligible[first])[len(first) - count :]
        self.trace.seeded_rows = count
        clock = perf_counter()
        for begin in range(0, len(positions), _SEED_ROWS):
            chunk = positions[begin : begin + _SEED_ROWS]
            rows = self.target.predict(hidden[chunk]).top(self.proposer.top_k)
            if self._wants_states:
                # of what the cache held already nothing is known: no state, no likeness
                before = hidden[np.maximum(chunk - 1, 0)].float().cpu().numpy() * (chunk > 0)[:, None]
                self.proposer.seed(fresh[chunk], *rows, before)
            else:
                self.proposer.seed(fresh[chunk], *rows)
        self.budget.seeded(fresh[positions], 1000.0 * (perf_counter() - clock))

    def steps(self) -> Iterator[Step]:
        """One pass per step until the answer ends. The prompt has to be read first."""
        while self.finish_reason is None:
            yield self._step()

    def _step(self) -> Step:
        tree = self.propose()
        clock = perf_counter()
        return self.conclude(self.target.verify(*tree), 1000.0 * (perf_counter() - clock))

    def propose(self, company: int = 0) -> PackedTree:
        """The first half of a step: what the next pass is to verify. `company`: nodes of other answers in that pass."""
        begun = perf_counter()
        draft, choice = self.budget.draft(self.proposer, self.cache.length, self.remaining, company)
        self._proposed = draft, choice, 1000.0 * (perf_counter() - begun)
        return PackedTree(draft.tokens, draft.depths, draft.mask, self.cache, self.prompt.rope_delta)

    def conclude(self, predictions: Predictions, pass_ms: float) -> Step:
        """The second half: what the target says of the proposed tree, in a pass of which `pass_ms` are this answer's."""
        draft, choice, draft_ms = self._proposed
        prefix_length = self.cache.length
        clock = [perf_counter()]
        rows = predictions.top(self.proposer.top_k) if self.proposer.top_k else None
        self.chooser.read(predictions, None if rows is None else rows[0][:, 0])
        path, committed = self._accept(draft)
        clock.append(perf_counter())
        explain = getattr(self.proposer, "explain", None)
        explanation = explain() if explain else None
        clock.append(perf_counter())
        self.cache.keep(path[: len(committed)])
        if rows is not None:
            self._observe(rows, predictions, path[len(committed) - 1])
        self._commit(committed)
        clock.append(perf_counter())
        reading_ms, _, update_ms = (1000.0 * (end - begin) for begin, end in zip(clock, clock[1:]))
        step = record(
            index=len(self.trace.steps), prefix_length=prefix_length, choice=choice, draft=draft,
            explanation=explanation, rows=rows, choices=self.chooser.choices(), path=path, committed=committed,
            milliseconds=(draft_ms, pass_ms + reading_ms, update_ms), sizes=self.proposer.stats(), table=self.trace.table,
            text_of=self.target.text_of,
        )
        self.budget.learn(path, len(committed), draft_ms + pass_ms + 1000.0 * (perf_counter() - clock[0]))
        return step

    def _observe(self, rows: tuple[np.ndarray, np.ndarray], predictions: Predictions, last: int) -> None:
        """`last`: the node at which the next root was chosen."""
        if not self._wants_states:
            self.proposer.observe(*rows)
            return
        states = predictions.states
        self.proposer.observe(*rows, states)
        self.proposer.arrive(states[last])

    @property
    def _wants_states(self) -> bool:
        return getattr(self.proposer, "wants_states", False)

    def _accept(self, draft: Draft) -> tuple[list[int], list[int]]:
        """Nodes of the accepted path, root first, and the tokens to commit: the path's and the target's next one."""
        child = {key: node for node, key in enumerate(zip(draft.parents.tolist(), draft.tokens.tolist()))}
        path, committed = [0], []
        while True:
            token = self.chooser.at(path[-1])
            committed.append(token)
            held = child.get((path[-1], token))
            if held is not None:
                path.append(held)
            self._end(token, len(committed))
            if self.finish_reason is not None or held is None:
                return path, committed

    def _end(self, token: int, ahead: int) -> None:
        if token in self.target.end_ids:
            self.finish_reason = "stop"
        elif (reason := self.stop(token)) is not None:
            self.finish_reason = reason
        elif ahead >= self.remaining:
            self.finish_reason = "length"

    def _commit(self, tokens: list[int]) -> None:
        if not self.tokens:
            self._end(tokens[0], 1)
        self.remaining -= len(tokens)
        self.tokens.extend(tokens)
        self.proposer.commit(tokens)
