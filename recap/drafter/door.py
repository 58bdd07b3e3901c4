"""`Drafter`: one door to both backends. It checks shapes and the order of calls; the core does the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from threading import Lock
from typing import Any

import numpy as np

from ..config import FUSIONS, MAX_NODES, SUFFIX_REACH, RecapConfig
from .arguments import integers, rows, whole_number
from .backends import load_core
from .base import Base
from .draft import Draft, Explanation
from .earlier import Earlier
from .fallback import Fallback

_WAITING, _PROMPT, _COMMITTED = "no request", "a prompt", "a root"


def _alone(method: Callable) -> Callable:
    """One thread at a time: a second one gets a RuntimeError instead of somebody else's tree."""

    @wraps(method)
    def guarded(self: Drafter, *args: Any, **kwargs: Any) -> Any:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("this Drafter is in use by another thread; give each thread its own")
        try:
            return method(self, *args, **kwargs)
        finally:
            self._lock.release()

    return guarded


class Drafter:
    """RECAP's memories and draft trees (sections 3.3 to 3.5).

    Order of calls: `begin`, any number of `seed`, `commit` (the token from prefill), then `draft`, `observe`, `commit`
    again and again. `begin` starts a new request at any time: C, G and the text are forgotten, U is kept.

    Token ids are whole numbers from 0 to 2**31 - 1. Every method raises TypeError or ValueError, naming the argument,
    for values of the wrong kind, shape or range, and then has changed nothing; RuntimeError for a call out of order or
    from a second thread at the same time; MemoryError when memory runs out, after which `begin` starts afresh.
    """

    backend: str
    """"c" or "python"."""
    config: RecapConfig
    base: Base | None
    """The shared rows behind U, if any. `begin`, `reset` and "persistent" are about the drafter's own rows alone."""
    seeds = True
    """Prompt rows are wanted: the decoding loop calls `seed`."""

    @property
    def remembers(self) -> bool:
        """Whether `draft` can be given earlier answers to take its suffix path from: U is kept, and there is a path."""
        return self._earlier is not None

    @property
    def wants_states(self) -> bool:
        """Whether `seed`, `observe` and `arrive` should be given the target's last hidden states (appendix H)."""
        return self.config.fallback == "semantic"

    @property
    def top_k(self) -> int:
        """Columns of the rows that `seed` and `observe` take."""
        return self.config.top_k

    def __init__(
        self, config: RecapConfig | None = None, backend: str = "auto", base: Base | None = None
    ) -> None:
        """`base`: rows of U to look up where this one's own U has none; shared with others and never written."""
        config = RecapConfig() if config is None else config
        if not isinstance(config, RecapConfig):
            raise TypeError(f"config must be a RecapConfig, not {type(config).__name__}")
        core = load_core(backend if base is None else base.backend_for(backend, config.top_k))
        self.config = config
        self.backend = core.backend
        self.base = base
        self._core = core(
            config.top_k,
            config.width,
            config.max_depth,
            FUSIONS.index(config.fusion),
            len(config.memories),
            config.persistent,
            config.suffix,
            config.search == "fixed",
            config.priors,
            config.depth_priors,
            None if base is None else base.handle,
        )
        self._fallback: Fallback | None = None
        if config.fallback != "none":
            self._fallback = Fallback(config.fallback, config.top_k, len(config.memories))
        self._earlier = Earlier() if config.persistent and config.suffix else None
        self._offered = False
        self._text: tuple[int, ...] = ()  # its last three tokens, for the fallback
        self._draft: Draft | None = None
        self._lock = Lock()
        self._stage = _WAITING
        self._nodes = 0  # of the draft that waits for its observe

    def __repr__(self) -> str:
        return f"<recap.Drafter backend={self.backend!r} with {self._stage}>"

    @_alone
    def begin(self, prompt_ids: Iterable[int], banned: Iterable[int] = ()) -> None:
        """Start a request. `prompt_ids` (m,): the prompt, placeholders expanded. `banned`: ids never drafted and never
        matched by the suffix path (placeholders, control tokens)."""
        prompt = integers("prompt_ids", prompt_ids, "(m,)", 1)
        refused = integers("banned", banned, "(b,)", 1)
        self._change(self._core.begin, prompt, refused)
        self._text = tuple(prompt[-3:].tolist())
        if self._earlier is not None:
            self._earlier.begin(prompt.tolist(), refused.tolist())
        self._offered = False
        if self._fallback:
            self._fallback.begin()
        self._stage, self._nodes = _PROMPT, 0

    @_alone
    def seed(
        self, token_ids: Iterable[int], ids: np.ndarray, logits: np.ndarray, states: np.ndarray | None = None
    ) -> None:
        """Write prefill rows to U, in prompt order and in as many chunks as wanted: `token_ids` (m,), `ids` (m, K)
        integers and `logits` (m, K) floats, the target's top-K after each token, columns in any order. Within a
        request the first row of a token wins; it replaces what earlier requests left. `states` (m, d) float32, for the
        semantic fallback: the last hidden state one token before each."""
        if self._stage != _PROMPT:
            raise RuntimeError(f"seed belongs between begin and the first commit; the drafter has {self._stage}")
        tokens = integers("token_ids", token_ids, "(m,)", 1)
        found = rows(ids, logits, len(tokens), self.config.top_k, "m")
        known = _states(states, len(tokens))
        self._core.seed(tokens, *found)
        if self._fallback:
            self._fallback.seed(tokens.tolist(), *found, known)

    @_alone
    def commit(self, token_ids: Iterable[int]) -> None:
        """Append committed tokens (m,), m >= 1, in order. The last becomes the root; a draft still out is void."""
        if self._stage == _WAITING:
            raise RuntimeError("commit needs a request; call begin(prompt_ids) first")
        tokens = integers("token_ids", token_ids, "(m,)", 1)
        if not len(tokens):
            raise ValueError("token_ids must hold at least one token")
        self._change(self._core.commit, tokens)
        self._text = (*self._text, *tokens[-3:].tolist())[-3:]
        if self._earlier is not None:
            self._earlier.commit(tokens.tolist())
        self._offered = False
        self._stage, self._nodes = _COMMITTED, 0

    @_alone
    def arrive(self, state: np.ndarray) -> None:
        """For the semantic fallback: the target's last hidden state, (d,) float32, that the root was predicted from."""
        if self._fallback:
            self._fallback.arrive(_states(np.asarray(state)[None], 1)[0])

    @_alone
    def draft(
        self, max_nodes: int | None = None, suffix_tokens: int | None = None, earlier: bool = False
    ) -> Draft:
        """The draft tree for the current root: at most `max_nodes` memory nodes (0 to 1024) and `suffix_tokens` suffix
        nodes (0 to 10); None takes the config's number. A second draft replaces the first. `earlier`: the suffix path may
        come from answers to earlier requests, where these agree with more of the last tokens than this request's own text
        (not in the paper; the budget "auto" asks for it)."""
        if self._stage != _COMMITTED:
            raise RuntimeError(f"draft needs a root; the drafter has {self._stage}: begin, then commit a token first")
        config = self.config
        most = config.max_nodes if max_nodes is None else whole_number("max_nodes", max_nodes, 0, MAX_NODES)
        extra = config.suffix_tokens
        if suffix_tokens is not None:
            extra = whole_number("suffix_tokens", suffix_tokens, 0, SUFFIX_REACH)
        self._nodes = 0
        if self._earlier is not None and earlier is not self._offered:
            path, match = self._earlier.path() if earlier else ([], 0)
            self._core.offer(np.array(path, np.int64), match)
            self._offered = earlier
        spare = self._spare()
        tree = self._core.draft(most, extra, *spare)
        self._nodes = len(tree.tokens)
        self._draft = tree if self._fallback else None
        return tree

    def _spare(self) -> tuple:
        """What the core takes for a root of which no memory has a row."""
        if not self._fallback or any(row is not None for row in self._core.lookup(np.array(self._text, np.int64))):
            return ()
        ids, logits = self._fallback.rows()
        return (ids, logits, len(ids)) if len(ids) else ()

    @_alone
    def observe(self, ids: np.ndarray, logits: np.ndarray, states: np.ndarray | None = None) -> None:
        """Store the target's predictions at all n nodes of the last draft: `ids` (n, K) integers, `logits` (n, K)
        floats, columns in any order. Of equal keys the first node's row stays; it replaces older rows.
        `states` (n, d) float32, for the semantic fallback: the target's last hidden states at the nodes."""
        if not self._nodes:
            raise RuntimeError("observe needs a draft; call draft() first, once for each observe")
        found = rows(ids, logits, self._nodes, self.config.top_k, "n")
        known = _states(states, self._nodes)
        self._core.observe(*found)
        if self._fallback:
            contexts = _contexts(self._text, self._draft)
            self._fallback.observe(contexts, self._draft.parents.tolist(), *found, known)
        self._nodes = 0

    @_alone
    def explain(self) -> Explanation:
        """What the memories hold under every node's own context, between draft and observe."""
        if not self._nodes:
            raise RuntimeError("explain needs a draft that was not observed yet; call it between draft and observe")
        return self._core.explain()

    @_alone
    def lookup(self, context: Iterable[int]) -> dict[str, tuple[np.ndarray, np.ndarray] | None]:
        """The rows under a context (oldest token first, the last three count): for "G", "C" and "U" ids (K,) int64 and
        probabilities (K,) float32, falling; None where there is no row or the context is too short. Where U has none of
        its own, the base's."""
        return dict(zip("GCU", self._core.lookup(integers("context", context, "(m,)", 1))))

    @_alone
    def fuse(self, context: Iterable[int]) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
        """The fused row under a context: ids (K,) int64, probabilities (K,) float64, falling, and the weight of each
        row found. Empty arrays and {} when none was found."""
        ids, probs, weights = self._core.fuse(integers("context", context, "(m,)", 1))
        return ids, probs, {name: weight for name, weight in zip("GCU", weights) if weight is not None}

    @_alone
    def from_base(self, context: Iterable[int]) -> bool:
        """Whether the row that `lookup` gives for U under this context is one of the base."""
        return self._core.from_base(integers("context", context, "(m,)", 1))

    @_alone
    def export(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U's own rows, those of the base left out, in the order in which their tokens first came: tokens (n,) int32, ids
        (n, K) int32 and probabilities (n, K) float32, falling. Rows for a `Base`."""
        return self._core.export()

    @_alone
    def stats(self) -> dict[str, int]:
        """Rows in U, C and G; "bytes": what the core has allocated (Python twin: an estimate from sys.getsizeof). The base
        counts in neither."""
        found = self._core.stats()
        if self._earlier is not None:
            found["bytes"] += self._earlier.bytes()
        return found

    @_alone
    def reset(self) -> None:
        """Forget everything, U too, but not the base. The next call that drafts must be `begin`."""
        self._core.reset()
        self._text = ()
        self._earlier = None if self._earlier is None else Earlier()
        self._offered = False
        if self._fallback:
            self._fallback.begin()
        self._stage, self._nodes = _WAITING, 0

    def _change(self, method: Callable, *args: Any) -> None:
        """Run what changes the text. Out of memory on the way leaves half a text: the request is then over."""
        try:
            method(*args)
        except MemoryError:
            self._stage, self._nodes = _WAITING, 0
            raise


def _states(states: np.ndarray | None, count: int) -> np.ndarray | None:
    if states is None:
        return None
    states = np.asarray(states, np.float32)
    if states.ndim != 2 or len(states) != count or not np.isfinite(states).all():
        raise ValueError(f"states must be finite numbers of shape ({count}, d), got shape {states.shape}")
    return states


def _contexts(text: tuple[int, ...], draft: Draft) -> list[tuple[int, ...]]:
    """The last three tokens at every node, its own included; `text` ends with the root."""
    found = [text]
    for token, parent in zip(draft.tokens.tolist()[1:], draft.parents.tolist()[1:]):
        found.append((*found[parent], token)[-3:])
    return found
