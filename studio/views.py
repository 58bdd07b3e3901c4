"""What the browser asks for while it looks at a trace. Each function takes one JSON object and gives one back.

The page draws; here a trace is found by its unguessable id and handed to the pure functions of `visual`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import TimeoutError as TooLate
from typing import Any

from recap.bench import report, tables
from recap.trace import Step, Trace
from visual import (
    inspector,
    lab,
    layout,
    listing,
    memory,
    race,
    reasons,
    ribbon,
    same,
    summary,
    text,
    throughput,
    tree,
    weights,
)

from . import looking
from .conversation import Conversation
from .jobs import Contest
from .measurement import KINDS, Measurement
from .shelf import Shelf
from .visitors import Visitors
from .worker import Worker

log = logging.getLogger(__name__)

View = Callable[[Any], dict[str, Any]]
PATIENCE = 3.0
"""Seconds to wait for the device's thread."""
ASK = "Ask something: the tree of candidate tokens appears here while the answer is being written."
READING = "The model reads the question. The tree appears with the first pass."
STOPPED = "Stopped before the first token."
ONE_TOKEN = "The answer was over with its first token, which comes from reading the prompt: there was nothing to guess."
NO_TREE = "This method drafts nothing: every pass of the model gives one token."


class Refused(ValueError):
    """What was asked for is not there. The message is for the page."""


