"""What memory holds: how it grows over a conversation, how often it helped, and what it would propose now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from recap.trace import MEMORY_NAMES, Step, Trace

from . import canvas, knowledge, rowtable
from .canvas import Spec
from .same import tokens
from .text import quote
from .theme import COLOURS, NAMES, palette

DASHES = {"G": "solid", "C": "dash", "U": "dot"}
SHAPES = {"G": "circle", "C": "diamond", "U": "square"}
NOTHING = "Ask something: the number of rows in each memory appears here, pass by pass."
WARM = "U's row is warm: not from this conversation, but loaded for every visitor"
_GAP = 0.11
"""Least distance between two labels at the right end, share of the height."""

_DIGIT, _NARROW = 7.0, 230
"""Width of a digit, and of the picture between its axes on a phone. Pixels."""

Sizes = dict[str, int]


def growth_spec(answers: Sequence[Sequence[Sizes]], theme: str = "light") -> Spec:
    """Rows in G, C, U after every pass of a conversation: per question a list of {"G", "C", "U", "bytes"}.

    G and C begin anew with each question, so their lines break there; U goes on. Passes without sizes (methods without
    memories) are left out. Raises ValueError for a theme that is neither light nor dark.
    """
    colours = palette(theme)
    questions = [[sizes for sizes in answer if "U" in sizes] for answer in answers]
    flat = [sizes for answer in questions for sizes in answer]
    top = max((sizes[name] for sizes in flat for name in MEMORY_NAMES), default=1) * 1.12 or 1
    layout = _layout(theme, len(flat), top)
    if not flat:
        return {"data": [], "layout": {**layout, "annotations": [canvas.note(NOTHING, theme, 13, 40)]}}
    starts = _starts(questions)
    layout["shapes"] = [
        {
            "type": "line", "x0": at - 0.5, "x1": at - 0.5, "y0": 0, "y1": 1, "yref": "paper", "layer": "below",
            "line": {"color": colours.quiet, "width": 1, "dash": "dot"},
        }
        for _, at in starts if at > 1
    ]  # fmt: skip
    groups = _groups(starts, len(flat))
    layout["annotations"] = [_question(text, at, colours.muted) for text, at in groups] + _ends(flat, top, theme)
    layout["annotations"].append(
        {
            "text": "question", "x": 0, "xref": "paper", "xanchor": "right", "xshift": -6, "y": 1, "yref": "paper",
            "yanchor": "bottom", "showarrow": False, "font": {"size": 11, "color": colours.muted},
        }
    )  # fmt: skip
    return {"data": [_line(name, questions, theme) for name in MEMORY_NAMES], "layout": layout}


def sizes(answers: Sequence[Sequence[Sizes]]) -> str:
    """Rows that memory holds now, in words and numbers, of the same lists as `growth_spec`."""
    latest = next((sizes for answer in reversed(answers) for sizes in reversed(answer) if "U" in sizes), None)
    if latest is None:
        return _section('<p class="aside">Memory is empty: nothing was asked yet.</p>')
    rows = "".join(
        f'<div class="of-{name}"><dt>{name}</dt><dd>{latest[name]:,} <small>rows: {NAMES[name]}</small></dd></div>'
        for name in MEMORY_NAMES
    )
    used = f'<p class="aside">{latest["bytes"] / 2**20:.2f} MiB in all. ' if "bytes" in latest else '<p class="aside">'
    return _section(f"<dl>{rows}</dl>{used}A row: what the model once predicted, kept under the tokens before it.</p>")


def hits(trace: Trace) -> str:
    """How often each memory had something to say, and how many tokens of the answer came from it."""
    looked = [(step, node) for step in trace.steps if step.sizes for node in range(len(step))]
    if not looked:
        return _section('<p class="aside">No lookups: this answer was made without memories, or had no pass.</p>')
    found = {name: sum(step.rows[node][at] >= 0 for step, node in looked) for at, name in enumerate(MEMORY_NAMES)}
    sources = [knowledge.proposer(step, node) for step in trace.steps for node in step.accepted_nodes]
    body = "".join(
        f'<tr><th scope="row" class="of-{name}" title="{NAMES[name]}">{name}</th>'
        f'<td class="of-{name}" style="--p:{100 * found[name] / len(looked):.1f}"><b></b>'
        f"{found[name]:,} <small>{100 * found[name] / len(looked):.0f} %</small></td>"
        f"<td>{sources.count(name)}</td></tr>"
        for name in MEMORY_NAMES
    )
    repeated, own = sources.count("suffix"), len(trace.token_ids) - len(sources)
    return _section(
        f"<p>{len(looked):,} lookups, one for every node of every tree.</p>"
        '<table class="hits"><thead><tr><th scope="col">memory</th><th scope="col">found something</th>'
        f'<th scope="col">accepted tokens</th></tr></thead><tbody>{body}</tbody></table>'
        f'<p class="aside">Of {tokens(len(trace.token_ids))} in all, {repeated} more came from repeated text '
        f"(suffix), and {own} were the model's own, without a proposal.</p>"
    )


def retrieved(
    context: Sequence[str], found: dict[str, Any], name_of: Callable[[int], str], warm: bool = False
) -> str:
    """What memory would give now: `context` up to three token texts, oldest first; `found` is what `Drafter.lookup`
    gave: for G, C, U ids and probabilities, or None; `name_of` gives a token's text; `warm`: U's row is not the
    conversation's own (`Drafter.from_base`)."""
    rows = {name: found.get(name) for name in MEMORY_NAMES}
    return _section(_found(list(context[-3:]), rows, name_of, warm=warm))


