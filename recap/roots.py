"""What the image lens says of the roots of passes (Figure 1, appendix E): which choices of the target depend on the picture,
and how that goes with the drafts that a pass accepted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .trace import Trace


class Verdict(NamedTuple):
    """Of one pass: the target's choice at its root, with the pictures and without."""

    step: int
    token: int
    """Index in the answer of the token chosen there: the first that the pass committed."""
    changed: bool
    """Whether the choice changes under any control."""
    dependence: float
    """Visual dependence, in nats: see `Lens.dependence`."""
    choice: int
    prob: float
    """With the pictures."""
    others: dict[str, tuple[int, float, float]]
    """By control: the choice, its probability, and the probability left to the choice with the pictures."""


def verdicts(trace: Trace) -> list[Verdict]:
    """One per pass of a trace with a lens, none without."""
    lens, found = trace.lens, []
    if lens is None:
        return found
    for step in trace.steps:
        at = trace.first_of(step.index)
        if at >= len(lens.choices):
            break
        others = {
            name: (said[at], taken[at], kept[at])
            for name, said, taken, kept in zip(lens.controls, lens.swapped, lens.taken, lens.kept)
        }
        found.append(
            Verdict(step.index, at, lens.changed(at), lens.dependence(at), lens.choices[at], lens.probs[at], others)
        )
    return found


class Roots(NamedTuple):
    """Roots of passes that accepted so many drafts."""

    accepted: str
    """0 | 1-4 | 5+."""
    roots: int
    changed: float
    """Share whose choice changes under any control."""
    dependence: float
    """Mean visual dependence, in nats."""


def by_accepted(traces: Sequence[Trace]) -> list[Roots]:
    """Figure 1, middle left: how much the predictions at roots depend on the picture, by accepted length. Passes without
    candidates are left out; so are groups without a pass."""
    groups: dict[str, list[tuple[bool, float]]] = {"0": [], "1-4": [], "5+": []}
    for trace in traces:
        for one in verdicts(trace):
            step = trace.steps[one.step]
            length = len(step.accepted_nodes)
            if len(step) > 1:
                name = "0" if not length else "1-4" if length < 5 else "5+"
                groups[name].append((one.changed, one.dependence))
    return [
        Roots(name, len(found), sum(one for one, _ in found) / len(found), math.fsum(d for _, d in found) / len(found))
        for name, found in groups.items() if found
    ]  # fmt: skip
