"""One node of a draft tree from near: why it was proposed, what became of it, and what comes after it.

Two contexts meet here: the rows found at a node's parent proposed it; the rows found at the node itself propose its
children.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from recap.trace import MEMORY, MEMORY_NAMES, ROOT, Step

from . import knowledge, reasons, rowtable, stories
from .summary import chip
from .text import quote
from .theme import NAMES

KEY = "sure: 0 to 1 · weight: in the mix · share: its part"
"""Under the table, for those who cannot point; the heads of the columns say it at length."""
_PLACE = "Where the row has this token, by probability, and how probable it is there"
_SURE = "How sure the row is: exp(-entropy), 1 for a single token, near 0 for many equally likely ones"
_WEIGHT = "The row's weight in the mix: longer and surer rows weigh more; all weights add up to 1"
_SHARE = "How much of this candidate's probability came from this memory"
_MIX = "The rows mixed by weight: what memory proposes here"


def html(step: Step, node: int, config: dict[str, Any]) -> str:
    """The panel of a clicked node; -1 is the model's own choice that no candidate held. `config`: that of the trace.

    Raises ValueError for a node that the pass does not have.
    """
    if not -1 <= node < len(step):
        raise ValueError(f"node must be from -1 to {len(step) - 1}, got {node}")
    if node < 0 and step.bonus is None:
        return _panel("", [_paragraph(stories.bonus(step, config), "story")])
    token = step.bonus if node < 0 else step.tokens[node]
    head = f"<h4>{chip(step.table.text(token), _who(step, node))}{_fate(step, node)}</h4>"
    story = stories.bonus(step, config) if node < 0 else stories.node(step, node)
    parent = reasons.end_of_path(step) if node < 0 else step.parents[node]
    parts = [_paragraph(story, "story")]
    if parent >= 0:
        parts += _proposal(step, node, token, parent, config)
    return _panel(head, parts + (_after_bonus(step) if node < 0 else _after(step, node, config)))


def _panel(head: str, parts: Sequence[str]) -> str:
    return f'<section class="inspector">{head}{"".join(parts)}</section>'


def _paragraph(sentence: str, name: str) -> str:
    return f'<p class="{name}">{escape(sentence)}</p>' if sentence else ""


def _who(step: Step, node: int) -> str:
    return "bonus" if node < 0 else knowledge.proposer(step, node)


def _fate(step: Step, node: int) -> str:
    """A word and a mark: what became of the node."""
    if node < 0:
        return '<span class="fate kept">+ the model\'s own</span>'
    if step.origins[node] == ROOT:
        return '<span class="fate">root</span>'
    return '<span class="fate kept">✓ accepted</span>' if step.accepted[node] else '<span class="fate">✗ refused</span>'


def _proposal(step: Step, node: int, token: int, parent: int, config: dict[str, Any]) -> list[str]:
    """Which rows at the parent held the token, and how that made its score."""
    heading = "Why it was proposed" if node >= 0 else "What the memories knew"
    parts = [f"<h5>{heading}</h5>", f'<p class="aside">What memory held for the text up to {_code(step, parent)}:</p>']
    found = knowledge.rows(step, parent)
    if not any(found):
        parts.append(_paragraph("No memory held anything for that text.", "aside"))
    else:
        weights = knowledge.weights(step, parent, config)
        shares = step.shares[node] if node >= 0 and step.origins[node] == MEMORY else None
        lines = [
            _source(name, row, knowledge.held(row, token), weights[at], shares[at] if shares else None)
            for at, (name, row) in enumerate(zip(MEMORY_NAMES, found))
        ]
        parts.append(
            '<table class="sources"><thead><tr><th scope="col">memory</th>'
            f'<th scope="col" title="{_PLACE}">its place</th><th scope="col" title="{_SURE}">sure</th>'
            f'<th scope="col" title="{_WEIGHT}">weight</th><th scope="col" title="{_SHARE}">share</th></tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table>"
        )
        parts.append(_paragraph(KEY, "aside key"))
    if node >= 0:
        parts.append(_paragraph(stories.score(step, node, config), "aside"))
    return parts


def _source(name: str, row: Any, place: knowledge.Held | None, weight: float | None, share: float | None) -> str:
    where = "nothing found" if row is None else "not in its row"
    if place is not None:
        where = f"{stories.ordinal(place.rank)}, {rowtable.percent(place.prob)} %"
    cells = [
        _decimal(row.confidence if row else None), _decimal(weight),
        f"{rowtable.percent(share)} %" if share else "–",
    ]  # fmt: skip
    return (
        f'<tr><th scope="row" class="of-{name}" title="{NAMES[name]}">{name}</th><td>{where}</td>'
        + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    )  # fmt: skip


def _after(step: Step, node: int, config: dict[str, Any]) -> list[str]:
    """The rows under the node's own context, their mix, and what the model said there."""
    parts = [f"<h5>After {_code(step, node)}, the model {'said' if step.accepted[node] else 'would say'}</h5>"]
    found, target = knowledge.rows(step, node), knowledge.row(step, step.target[node])
    said = step.choices[node]
    if not any(found) and target is None:
        parts.append(_paragraph(stories.unseen(step, node), "aside"))
        return parts
    if not any(found):
        parts.append(_paragraph("Memory held nothing for this text, so it could propose no token here.", "aside"))
    weights = knowledge.weights(step, node, config)
    columns = [
        rowtable.column(name, NAMES[name], row, (_decimal(row.confidence if row else None), _decimal(weight)))
        for name, row, weight in zip(MEMORY_NAMES, found, weights) if any(found)
    ]  # fmt: skip
    fused = knowledge.row(step, step.fused[node])
    if fused is not None:
        columns.append(rowtable.column("mix", _MIX, fused, (_decimal(fused.confidence), "1.00")))
    if target is not None:
        sure = (_decimal(target.confidence), "") if any(found) else ()
        columns.append(rowtable.column("model", "What the model itself predicts here", target, sure))
    notes = {"sure": _SURE, "weight": _WEIGHT} if any(found) else {}
    parts.append(rowtable.html(columns, step.table.text, notes, said if said >= 0 else None))
    after = quote(step.text(node), 16)
    explained = f"✓ the model's choice after {after}" if said >= 0 else "No choice of the model is on record here"
    mixed = " · mix: G, C, U together, by weight" if fused is not None else ""
    return parts + [_paragraph(f"{explained}{mixed} · numbers in %", "aside")]


def _after_bonus(step: Step) -> list[str]:
    sentence = "Nobody has asked yet: the next pass, if there is one, begins with this token as its root."
    return [f"<h5>After {escape(quote(step.table.text(step.bonus), 16))}</h5>", _paragraph(sentence, "aside")]


def _code(step: Step, node: int) -> str:
    return escape(quote(step.text(node), 16))


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
