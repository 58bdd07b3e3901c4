"""What the tree tells of a node under the pointer: one fact a line, all text escaped for Plotly."""

from __future__ import annotations

from recap.trace import MEMORY_NAMES, Step

from . import knowledge, reasons
from .text import escape, quote, visible

WIDTH = 46
"""Letters a line."""
LONGEST = 600
"""Letters of a token that are shown; a token of a real model has at most some dozens."""


def node(step: Step, node: int) -> str:
    """Token, score, weights and shares, what the model says after it, and why it was accepted or refused."""
    facts = [f"<b>{title(step.text(node))}</b>"]
    if step.origins[node] == "memory":
        weights, shares = step.weights[node], step.shares[node]
        found = [at for at, weight in enumerate(weights) if weight > 0]
        facts.append(f"score {_score(step.scores[node])}, depth {step.depths[node]}")
        if found:
            facts.append("weights " + " · ".join([f"{MEMORY_NAMES[at]} {weights[at]:.2f}" for at in found]))
            facts.append("shares " + " · ".join([f"{MEMORY_NAMES[at]} {shares[at]:.0%}" for at in found]))
    elif step.origins[node] == "suffix":
        facts.append(f"from the suffix path: it followed when<br>the text ended like this before; no score, depth {step.depths[node]}")
    if step.choices[node] >= 0:
        facts.append(wrap(_chosen(step, node)))
    facts.append(wrap(reasons.why(step, node)))
    return "<br>".join(facts)


def own(step: Step) -> str:
    """The same for the model's own choice that no node held."""
    token = step.table.text(step.bonus) if step.bonus is not None else ""
    return f"<b>{title(token)}</b><br>{wrap(reasons.said_instead(step))}"


def title(token: str) -> str:
    """A whole token, blanks visible, broken into lines wherever the room ends."""
    shown = visible(token[:LONGEST])
    if len(shown) > LONGEST or len(token) > LONGEST:
        shown = shown[:LONGEST] + "…"
    return "<br>".join(escape(shown[at : at + WIDTH]) for at in range(0, len(shown), WIDTH))


def wrap(sentence: str) -> str:
    """A sentence in lines. `textwrap` does more than a hover needs and takes ten times as long."""
    lines, line = [], ""
    for word in sentence.split(" "):
        if line and len(line) + len(word) >= WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return "<br>".join(map(escape, [*lines, line]))


def _chosen(step: Step, node: int) -> str:
    said = step.choices[node]
    place = knowledge.held(knowledge.row(step, step.target[node]), said)
    sure = f" ({place.prob:.0%})" if place else ""
    return f"After it, the model says {quote(step.table.text(said))}{sure}."


def _score(score: float) -> str:
    return f"{score:.3f}" if score >= 0.001 else f"{score:.1e}"
