"""What one answer leaves behind: a `Step` per pass, and the `Trace` that holds them.

Pictures, the command line and the app read these and nothing else of the engine. All fields are plain Python values,
so a trace survives JSON exactly (`recap.trace_json`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

VERSION = 3

ROOT, MEMORY, SUFFIX = "root", "memory", "suffix"
MEMORY_NAMES = ("G", "C", "U")
"""Order of the three columns of `weights`, `shares`, `rows`: longest key first."""


class Row(NamedTuple):
    """A target prediction: top-K ids by falling probability, softmax over those K logits, exp(-entropy)."""

    ids: tuple[int, ...]
    probs: tuple[float, ...]
    confidence: float


@dataclass
class RowTable:
    """Every distinct row of a trace, stored once; nodes refer to rows by index."""

    rows: list[Row] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    """Text of every token id that occurs in the trace."""
    _index: dict[bytes, int] = field(default_factory=dict, repr=False, compare=False)

    def add(self, ids: np.ndarray, probs: np.ndarray, confidences: np.ndarray) -> list[int]:
        """Indices of rows, ids (r, K) int, probs (r, K) float32, confidences (r,); rows not seen yet are appended."""
        keys = np.concatenate([ids.astype(np.int64), probs.astype(np.float64).view(np.int64)], axis=1)
        packed, size = keys.tobytes(), keys.shape[1] * keys.itemsize
        indices = []
        for number in range(len(keys)):
            index = self._index.setdefault(packed[number * size : (number + 1) * size], len(self.rows))
            if index == len(self.rows):
                row = Row(tuple(ids[number].tolist()), tuple(probs[number].tolist()), float(confidences[number]))
                self.rows.append(row)
            indices.append(index)
        return indices

    def text(self, token: int) -> str:
        """Text of a token id; a readable stand-in for an id that the trace never named."""
        return self.texts.get(token, f"<{token}>")


@dataclass
class Step:
    """One pass: the packed draft tree, what the target said of every node, and what was committed.

    Lists with one entry per packed node (n, root first, parents before children): `tokens`, `parents` (-1 for the
    root), `depths`, `scores`, `origins`, `weights`, `shares`, `rows`, `fused`, `target`, `choices`, `accepted`.
    """

    index: int
    prefix_length: int
    """Tokens before the root (prompt, placeholders expanded, and committed ones)."""
    max_nodes: int
    """The budget chosen for this pass: memory nodes."""
    suffix_tokens: int
    """The budget chosen for this pass: suffix nodes."""
    tokens: list[int]
    parents: list[int]
    depths: list[int]
    scores: list[float]
    origins: list[str]
    """root | memory | suffix."""
    weights: list[list[float]]
    """Fusion weights of G, C, U at the node's parent; 0 where no row was found. Zeros for root and suffix nodes."""
    shares: list[list[float]]
    """Share of G, C, U in the node's fused probability; sums to 1 for memory nodes, else zeros."""
    rows: list[list[int]]
    """Rows found in G, C, U under the node's own context before this pass: indices into the row table, -1 for none."""
    fused: list[int]
    """The fused row under the node's own context: index into the row table, -1 if no row was found."""
    target: list[int]
    """The target's top-K at the node: index into the row table, -1 where the method does not look at it (AR)."""
    choices: list[int]
    """The target's own next token at the node. -1 where sampling or a logits processor left a node undecided."""
    accepted: list[bool]
    """Root and accepted path."""
    committed: list[int]
    """Tokens that this step added to the answer: the accepted path, then the bonus token."""
    draft_ms: float
    verify_ms: float
    update_ms: float
    sizes: dict[str, int]
    """Rows in G, C, U and bytes allocated in all, after the step. Empty for proposers without memories."""
    expected_tokens: float | None = None
    """Tokens that the budget expected the pass to commit. None, as the next two, where the budget was fixed."""
    expected_ms: float | None = None
    """What it expected the whole pass to take, drafting and recording included."""
    plain_ms: float | None = None
    """What it expected of a pass over the root alone: plain decoding."""
    table: RowTable = field(default_factory=RowTable, repr=False, compare=False)
    """The trace's row table, shared by all its steps."""

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def expected_gain(self) -> float | None:
        """Tokens per second over those of plain decoding that the budget expected of the pass; None if it did not."""
        if not self.expected_ms or self.plain_ms is None or self.expected_tokens is None:
            return None
        return self.expected_tokens * self.plain_ms / self.expected_ms

    @property
    def gain(self) -> float | None:
        """The same of what happened: tokens committed, and the milliseconds of drafting, verifying and updating."""
        took = self.draft_ms + self.verify_ms + self.update_ms
        return len(self.committed) * self.plain_ms / took if self.plain_ms is not None and took > 0 else None

    @property
    def accepted_nodes(self) -> list[int]:
        """Indices of the accepted path in order, the root left out."""
        return [node for node in range(1, len(self.tokens)) if self.accepted[node]]

    @property
    def bonus(self) -> int | None:
        """The target's own token that ends the step; None when the accepted path ended the answer."""
        return self.committed[-1] if len(self.committed) > len(self.accepted_nodes) else None

    def text(self, node: int) -> str:
        """Text of a node's token."""
        return self.table.text(self.tokens[node])

    def children(self, node: int) -> list[int]:
        """Indices of a node's children in pack order."""
        return [child for child, parent in enumerate(self.parents) if parent == node]

    def origin_of_committed(self) -> list[str]:
        """For each committed token: memory | suffix | bonus."""
        origins = [self.origins[node] for node in self.accepted_nodes]
        return origins + ["bonus"] * (len(self.committed) - len(origins))


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Index of the first token that differs, the shorter length where one answer goes on, None for equal ones."""
    differs = next((at for at, (one, other) in enumerate(zip(ours, theirs)) if one != other), None)
    if differs is None and len(ours) != len(theirs):
        return min(len(ours), len(theirs))
    return differs


@dataclass
class Comparison:
    """The same request decoded by plain AR in the same run."""

    token_ids: list[int]
    text: str
    encode_seconds: float
    prefill_seconds: float
    decode_seconds: float
    first_difference: int | None
    """Index of the first token that differs, None when both answers are identical."""

    @property
    def identical(self) -> bool:
        return self.first_difference is None

    @property
    def seconds(self) -> float:
        """T of the AR answer: encoding + prefill + decoding."""
        return self.encode_seconds + self.prefill_seconds + self.decode_seconds


@dataclass
class Lens:
    """Which tokens need the picture (Figure 1, appendix E): the target's predictions along the same tokens, with the
    pictures and with others in their place. See `recap.lens`.

    Lists over tokens have one entry per token of the answer; entry t is the prediction in token t's place, given the
    tokens before it. Probabilities are those of the whole vocabulary at temperature 1.
    """

    controls: list[str]
    """What stood in the pictures' place: "mean" (their mean colour), "other" (other pictures)."""
    choices: list[int]
    """The target's own choice with the pictures: the answer's token, unless it was sampled."""
    probs: list[float]
    """Its probability."""
    swapped: list[list[int]]
    """Per control and token: the target's choice then."""
    kept: list[list[float]]
    """Per control and token: the probability that is left to `choices`."""
    taken: list[list[float]]
    """Per control and token: the probability of `swapped`."""

    def changed(self, token: int) -> bool:
        """Whether the choice changes under any control."""
        return any(row[token] != self.choices[token] for row in self.swapped)

    def dependence(self, token: int) -> float:
        """Visual dependence: the smallest decrease, over the controls, of the log probability of the choice. Negative where
        every control makes it more probable."""
        # an underflow to 0 counts as the smallest number there is
        return min(math.log(max(self.probs[token], 1e-300) / max(row[token], 1e-300)) for row in self.kept)


