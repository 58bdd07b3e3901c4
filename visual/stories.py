"""Sentences that say what happened to one node: who knew its token, what the model chose, how its score came about."""

from __future__ import annotations

from typing import Any

from recap.trace import MEMORY, MEMORY_NAMES, ROOT, SUFFIX, Row, Step

from . import knowledge, reasons
from .knowledge import names
from .rowtable import percent
from .text import quote

_ORDINALS = ("first", "second", "third")


def ordinal(rank: int) -> str:
    """"first" for rank 0, "4th" for rank 3."""
    if rank < len(_ORDINALS):
        return _ORDINALS[rank]
    number = rank + 1
    return f"{number}{'th' if 10 < number % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def node(step: Step, node: int) -> str:
    """Who proposed a node and what the model did. Plain text."""
    if step.origins[node] == ROOT:
        return reasons.why(step, node)
    if step.origins[node] == SUFFIX:
        known = f"The last time the text ended like this, it went on this way, so {quote(step.text(node))} was tried"
    else:
        known = _known(step, node)
    return f"{known}; {_verdict(step, node)}."


def bonus(step: Step, config: dict[str, Any]) -> str:
    """The model's own choice at the end of the accepted path, and why no candidate held it. Plain text."""
    if step.bonus is None:
        return "In this pass the answer ended with an accepted token: there is no choice of the model's own."
    end, token = reasons.end_of_path(step), step.bonus
    before, target = quote(step.text(end)), knowledge.row(step, step.target[end])
    place = knowledge.held(target, token)
    sure = f" ({percent(place.prob)} %)" if place else ""
    chose = f"After {before} the model chose {quote(step.table.text(token))}{sure}."
    return f"{chose} {_left_out(step, end, token, config)}"


def score(step: Step, node: int, config: dict[str, Any]) -> str:
    """How a memory node's score came about. Plain text; empty for others."""
    if step.origins[node] != MEMORY:
        return "" if step.origins[node] == ROOT else f"Depth {step.depths[node]}, no score: a repeat is not rated."
    parent = step.parents[node]
    known = f"Score {figure(step.scores[node])} at depth {step.depths[node]}"
    place = knowledge.held(knowledge.row(step, step.fused[parent]), step.tokens[node])
    prior = knowledge.depth_prior(config, step.depths[parent])
    if place is None or prior is None:
        return f"{known}."
    parts = f"{figure(step.scores[parent])} (score before it) × {prior:g} (depth) × {percent(place.prob)} % (mix)"
    return f"{known} = {parts}."


def unseen(step: Step, node: int) -> str:
    """When neither memory nor model has rows at a node. Plain text."""
    said = step.choices[node]
    if said < 0:
        return "Nothing is on record here."
    return f"The model said {quote(step.table.text(said))}. This method keeps no predictions, so no more is on record."


def figure(score: float) -> str:
    """A score with two digits that count."""
    return f"{score:.2f}" if score >= 0.1 else f"{score:.2g}"


def _known(step: Step, node: int) -> str:
    token, found = quote(step.text(node)), knowledge.rows(step, step.parents[node])
    places = knowledge.holders(found, step.tokens[node])
    if not places:
        return f"The draft proposed {token}"
    odds = [f"{percent(place.prob)} %" for place in places.values()]
    ranks = {place.rank for place in places.values()}
    if len(places) == 1:
        (name, place), = places.items()
        alone = "Only " if sum(row is not None for row in found) > 1 else ""
        return f"{alone}{name} had {token}: {ordinal(place.rank)}, {odds[0]}"
    if len(ranks) == 1:
        every = "both" if len(places) == 2 else "all"
        return f"{names(list(places))} {every} had {token} {ordinal(ranks.pop())} ({', '.join(odds)})"
    each = [f"{name} {ordinal(place.rank)} ({chance})" for (name, place), chance in zip(places.items(), odds)]
    return f"{names(list(places))} had {token}: {', '.join(each)}"


def _verdict(step: Step, node: int) -> str:
    parent = step.parents[node]
    if step.accepted[node]:
        return "the model chose the same: accepted"
    if not step.accepted[parent]:
        return f"but {quote(step.text(parent))} before it was refused, so the text never came here: refused too"
    said = step.choices[parent]
    if said < 0:
        return "the model chose another token here: refused"
    if said == step.tokens[node]:
        return "the model chose it too, but the answer ended before it"
    row = knowledge.held(knowledge.row(step, step.target[parent]), said)
    return f"the model chose {quote(step.table.text(said))}{f' ({percent(row.prob)} %)' if row else ''} here: refused"


def _left_out(step: Step, end: int, token: int, config: dict[str, Any]) -> str:
    """Why a token was no candidate after node `end`."""
    found = knowledge.rows(step, end)
    searched = len(found) - found.count(None)
    if not searched:
        if not step.sizes:
            return "No candidate held it: this method has no memory of what the model predicted."
        if not step.max_nodes and not step.suffix_tokens:
            return "This pass had no candidates at all: it was asked for one token only."
        return "Memory held nothing for this text, so nobody could propose it."
    places = knowledge.holders(found, token)
    rows = names([name for name, row in zip(MEMORY_NAMES, found) if row is not None])
    if not places:
        what = "the only row found does not hold it" if searched == 1 else "none of the rows found holds it"
        return f"Not proposed: {what} ({rows})."
    known = ", ".join(f"{name} had it {ordinal(at.rank)} ({percent(at.prob)} %)" for name, at in places.items())
    return f"Not proposed though {known}: {_limit(step, end, token, config)}."


def _limit(step: Step, end: int, token: int, config: dict[str, Any]) -> str:
    """Which limit kept a token that memory knew out of the tree."""
    fused: Row | None = knowledge.row(step, step.fused[end])
    place = knowledge.held(fused, token)
    candidates = step.origins.count(MEMORY)
    width, deepest = config.get("width"), config.get("max_depth")
    if not step.max_nodes:
        return "this pass was given no candidates"
    if isinstance(deepest, int) and step.depths[end] >= deepest:
        return f"the tree ends at depth {deepest}"
    if fused is not None and place is None:
        return "it fell out of the mix, which keeps only the likeliest"
    if place is not None and isinstance(width, int) and place.rank >= width:
        plural = "" if width == 1 else "s"
        return f"it came {ordinal(place.rank)} in the mix, and a node may have {width} candidate{plural}"
    prior = knowledge.depth_prior(config, step.depths[end])
    if place is None or prior is None or candidates < step.max_nodes:
        return "the search left it out"
    would = figure(step.scores[end] * prior * place.prob)
    return f"its score would have been {would}, and all {candidates} places went to better ones"
