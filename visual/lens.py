"""Which words need the picture, in words."""

from __future__ import annotations

from typing import NamedTuple

from recap.trace import Trace

from .text import quote

CONTROLS = {"mean": "a picture of nothing but its mean colour", "other": "another picture"}


class Verdict(NamedTuple):
    """What is told of one token."""

    needs: bool
    """The model would choose otherwise."""
    story: str


def verdict(trace: Trace, token: int) -> Verdict | None:
    """Of a token of the answer, by index; None where no lens was computed."""
    lens = trace.lens
    if lens is None or token >= len(lens.choices):
        return None
    choice, own = lens.choices[token], _percent(lens.probs[token])
    needs = lens.changed(token)
    told = []
    for name, said, kept, taken in zip(lens.controls, lens.swapped, lens.kept, lens.taken):
        if said[token] != choice:
            word = quote(trace.table.text(said[token]), 40)
            sure = f"{_percent(taken[token])}, this word {_percent(kept[token])}"
            told.append(f"with {CONTROLS[name]} the model would write {word} ({sure})")
        elif needs:
            told.append(f"with {CONTROLS[name]} the same ({_percent(kept[token])})")
        else:
            told.append(f"{_percent(kept[token])} with {CONTROLS[name]}")
    if needs:
        return Verdict(True, f"◉ Needs the picture: {own} sure with it; {'; '.join(told)}.")
    return Verdict(False, f"Does not need the picture: {own} sure with it, {', '.join(told)}.")


def count(trace: Trace) -> str:
    """What the marks on the ribbon mean, and how many there are; nothing where no lens was computed."""
    if trace.lens is None:
        return ""
    tokens = len(trace.lens.choices)
    needy = sum(map(trace.lens.changed, range(tokens)))
    return f" {needy} of its {tokens} tokens need the picture{', marked ◉' if needy else ''}."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