@dataclass
class Trace:
    """A whole answer. `steps` do not include the prefill, which commits `first_token` by itself."""

    model: str
    device: str
    dtype: str
    exact: bool
    """Whether a draft cannot change the answer: in half precision, passes of every size were found bit-identical to
    one-token passes when the model was loaded; float32 counts as exact."""
    backend: str
    """Drafting core: c | python | none."""
    method: str
    config: dict[str, Any]
    messages: list[dict[str, str]]
    """The chat as sent: {"role", "content"}, pictures as "[picture]"."""
    pictures: list[dict[str, Any]]
    """For each picture: width, height (pixels, as decoded) and what the built-in front end saw ("evidence"), if any."""
    prompt_tokens: int
    """Prompt length in tokens, placeholders expanded."""
    cached_tokens: int
    """How many of them the session's cache already held."""
    max_new_tokens: int
    temperature: float
    seed: int | None
    created: str
    """UTC time, ISO 8601."""
    versions: dict[str, str]
    table: RowTable = field(default_factory=RowTable)
    steps: list[Step] = field(default_factory=list)
    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    finish_reason: str = ""
    """stop | length | cancelled; empty while decoding."""
    encode_seconds: float = 0.0
    prefill_seconds: float = 0.0
    """Prefill, seeding included, pictures' encoding not."""
    decode_seconds: float = 0.0
    seeded_rows: int | None = None
    """Prompt rows whose predictions went to U; None where the method takes none, or an old trace does not tell."""
    exactness: str = ""
    """A sentence on `exact`: off, not needed, found at load, or what cannot be had; empty in an old trace."""
    comparison: Comparison | None = None
    lens: Lens | None = None
    """Which tokens need the picture; None where nobody asked."""
    version: int = VERSION

    @property
    def first_token(self) -> int | None:
        """The token that prefill committed."""
        return self.token_ids[0] if self.token_ids else None

    def first_of(self, step: int) -> int:
        """Index in `token_ids` of the first token that a step committed: the target's choice at the step's root."""
        return 1 + sum(len(one.committed) for one in self.steps[:step])

    @property
    def last_drafted(self) -> int | None:
        """Index of the latest step that had candidates; of the latest of all where none had (the last token needs no
        draft). None without a step."""
        steps = self.steps
        return next((step.index for step in reversed(steps) if len(step) > 1), len(steps) - 1 if steps else None)

    @property
    def seconds(self) -> float:
        """T: encoding + prefill + decoding."""
        return self.encode_seconds + self.prefill_seconds + self.decode_seconds

    @property
    def acceptance_length(self) -> float:
        """tau: 1 + accepted drafts / passes; the token from prefill is not counted. 1.0 without a pass."""
        drafts = sum(len(step.accepted_nodes) for step in self.steps)
        return 1.0 + drafts / len(self.steps) if self.steps else 1.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens / T; 0.0 before anything was timed."""
        return len(self.token_ids) / self.seconds if self.seconds > 0 else 0.0

    @property
    def speedup(self) -> float | None:
        """S against the AR answer of the same run; None when none was run."""
        other = self.comparison
        if other is None or not other.token_ids or other.seconds <= 0 or self.seconds <= 0:
            return None
        return self.tokens_per_second / (len(other.token_ids) / other.seconds)

    def margin(self, index: int, theirs: int) -> float | None:
        """By how much the target's logit of the answer's token `index` exceeds that of another token, `theirs`.

        From the row at the node that decided it: the softmax cancels out of a ratio, whose logarithm is the difference of
        the logits. None where that is not on record: the row lacks a token, or the prompt decided, of which none is kept.
        """
        start = 1
        for step in self.steps:
            if start <= index < start + len(step.committed):
                row = step.target[[0, *step.accepted_nodes][index - start]]
                held = dict(zip(self.table.rows[row].ids, self.table.rows[row].probs)) if row >= 0 else {}
                ours, other = held.get(self.token_ids[index], 0.0), held.get(theirs, 0.0)
                return math.log(ours / other) if ours > 0 and other > 0 else None
            start += len(step.committed)
        return None

    def to_json(self) -> str:
        """One JSON document; `from_json` gives an equal trace back."""
        from .trace_json import dump

        return dump(self)

    @classmethod
    def from_json(cls, text: str | bytes) -> Trace:
        """Raises TraceError, a ValueError, with a sentence for anything that is not a whole trace of this version."""
        from .trace_json import load

        return load(text)

