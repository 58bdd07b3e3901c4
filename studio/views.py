"""What the browser asks for while it looks at a trace. Each function takes one JSON object and gives one back.

The page draws; here a trace is found by its unguessable id and handed to the pure functions of `visual`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import TimeoutError as TooLate
from typing import Any

from recap.trace import Step, Trace
from visual import inspector, layout, listing, memory, race, ribbon, same, summary, text, throughput, tree, weights

from .conversation import Contest, Conversation
from .shelf import Shelf
from .visitors import Visitors
from .worker import Worker

View = Callable[[Any], dict[str, Any]]
ROOM = 1.15
"""How much taller than its frame a tree may be before it is drawn densely."""
PATIENCE = 3.0
"""Seconds to wait for the device's thread."""
ASK = "Ask something: the tree of candidate tokens appears here while the answer is being written."
READING = "The model reads the question and the picture. The tree appears with the first pass."
ONE_TOKEN = "The answer was over with its first token, which comes from reading the prompt: there was nothing to guess."
NO_TREE = "This method drafts nothing: every pass of the model gives one token."


class Refused(ValueError):
    """What was asked for is not there. The message is for the page."""


def views(shelf: Shelf, visitors: Visitors, worker: Worker) -> list[View]:
    """The functions, named as the page calls them."""

    def whole(wish: Any) -> dict[str, Any]:
        """All that belongs to a trace and not to one pass: numbers, badge, the ribbon's new entries, throughput."""
        if wish.get("id") is None:
            return _nothing(wish.get("theme"))
        trace = _trace(shelf, wish)
        have = _whole_number(wish, "have", 0, len(trace.steps) + 1)
        pieces = ribbon.fragments(trace, have)
        kind = shelf.note(wish["id"]) or "answer"
        passes = len(trace.steps)
        sentence = READING if not trace.finish_reason else ONE_TOKEN
        return {
            "passes": passes, "first": have, "ribbon": pieces, "shown": _shown(trace, kind), "ended": bool(trace.finish_reason),
            "numbers": summary.numbers(trace), "badge": same.badge(trace), "split": race.split(trace),
            "origin": listing.origin(trace, kind),
            "throughput": throughput.spec([(listing.name(trace), trace)], wish.get("theme")),
            "empty": None if passes else tree.empty_spec(sentence, wish.get("theme")),
        }  # fmt: skip

    def one(wish: Any) -> dict[str, Any]:
        """All that belongs to one pass: tree, caption, weights, and the inspector of the node that tells most."""
        trace, step = _step(shelf, wish)
        look = wish.get("theme")
        room = _whole_number(wish, "height", 0, 100_000)
        tall = layout.tidy(step).height * tree.ROW > room * ROOM
        ended = trace.finish_reason == "stop" and step is trace.steps[-1]
        telling = _telling(step)
        alone = len(step) == 1 and trace.method == "ar"
        return {
            "tree": tree.empty_spec(NO_TREE, look) if alone else tree.spec(step, look, dense=tall and wish.get("dense") is not False),
            "tall": tall and not alone, "node": telling, "caption": summary.caption(step, len(trace.steps), ended),
            "weights": weights.spec(trace, step.index, look), "inspector": inspector.html(step, telling, trace.config),
        }  # fmt: skip

    def node(wish: Any) -> dict[str, Any]:
        trace, step = _step(shelf, wish)
        return {"inspector": inspector.html(step, _node(step, wish), trace.config)}

    def contest(wish: Any) -> dict[str, Any]:
        """A race as far as it is."""
        mine = visitors.known(wish.get("key"))
        job = mine.latest_contest if mine is not None else None
        if job is None or job.name != wish.get("id"):
            raise Refused("this race is no longer kept")
        names = [listing.METHODS.get(method, method) for method in job.methods]
        traces = job.traces
        lanes = [
            {"numbers": race.lane(trace, name, _state(job, trace)), "text": text.answer(trace.text) if trace else ""}
            for name, trace in zip(names, traces)
        ]
        begun = [(name, trace) for name, trace in zip(names, traces) if trace is not None]
        both = len(begun) == 2
        return {
            "lanes": lanes, "ended": job.ended,
            "result": race.result(*traces, names) if both and job.ended else "",
            "badge": same.badge(next((t for t in traces if t is not None and t.method != "ar"), traces[-1])) if both else "",
            "throughput": throughput.spec(begun, wish.get("theme")),
        }  # fmt: skip

    def remembered(wish: Any) -> dict[str, Any]:
        """What the memories of a conversation hold, and what they would say now after the chosen node."""
        trace, step = _step(shelf, wish) if wish.get("step") is not None else (None, None)
        mine = visitors.known(wish.get("key"))
        growth = mine.growth if mine is not None else []
        return {
            "growth": memory.growth_spec(growth, wish.get("theme")),
            "hits": memory.hits(trace) if trace is not None else "",
            "found": _found(worker, mine, trace, step, wish) if step is not None else "",
        }

    remembered.__name__ = "memory"

    def traces(wish: Any) -> dict[str, Any]:
        mine = visitors.known(wish.get("key"))
        own = [(name, trace) for name in (mine.shown if mine else ()) if (trace := shelf.get(name)) is not None]
        return {"list": listing.traces([("Of this page", own[::-1]), ("Recordings", shelf.pinned())], wish.get("id"))}

    def saved(wish: Any) -> dict[str, Any]:
        trace = _trace(shelf, wish)
        if not trace.finish_reason:
            raise Refused("this answer is still being written: save it when it has ended")
        stamp = "".join(one for one in trace.created if one.isdigit())[:14]
        return {"text": trace.to_json(), "name": f"recap-trace-{stamp or 'answer'}.json"}

    return [_guarded(one_view) for one_view in (whole, one, node, contest, remembered, traces, saved)]


