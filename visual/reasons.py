"""What became of each node of a draft tree, and why, in a sentence a newcomer can read."""

from __future__ import annotations

from recap.trace import MEMORY_NAMES, Step

from .text import quote


def source(step: Step, node: int) -> str:
    """Who proposed a node: "root", "suffix", or the memory with the largest share of it: "G", "C", "U"."""
    if step.origins[node] != "memory":
        return step.origins[node]
    shares = step.shares[node]
    return MEMORY_NAMES[shares.index(max(shares))]


def end_of_path(step: Step) -> int:
    """The last accepted node; the root (0) where no candidate was accepted."""
    return step.accepted_nodes[-1] if step.accepted_nodes else 0


def why(step: Step, node: int) -> str:
    """Why a node was accepted or refused. Plain text."""
    parent = step.parents[node]
    if parent < 0:
        return "The last token of the text so far: every candidate continues it."
    token, before = quote(step.text(node)), quote(step.text(parent))
    if step.accepted[node]:
        return f"Accepted: after {before} the model chose exactly this token."
    if not step.accepted[parent]:
        return f"Refused: its parent {before} was refused, so the text never came here."
    said = step.choices[parent]
    if said < 0:
        return f"Refused: the model's choice after {before} was not this token."
    if said == step.tokens[node]:
        return f"The model chose {token} too, but the answer ended before it."
    other = quote(step.table.text(said))
    if any(step.tokens[child] == said for child in step.children(parent)):
        return f"Refused: after {before} the model chose {other}, another candidate."
    return f"Refused: after {before} the model chose {other}, which no candidate held."


def said_instead(step: Step) -> str:
    """What the target said that no candidate held. Plain text, empty where an accepted token ended the answer."""
    if step.bonus is None:
        return ""
    token, before = quote(step.table.text(step.bonus)), quote(step.text(end_of_path(step)))
    if step.children(end_of_path(step)):
        return f"Not proposed: after {before} the model said {token} instead, which no candidate held."
    return f"Not proposed: no candidate went on after {before}; there the model said {token}."