def recorded(step: Step, node: int) -> str:
    """What memory held under a node's own context when the pass began. ValueError for a node the pass does not have."""
    if not 0 <= node < len(step):
        raise ValueError(f"node must be from 0 to {len(step) - 1}, got {node}")
    path = [node]
    while step.parents[path[0]] >= 0 and len(path) < 3:
        path.insert(0, step.parents[path[0]])
    found = dict(zip(MEMORY_NAMES, knowledge.rows(step, node)))
    return _section(_found([step.text(at) for at in path], found, step.table.text, "when this pass began, memory held"))


def _found(
    context: list[str], found: dict[str, Any], name_of: Callable[[int], str], held: str = "memory holds now",
    warm: bool = False,
) -> str:  # fmt: skip
    if not context:
        return '<p class="aside">Choose a token to see what memory holds for the text up to it.</p>'
    last = " ".join(quote(token, 16) for token in context)
    there = [name for name in MEMORY_NAMES if found[name] is not None]
    head = f"<p>After {escape(last)} {held}:</p>"
    if not there:
        return f'{head}<p class="aside">Nothing: none of G, C, U has seen the model at a text that ends like this.</p>'
    columns = [rowtable.column(name, NAMES[name], found[name]) for name in MEMORY_NAMES]
    if warm:
        columns[-1] = columns[-1]._replace(title=WARM, label="U (warm)")
    missing = [name for name in MEMORY_NAMES if name not in there]
    aside = f"Nothing in {knowledge.names(missing)}. " if missing else ""
    aside += f"{WARM}. " if warm else ""
    return f'{head}{rowtable.html(columns, name_of)}<p class="aside">{aside}Numbers in %.</p>'


def _section(body: str) -> str:
    return f'<section class="memory">{body}</section>'


def _starts(questions: Sequence[Sequence[Sizes]]) -> list[tuple[int, int]]:
    """Number of each question that has passes, and its first pass, both from 1."""
    starts, at = [], 1
    for number, answer in enumerate(questions, 1):
        if answer:
            starts.append((number, at))
        at += len(answer)
    return starts