def _nothing(look: str) -> dict[str, Any]:
    """The page before there is anything to look at."""
    return {
        "passes": 0, "first": 0, "ribbon": [], "shown": None, "ended": True, "numbers": summary.numbers(None),
        "badge": same.badge(None), "split": "", "origin": "", "throughput": throughput.spec([], look),
        "empty": tree.empty_spec(ASK, look),
    }  # fmt: skip


def _guarded(view: View) -> View:
    """What the page asks in vain is answered with a sentence; its requests may be anything at all."""

    def guarded(wish: Any) -> dict[str, Any]:
        if isinstance(wish, list) and len(wish) == 1:  # gradio hands over the list of arguments
            wish = wish[0]
        try:
            if not isinstance(wish, dict):
                raise Refused("a view takes one object")
            if wish.get("theme", "light") not in ("light", "dark"):
                raise Refused("theme must be light or dark")
            return view(wish)
        except Refused as error:
            return {"error": str(error)}

    guarded.__name__ = view.__name__
    return guarded


def _name(wish: dict[str, Any]) -> str:
    name = wish.get("id")
    if not isinstance(name, str):
        raise Refused("id must be text")
    return name


def _trace(shelf: Shelf, wish: dict[str, Any]) -> Trace:
    trace = shelf.get(_name(wish))
    if trace is None:
        raise Refused("this answer is no longer kept on the server")
    return trace


def _whole_number(wish: dict[str, Any], name: str, low: int, high: int) -> int:
    value = wish.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Refused(f"{name} must be a whole number from {low} to {high}")
    return value


def _step(shelf: Shelf, wish: dict[str, Any]) -> tuple[Trace, Step]:
    trace = _trace(shelf, wish)
    return trace, trace.steps[_whole_number(wish, "step", 0, len(trace.steps) - 1)]


def _node(step: Step, wish: dict[str, Any]) -> int:
    return _whole_number(wish, "node", -1, len(step) - 1)


def _shown(trace: Trace, kind: str) -> int | None:
    """The pass to begin with: of a recording the one that kept most, else the latest that had candidates; the latest of
    all where none had (the last token needs no draft)."""
    steps = trace.steps
    if kind == "recording" and steps:
        return max(steps, key=lambda step: len(step.accepted_nodes)).index
    return next((step.index for step in reversed(steps) if len(step) > 1), len(steps) - 1 if steps else None)


def _telling(step: Step) -> int:
    """The node whose inspector says most before anyone has clicked: the end of the accepted path, else the first."""
    accepted = step.accepted_nodes
    return accepted[-1] if accepted else min(1, len(step) - 1)


def _state(job: Contest, trace: Trace | None) -> str:
    if job.state == "failed":
        return "failed"
    if trace is None or not trace.token_ids:
        return "waiting" if job.state == "waiting" else "reading"
    return "ended" if trace.finish_reason else "writing"


def _found(worker: Worker, mine: Conversation | None, trace: Trace, step: Step, wish: dict[str, Any]) -> str:
    at = _node(step, wish)
    if mine is None or wish["id"] not in mine.shown or trace.method != "recap":
        return memory.recorded(step, at)
    before = trace.token_ids[: 1 + sum(len(one.committed) for one in trace.steps[: step.index])]
    path: list[int] = []
    end = max(at, 0)
    while end > 0:
        path.insert(0, step.tokens[end])
        end = step.parents[end]
    context = [*before, *path][-3:]
    drafter = mine.drafter("recap")
    if drafter is None:
        return memory.recorded(step, at)
    try:
        found = worker.aside(lambda target: drafter.lookup(context)).result(PATIENCE)
    except (RuntimeError, TooLate):
        return memory.recorded(step, at)
    text_of = worker.target.text_of
    return memory.retrieved([step.table.text(token) for token in context], found, lambda token: text.visible(text_of(token)))
