"""Random traces that obey the contract of recap.trace, for tests that need no model."""

from __future__ import annotations

import math
import random

import numpy as np

from recap.trace import Comparison, Row, RowTable, Step, Trace

WORDS = (
    " the", " a", " red", " chair", " hat", " cat", " sits", " on", " table", " next", " to", " window", " and",
    " with", " small", " wooden", " black", ",", ".", "\n", "\n\n", "\t", " ", "The", "It", " photograph",
    " extraordinarily",
    " internationalisation", "ing", "s", "**", "- ", "1", " é", " 猫", " 🙂", "<b>", " &amp;", "</script>", "%{x}", "",
)  # fmt: skip


def row(rng: random.Random, size: int, tokens: int = len(WORDS)) -> Row:
    """A row of `size` different ids by falling probability."""
    weights = sorted((rng.random() ** 3 + 1e-9 for _ in range(size)), reverse=True)
    probs = [weight / sum(weights) for weight in weights]
    confidence = math.exp(sum(prob * math.log(prob) for prob in probs))
    return Row(tuple(rng.sample(range(tokens), size)), tuple(probs), confidence)


def add(table: RowTable, row: Row) -> int:
    """Index of one row in a table."""
    return table.add(np.array([row.ids]), np.array([row.probs]), np.array([row.confidence]))[0]


def step(
    rng: random.Random, table: RowTable, index: int = 0, nodes: int = 24, suffix: int = 3, luck: float = 0.7,
    depth: int = 10,
) -> Step:
    """One pass over `nodes` memory nodes and up to `suffix` suffix nodes; `luck` is how often the target agrees."""
    tokens, parents, depths, scores, origins = [rng.randrange(len(WORDS))], [-1], [0], [1.0], ["root"]
    weights, shares, frontier = [[0.0] * 3], [[0.0] * 3], []

    def push(parent: int) -> None:
        if depths[parent] >= depth:
            return
        found = rng.choice(("GCU", "CU", "U", "U"))
        raw = [rng.random() if name in found else 0.0 for name in "GCU"]
        mix = [value / sum(raw) for value in raw]
        fused = row(rng, 8)
        for token, prob in zip(fused.ids, fused.probs):
            part = [value * rng.random() for value in mix]
            share = [value / sum(part) for value in part]
            frontier.append((scores[parent] * 0.6 * prob, token, parent, mix, share))

    push(0)
    while frontier and len(tokens) <= nodes:
        best = max(range(len(frontier)), key=lambda at: frontier[at][0])
        score, token, parent, mix, share = frontier.pop(best)
        tokens.append(token), parents.append(parent), depths.append(depths[parent] + 1), scores.append(score)
        origins.append("memory"), weights.append(mix), shares.append(share)
        push(len(tokens) - 1)
    parent = rng.randrange(len(tokens))
    for _ in range(min(suffix, depth - depths[parent])):
        taken = {tokens[child] for child in range(len(tokens)) if parents[child] == parent}
        token = rng.choice([token for token in range(len(WORDS)) if token not in taken])
        tokens.append(token), parents.append(parent), depths.append(depths[parent] + 1), scores.append(0.0)
        origins.append("suffix"), weights.append([0.0] * 3), shares.append([0.0] * 3)
        parent = len(tokens) - 1

    n = len(tokens)
    choices, target = [], []
    for node in range(n):
        below = [tokens[child] for child in range(n) if parents[child] == node]
        said = row(rng, 8)
        ids = list(said.ids)
        if below and rng.random() < luck:
            first = below[0]
            ids = [first, *(token for token in ids if token != first)][:8]
        choices.append(ids[0])
        target.append(add(table, said._replace(ids=tuple(ids))))
    accepted, end, committed = [True] + [False] * (n - 1), 0, []
    while True:
        following = [child for child in range(n) if parents[child] == end and tokens[child] == choices[end]]
        if not following:
            break
        end = following[0]
        accepted[end] = True
        committed.append(tokens[end])
    committed.append(choices[end])
    rows = [[add(table, row(rng, 8)) if rng.random() < 0.7 else -1 for _ in "GCU"] for _ in range(n)]
    return Step(
        index=index, prefix_length=100 + index, max_nodes=nodes, suffix_tokens=suffix, tokens=tokens, parents=parents,
        depths=depths, scores=scores, origins=origins, weights=weights, shares=shares, rows=rows,
        fused=[add(table, row(rng, 8)) if any(found >= 0 for found in some) else -1 for some in rows], target=target,
        choices=choices, accepted=accepted, committed=committed, draft_ms=rng.random(), verify_ms=40 * rng.random(),
        update_ms=rng.random(), sizes={"G": 40, "C": 50, "U": 60, "bytes": 40960}, table=table,
    )  # fmt: skip


def trace(rng: random.Random, steps: int = 4, nodes: int = 24, compared: bool = True) -> Trace:
    """A whole answer of `steps` passes."""
    table = RowTable(texts=dict(enumerate(WORDS)))
    passes = [step(rng, table, index, nodes) for index in range(steps)]
    ids = [rng.randrange(len(WORDS)), *(token for one in passes for token in one.committed)]
    text = "".join(WORDS[token] for token in ids)
    return Trace(
        model="synthetic", device="cpu", dtype="float32", exact=True, backend="python", method="recap",
        config={"top_k": 8, "priors": [0.7, 0.2, 0.1]}, messages=[{"role": "user", "content": "[picture] What is it?"}],
        pictures=[{"width": 640, "height": 480, "evidence": {"objects": [["chair", 0.5]]}}], prompt_tokens=100,
        cached_tokens=0, max_new_tokens=200, temperature=0.0, seed=None, created="2026-11-29T12:00:00Z",
        versions={"recap": "0.1.0"}, table=table, steps=passes, token_ids=ids, text=text, finish_reason="stop",
        encode_seconds=0.25, prefill_seconds=0.5, decode_seconds=0.05 * steps,
        comparison=Comparison(list(ids), text, 0.25, 0.5, 1.5, None) if compared else None,
    )  # fmt: skip