def _groups(starts: Sequence[tuple[int, int]], passes: int) -> list[tuple[str, float]]:
    """Numbers of questions and the pass that each begins with; short questions share a label: "2–4"."""
    groups: list[list[int]] = []  # first and last number, first pass
    for number, at in starts:
        if groups and (at - groups[-1][2]) / passes < _room(groups[-1][0], number):
            groups[-1][1] = number
        else:
            groups.append([number, number, at])
    return [(f"{first}–{last}" if last > first else str(first), at) for first, last, at in groups]


def _room(first: int, last: int) -> float:
    """Width of a group of numbers that may still grow to hold `last`, share of the narrowest picture."""
    return (len(f"{first}–{last}") * _DIGIT + 6) / _NARROW


def _line(name: str, questions: Sequence[Sequence[Sizes]], theme: str) -> Spec:
    xs: list[int | None] = []
    ys: list[int | None] = []
    notes: list[str] = []
    at = 0
    for number, answer in enumerate(questions, 1):
        if name != "U" and xs and answer:
            xs, ys, notes = [*xs, None], [*ys, None], [*notes, ""]
        for place, sizes in enumerate(answer, 1):
            at += 1
            xs.append(at)
            ys.append(sizes[name])
            notes.append(f"<b>{name}</b> {sizes[name]:,} rows<br>question {number}, pass {place}{_bytes(sizes)}")
    return {
        "type": "scatter", "mode": "lines+markers" if at < 60 else "lines", "name": name, "x": xs, "y": ys,
        "line": {"color": COLOURS[name], "width": 2.5, "dash": DASHES[name]},
        "marker": {"symbol": SHAPES[name], "size": 6, "color": COLOURS[name]},
        "hoverinfo": "text", "hovertext": notes,
    }  # fmt: skip


def _bytes(sizes: Sizes) -> str:
    return f"<br>memory in all: {sizes['bytes'] / 2**20:.2f} MiB" if "bytes" in sizes else ""


def _question(text: str, at: float, colour: str) -> Spec:
    return {
        "text": text, "x": at - 0.5, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom",
        "showarrow": False, "font": {"size": 11, "color": colour},
    }  # fmt: skip


def _ends(flat: Sequence[Sizes], top: float, theme: str) -> list[Spec]:
    """Each line's name and latest value at its right end, pushed apart where two would overlap."""
    last, floor = flat[-1], 0.0
    labels = []
    for name in sorted(MEMORY_NAMES, key=lambda one: (last[one], MEMORY_NAMES.index(one))):
        height = min(max(last[name] / top, floor), 1.0)
        floor = height + _GAP
        labels.append(
            {
                "text": f"<b>{name}</b> {last[name]:,}", "x": 1, "xref": "paper", "xanchor": "left",
                "y": round(height, 4), "yref": "paper", "yanchor": "middle", "xshift": 6, "showarrow": False,
                "align": "left", "font": {"size": 12, "color": palette(theme).ink},
            }
        )  # fmt: skip
    return labels


def _layout(theme: str, passes: int, top: float) -> Spec:
    colours = palette(theme)
    axis = {
        "fixedrange": True, "zeroline": False, "gridcolor": colours.quiet, "gridwidth": 0.5, "rangemode": "tozero",
        "tickfont": {"size": 11, "color": colours.muted}, "nticks": 5,
    }  # fmt: skip
    return {
        **canvas.layout(theme),
        "height": 200,
        "xaxis": {
            **axis, "showgrid": False, "range": [0.5, max(passes, 1) + 0.5], "visible": bool(passes),
            "title": {"text": "passes so far", "font": {"size": 11, "color": colours.muted}, "standoff": 4},
        },
        "yaxis": {
            **axis, "range": [0, top], "visible": bool(passes),
            "title": {"text": "rows", "font": {"size": 11, "color": colours.muted}, "standoff": 6},
        },
        "margin": {"l": 62, "r": 66, "t": 20, "b": 38},
        "uirevision": "memory",
    }  # fmt: skip
