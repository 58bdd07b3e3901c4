"""The budget that knows its costs: per pass, the nodes that bring the most tokens per second on this machine."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..config import SUFFIX_REACH
from ..drafter import Draft
from ..methods.base import Proposer
from .acceptance import Acceptance, kinds
from .choice import Choice, choose, reach, suffix_path
from .learned import Learned
from .seeding import Seeding

_FADE = 0.97
"""Weight of a pass in the rate of decoding, relative to the pass after it."""
_AMPLE = 16
_FIRST_PASSES = 8.0
"""How many passes of plain decoding the first estimate of the rate is worth."""


class Auto:
    """Chooses the draft of every pass. One per conversation; what it learns of the model goes to `learned` as well.

    The proposer drafts as much as it may; a table of chances says what each node is worth, the costs of passes what it
    takes. Time is worth what it usually brings: a node is kept if the tokens expected of it exceed its milliseconds times
    the tokens per millisecond of the answer so far. `max_nodes` and `suffix_tokens` are limits: together they bound the
    nodes of a pass, and a long match may take up to 10 of these for the suffix path unless `suffix_tokens` is 0. RECAP's suffix
    path may come from earlier answers of the session.
    Decisions depend on what was measured and proposed alone, never on chance. `shared`: whether what earlier answers
    taught of the chances is used, and added to. `ends`: tokens behind which no answer goes on, and no draft needs to.
    """

    def __init__(
        self, learned: Learned, max_nodes: int, suffix_tokens: int, shared: bool = True, ends: Collection[int] = ()
    ) -> None:
        self.limit(max_nodes, suffix_tokens)
        self._ends = np.array(sorted(ends), dtype=np.int64)
        self._learned = learned
        self._acceptance = Acceptance(learned.acceptance if shared else None)
        self._seeding = Seeding()
        self._tokens = self._ms = 0.0
        self._ample = _AMPLE
        """Memory nodes drafted to choose from: about twice what was wanted lately, more if all of them are."""
        self._draft: Draft | None = None
        self._company = 0
        """Nodes of other answers in the pass that is running."""
        self._kinds = np.empty(0, dtype=np.int64)
        self._nodes = (1, 0)
        """Nodes of the pass that is running, and its prefix."""

    def limit(self, max_nodes: int, suffix_tokens: int) -> None:
        """Other limits from the next pass on."""
        self._max_nodes = max_nodes
        self._suffix = SUFFIX_REACH if suffix_tokens else 0
        self._in_all = max_nodes + suffix_tokens

    def seeds(self, rows: int, room: int) -> int:
        """How many of the prompt's rows are worth evaluating for the memories, with `room` tokens to come at most."""
        return self._seeding.rows(rows, room, self._learned.seed_ms, self.rate)

    def seeded(self, tokens: np.ndarray, ms: float) -> None:
        """Rows of these tokens were evaluated, and this is what they took."""
        self._learned.learn_seeding(len(tokens), ms)
        self._seeding.begin(tokens.tolist())

    @property
    def rate(self) -> float:
        """Tokens per millisecond of the passes lately; at first that of plain decoding, in passes as large as this one."""
        nodes = 1 + self._company
        plain = self._learned.costs.ms(nodes, 0) / nodes
        return (self._tokens + _FIRST_PASSES) / (self._ms + _FIRST_PASSES * plain)

    def draft(self, proposer: Proposer, prefix: int, remaining: int, company: int = 0) -> tuple[Draft, Choice]:
        """The draft for the next pass, behind `prefix` tokens of cache and with `remaining` tokens to go. `company`: how many
        nodes of other answers the pass has besides; each further one then costs what it adds to such a pass."""
        self._company = company
        costs = self._learned.costs.curve(1 + company + self._in_all, prefix)[company:]
        if remaining < 2 or not self._in_all or not self._may_pay(costs):
            draft = proposer.draft(0, 0)
            chosen, expected = (0, 0), 1.0
            self._kinds = np.zeros(1, dtype=np.int64)
        else:
            draft, chosen, expected = self._chosen(proposer, costs, remaining)
        n = len(draft)
        self._draft, self._nodes = draft, (n, prefix)
        took, plain = float(costs[n - 1]) * n / (company + n), float(costs[0]) / (company + 1)  # shares, by nodes
        return draft, Choice(*chosen, expected, took, plain)

    def _may_pay(self, costs: np.ndarray) -> bool:
        """Whether any draft could be worth its time: if not even one of which every node is accepted is, none need be made."""
        nodes = np.arange(1, len(costs))
        return bool((nodes > self.rate * (costs[1:] - costs[0])).any())

    def _chosen(
        self, proposer: Proposer, costs: np.ndarray, remaining: int
    ) -> tuple[Draft, tuple[int, int], float]:
        """The draft of which all is worth its time, its memory and suffix nodes, and the tokens expected of it."""
        more = {"earlier": True} if getattr(proposer, "remembers", False) else {}
        most = min(self._ample, self._max_nodes)
        while True:
            full = proposer.draft(most, self._suffix, **more)
            whole = full.suffix_match > 0 and full.suffix_start == len(full)
            path = suffix_path(full, proposer.draft(0, self._suffix, **more) if whole else None)
            kind = kinds(full, path)
            chances = self._acceptance.chances()[kind]
            chances[1:][np.isin(full.tokens[full.parents[1:]], self._ends)] = 0.0
            reached = reach(full, chances, remaining - 1)
            memory = full.suffix_start - 1
            nodes, extra, expected = choose(reached, memory, path, costs, self.rate, (most, self._in_all))
            if nodes < most or most == self._max_nodes:
                break
            most = min(4 * most, self._max_nodes)
        self._ample = max(_AMPLE, 2 * nodes, self._ample - 1)
        self._kinds = kind[[*range(nodes + 1), *[node for node in path if node > nodes][:extra]]]
        as_it_is = (nodes, extra) == (memory, len(full) - full.suffix_start) and not whole  # and made last
        return full if as_it_is else proposer.draft(nodes, extra, **more), (nodes, extra), expected

    def learn(self, path: list[int], committed: int, ms: float) -> None:
        """The pass is over: nodes of the accepted path, root first, tokens committed, and what all of it took."""
        draft, inner = self._draft, set(path)
        tried = np.array([node for node, parent in enumerate(draft.parents.tolist()) if parent in inner], dtype=np.int64)
        self._acceptance.learn(self._kinds[tried], self._kinds[path[1:]])
        if not self._company:  # else this is a share of what a larger pass took
            self._learned.costs.learn(*self._nodes, ms)
        self._seeding.passed(draft, path, committed)
        self._tokens = _FADE * self._tokens + committed
        self._ms = _FADE * self._ms + ms

    def close(self) -> None:
        """The answer has ended."""
        self._company = 0
        self._seeding.end()
        self._learned.save()
