"""What rows and fusion rules recall of the target's next token: Figure 3(a) and Table 5, Tables 14 and 16."""

from __future__ import annotations

from typing import Any

from ..bench.presets import BASE, PRESETS
from .continuation import Continuation
from .replay import drafter, follow

SOURCES = ("U", "C", "G")
RULES = (
    "recap", "w/o confidence", "w/o prior", "uniform", "confidence gate", "backoff", "soft prior", "sharp prior",
)  # fmt: skip
"""Rows of Table 14, by preset. Its "specificity backoff" is "backoff"."""
REFERENCE = "w/o confidence"


def sources(one: Continuation) -> dict[str, Any]:
    """Figure 3(a), Table 5, with memories that start empty: of U, C and G how many states found a row ("covered"), and in
    how many of these the reference is among its K tokens ("hits"). Query coverage is covered / states, conditional
    Recall@K hits / covered."""
    asked = drafter(BASE, one)
    found = {name: {"covered": 0, "hits": 0} for name in SOURCES}
    for state in follow(one, [asked], seeded=False):
        reference = one.tokens[state]
        for name, row in asked.lookup(one.context(state)).items():
            if row is not None:
                found[name]["covered"] += 1
                found[name]["hits"] += int(reference in row[0])
    return found


def rules(one: Continuation) -> dict[str, Any]:
    """With prompt-seeded U and empty C and G (appendix I).

    "hits" by rule: states whose reference is among the K fused tokens; uncovered states count as misses (Table 14,
    all-query Recall@K). "disagreement": the same over states where at least two rows were found and their Top-1 tokens
    differ (Table 16). "both": states in which G and U both have a row, and the hits of each (section 5.2).
    """
    asked = {name: drafter(PRESETS[name], one) for name in RULES}
    hits, split = dict.fromkeys(RULES, 0), dict.fromkeys(RULES, 0)
    disagreeing, both = 0, {"states": 0, "G": 0, "U": 0}
    for state in follow(one, list(asked.values()), seeded=True):
        context, reference = one.context(state), one.tokens[state]
        rows = asked[REFERENCE].lookup(context)
        known = [row[0] for row in rows.values() if row is not None]
        disagrees = len({int(ids[0]) for ids in known}) > 1
        disagreeing += disagrees
        if rows["G"] is not None and rows["U"] is not None:
            both["states"] += 1
            for name in ("G", "U"):
                both[name] += int(reference in rows[name][0])
        for name, one_drafter in asked.items():
            hit = int(reference in one_drafter.fuse(context)[0])
            hits[name] += hit
            split[name] += hit * disagrees
    return {"hits": hits, "disagreement": {"states": disagreeing, **split}, "both": both}