def views(shelf: Shelf, visitors: Visitors, worker: Worker) -> list[View]:
    """The functions, named as the page calls them."""

    def whole(wish: Any) -> dict[str, Any]:
        """What belongs to a trace and not to one pass: numbers, badge, the ribbon's new entries, throughput. With
        `follow` the view of the pass to show comes along, unless it is `step`, which is on show; without `whole` what
        can wait stays away."""
        look = wish["theme"]
        if wish.get("id") is None:
            return _nothing(look)
        trace = _trace(shelf, wish)
        have = _whole_number(wish, "have", 0, len(trace.steps) + 1)
        kind = shelf.note(wish["id"]) or "answer"
        passes = len(trace.steps)
        found = {
            "passes": passes, "first": have, "ribbon": ribbon.fragments(trace, have), "ended": bool(trace.finish_reason),
        }  # fmt: skip
        if wish.get("whole") is not False:
            found |= {"numbers": summary.numbers(trace), "badge": same.badge(trace), "origin": listing.origin(trace, kind)}
            found["split"] = race.split(trace)
            found["throughput"] = throughput.spec([(listing.name(trace), trace)], look)
        if not passes:
            sentence = STOPPED if not trace.token_ids else ONE_TOKEN
            found["empty"] = tree.empty_spec(sentence if trace.finish_reason else READING, look)
        shown = _shown(trace, kind)
        if wish.get("follow") and shown is not None and shown != wish.get("step"):
            found["view"] = view(trace, trace.steps[shown], wish)
        return found

    def view(trace: Trace, step: Step, wish: dict[str, Any]) -> dict[str, Any]:
        look = wish["theme"]
        height = _whole_number(wish, "height", 0, 100_000)
        places = layout.tidy(step)
        frame = (_whole_number(wish, "width", 0, 100_000) if "width" in wish else None, height)
        tall = not tree.fits(step, places, frame)
        ended = trace.finish_reason == "stop" and step is trace.steps[-1]
        telling = _telling(step)
        alone = len(step) == 1 and trace.method == "ar"
        dense = tall and wish.get("dense") is not False
        found = {
            "tree": tree.empty_spec(NO_TREE, look) if alone else tree.spec(
                step, look, None, dense, places, frame if frame[0] else None
            ),
            "tall": tall and not alone, "node": telling, "step": step.index,
            "caption": summary.caption(step, len(trace.steps) if trace.finish_reason else 0, ended),
        }  # fmt: skip
        if wish.get("whole") is not False:
            found["inspector"] = inspector.html(step, telling, trace.config)
        return found

    def one(wish: Any) -> dict[str, Any]:
        """What is seen first of a pass: tree, caption, and the inspector of the node that tells most."""
        return view(*_step(shelf, wish), wish)

    def node(wish: Any) -> dict[str, Any]:
        trace, step = _step(shelf, wish)
        return {"inspector": inspector.html(step, _node(step, wish), trace.config)}

    def weighed(wish: Any) -> dict[str, Any]:
        """Fusion weights of a pass, which nobody reads while the slider moves."""
        trace, step = _step(shelf, wish)
        return {"weights": weights.spec(trace, step.index, wish["theme"])}

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
        asked = race.explain(job.prompt, bool(job.picture))
        found = {"lanes": lanes, "ended": job.ended, "asked": asked, "result": "", "badge": ""}
        if len(begun) == 2:
            found["result"] = (race.result if job.ended else race.standing)(*traces, names)
        if len(begun) == 2 and job.ended:
            found["badge"] = same.badge(traces[0] if job.methods[1] == "ar" else traces[1])
        if wish.get("whole") is not False or job.ended:
            found["throughput"] = throughput.spec(begun, wish["theme"])
        return found

    def remembered(wish: Any) -> dict[str, Any]:
        """What the memories of a conversation hold, and what they would say now after the chosen node."""
        trace, step = _step(shelf, wish) if wish.get("step") is not None else (None, None)
        mine = visitors.known(wish.get("key"))
        growth = mine.growth if mine is not None else []
        return {
            "growth": memory.growth_spec(growth, wish["theme"]),
            "hits": memory.hits(trace) if trace is not None else "",
            "found": _found(worker, mine, trace, step, wish) if step is not None else "",
        }

    remembered.__name__ = "memory"

    def traces(wish: Any) -> dict[str, Any]:
        mine = visitors.known(wish.get("key"))
        own = [(name, trace) for name in (mine.shown if mine else ())[::-1] if (trace := shelf.get(name)) is not None]
        groups = [
            (heading, [one for one in own if shelf.note(one[0]) == kind])
            for kind, heading in (("answer", "Your answers"), ("race", "From your races"), ("file", "From files"))
        ]
        return {"list": listing.traces([*groups, ("Recordings", shelf.pinned())], wish.get("id"))}

    def lens(wish: Any) -> dict[str, Any]:
        """Look which words of the last answer need its picture. Asked again and again, until "ended"."""
        trace, mine = _trace(shelf, wish), visitors.known(wish.get("key"))
        if trace.lens is not None:
            return {"ended": True}
        if mine is None:
            raise Refused("this page is no longer known; load it anew")
        job = looking.of(mine, trace)
        if job is None or (job.ended and wish.get("begin") is True):
            try:
                job = worker.ask(looking.begin(mine, trace))
            except (ValueError, RuntimeError) as error:
                raise Refused(str(error)) from None
        if job.state == "failed":
            raise Refused(job.error)
        return {"ended": job.ended}

    def measurement(wish: Any) -> dict[str, Any]:
        """A measurement as far as it is; tables and figures where the page has those of fewer answers, or another theme."""
        job = _measurement(visitors, wish)
        state = "stopped" if job.state == "done" and job.answered < job.total else job.state
        ahead = worker.ahead(job) if state == "waiting" and not worker.loading else 0
        found: dict[str, Any] = {
            "progress": lab.progress(state, job.answered, job.total, job.seconds_left, ahead, job.error),
            "ended": job.ended, "have": job.done,
        }  # fmt: skip
        if job.done != wish.get("have"):
            words = [report.shown(one) for one in job.tables()]
            found["tables"] = lab.tables(words, tables.facts(job.about) if words else [])
            found["figures"] = [
                {"title": one.title, "note": one.note, "spec": one.specs[wish["theme"]]} for one in job.pictures()
            ]
        return found

    def measured(wish: Any) -> dict[str, Any]:
        """A file of a measurement, to be saved."""
        job, kind = _measurement(visitors, wish), wish.get("kind")
        if kind not in KINDS:
            raise Refused(f"kind must be one of {', '.join(KINDS)}")
        try:
            return {"text": job.saved(kind), "name": f"recap-{KINDS[kind]}"}
        except ValueError as error:
            raise Refused(str(error)) from None

    def saved(wish: Any) -> dict[str, Any]:
        trace = _trace(shelf, wish)
        if not trace.finish_reason and shelf.note(_name(wish)) != "file":
            raise Refused("this answer is still being written: save it when it has ended")
        stamp = "".join(one for one in trace.created if one.isdigit())[:14]
        return {"text": trace.to_json(), "name": f"recap-trace-{stamp or 'answer'}.json"}

    return [_guarded(one_view) for one_view in (whole, one, node, weighed, contest, remembered, traces, saved, lens, measurement, measured)]


def _nothing(look: str) -> dict[str, Any]:
    """The page before there is anything to look at."""
    return {
        "passes": 0, "first": 0, "ribbon": [], "ended": True, "numbers": summary.numbers(None),
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
            wish = {"theme": "light", **wish}
            if wish["theme"] not in ("light", "dark"):
                raise Refused("theme must be light or dark")
            return view(wish)
        except Refused as error:
            return {"error": str(error)}
        except Exception as error:  # a file from elsewhere may hold numbers that no picture can be made of
            log.warning("%s cannot be shown: %s", view.__name__, type(error).__name__)
            return {"error": f"this cannot be shown: the trace holds something unusual ({type(error).__name__})"}

    guarded.__name__ = view.__name__
    return guarded


def _name(wish: dict[str, Any]) -> str:
    name = wish.get("id")
    if not isinstance(name, str):
        raise Refused("id must be text")
    return name


def _measurement(visitors: Visitors, wish: dict[str, Any]) -> Measurement:
    mine = visitors.known(wish.get("key"))
    job = mine.latest_measurement if mine is not None else None
    if job is None or job.name != _name(wish):
        raise Refused("this measurement is no longer kept")
    return job


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
    """The pass to begin with: of a recording the one that kept most, else the latest that had candidates."""
    if kind == "recording" and trace.steps:
        return max(trace.steps, key=lambda step: len(step.accepted_nodes)).index
    return trace.last_drafted


def _telling(step: Step) -> int:
    """The node whose inspector says most before anyone has clicked: the end of the accepted path, else the first."""
    return reasons.end_of_path(step) or min(1, len(step) - 1)


def _state(job: Contest, trace: Trace | None) -> str:
    if job.state == "failed":
        return "failed"
    if job.ended and (trace is None or not trace.token_ids):
        return "stopped"
    if trace is None or not trace.token_ids:
        return "waiting" if job.state == "waiting" else "reading"
    return "ended" if trace.finish_reason else "writing"


def _found(worker: Worker, mine: Conversation | None, trace: Trace, step: Step, wish: dict[str, Any]) -> str:
    chosen = _node(step, wish)
    at = end = chosen if chosen >= 0 else reasons.end_of_path(step)
    if mine is None or wish["id"] not in mine.shown or trace.method != "recap":
        return memory.recorded(step, at)
    prompt_end = mine.latest.prompt_end if mine.latest is not None and mine.latest.trace is trace else []
    before = prompt_end + trace.token_ids[: 1 + sum(len(one.committed) for one in trace.steps[: step.index])]
    path = [step.bonus] if chosen < 0 and step.bonus is not None else []
    while end > 0:
        path.insert(0, step.tokens[end])
        end = step.parents[end]
    context = [*before, *path][-3:]
    drafter = mine.drafter("recap")
    if drafter is None:
        return memory.recorded(step, at)
    try:
        found, warm = worker.aside(
            lambda target: (drafter.lookup(context), drafter.from_base(context))
        ).result(PATIENCE)
    except (RuntimeError, TooLate):
        return memory.recorded(step, at)
    text_of = worker.target.text_of
    return memory.retrieved(
        [text_of(token) for token in context], found, lambda token: text.visible(text_of(token)), warm
    )
