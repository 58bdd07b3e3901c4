"""What the browser asks for, without a browser: every view on recorded and on random traces, and wishes in vain."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import recap
from recap.trace import Step, Trace
from studio import recordings, views
from studio.jobs import Answer, Contest
from studio.sending import sent
from studio.shelf import Shelf
from studio.visitors import Visitors
from studio.worker import Worker
from visual import inspector, memory, ribbon, summary, text, tree, weights

from . import synthetic
from .panels import Page
from .test_worker import wait

RECORDED = recordings.load(Path(__file__).parents[1] / "assets" / "traces")
NAMES = ["whole", "one", "node", "weighed", "contest", "memory", "traces", "saved", "lens", "measurement", "measured"]


class Room:
    """A shelf with the recordings and a random answer under "mine", a visitor, and the views around them."""

    def __init__(self, worker: Worker) -> None:
        self.shelf, self.visitors, self.worker = Shelf(), Visitors(), worker
        for name, trace in RECORDED:
            self.shelf.pin(trace, name, note="recording")
        self.trace = synthetic.trace(random.Random(3), steps=5)
        self.shelf.pin(self.trace, "mine", note="answer")
        self.visitor = self.visitors.arrive("page")
        self.ask = {view.__name__: view for view in views.views(self.shelf, self.visitors, worker)}

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        """The answer of a view, which must be plain JSON."""
        if name not in NAMES:
            raise AttributeError(name)

        def answer(**wish: Any) -> dict[str, Any]:
            given = self.ask[name]({"theme": "light", **wish})
            assert json.loads(json.dumps(given, allow_nan=False)) == json.loads(json.dumps(given))
            return given

        return answer


@pytest.fixture
def room() -> Room:
    """Around a worker that has no model."""
    worker = Worker(lambda: None)
    worker.error = "there is none"
    return Room(worker)


@pytest.fixture
def engine(target: Any) -> Iterator[Room]:
    """Around a tiny model."""
    worker = Worker(lambda: target("llava"))
    worker.start()
    yield Room(worker)
    worker._thread.shutdown(wait=True)


def own(room: Room, **settings: Any) -> tuple[str, Answer]:
    """An answer of the visitor's and the id of its trace."""
    answer = wait(room.worker.ask(Answer(room.visitor, "What is it?", None, settings.pop("method", "recap"), 16)))
    name = room.shelf.put(answer.trace, note="answer")
    room.visitor.shown.append(name)
    return name, answer


def test_the_views_and_their_names(room: Room) -> None:
    assert list(room.ask) == NAMES


@pytest.mark.parametrize("name, trace", [*RECORDED, ("mine", None)], ids=lambda it: it if isinstance(it, str) else "")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_belongs_to_a_whole_answer(room: Room, name: str, trace: Trace | None, theme: str) -> None:
    trace = trace or room.trace
    whole = room.whole(id=name, have=0, theme=theme)
    passes = len(trace.steps)
    assert (whole["passes"], whole["first"], whole["ended"]) == (passes, 0, True)
    assert not {"empty", "view"} & set(whole)
    assert whole["ribbon"] == ribbon.fragments(trace) and len(whole["ribbon"]) == passes + 1
    assert whole["numbers"] == summary.numbers(trace)
    assert "same" in whole["badge"] and f"{len(trace.token_ids)} tokens" in Page(whole["badge"]).text
    assert ("A recording." in whole["origin"]) is name.startswith("recording")
    names = [one["name"] for one in whole["throughput"]["data"] if one.get("name")]
    assert names and any("RECAP" in one for one in names)
    quick = room.whole(id=name, have=0, theme=theme, whole=False)
    assert quick == {key: value for key, value in whole.items() if key not in ("numbers", "badge", "origin", "split", "throughput")}
    more = room.whole(id=name, have=3, theme=theme)
    assert more["first"] == 3 and more["ribbon"] == whole["ribbon"][3:]
    assert room.whole(id=name, have=passes + 1, theme=theme)["ribbon"] == []


def followed(room: Room, name: str) -> int:
    """The pass that the page shows when it follows."""
    view = room.whole(id=name, have=0, follow=True, height=400)["view"]
    assert view == room.one(id=name, step=view["step"], height=400)
    assert "view" not in room.whole(id=name, have=0, follow=True, height=400, step=view["step"]), (
        "it is on show already"
    )
    quick = room.whole(id=name, have=0, follow=True, height=400, whole=False)["view"]
    assert quick == {key: value for key, value in view.items() if key != "inspector"}
    return view["step"]


def test_a_recording_begins_with_the_pass_that_kept_most_and_an_answer_with_its_last_tree(room: Room) -> None:
    for name, trace in RECORDED:
        kept = [len(step.accepted_nodes) for step in trace.steps]
        assert kept[followed(room, name)] == max(kept)
    assert followed(room, "mine") == 4
    bare = synthetic.trace(random.Random(1), steps=3)
    bare.steps[-1] = synthetic.step(random.Random(2), bare.table, 2, nodes=0, suffix=0)
    room.shelf.pin(bare, "bare", note="answer")
    assert len(bare.steps[-1]) == 1 and followed(room, "bare") == 1
    assert "height must be" in room.whole(id="mine", have=0, follow=True)["error"]


def test_before_anything_is_there(room: Room) -> None:
    nothing = room.whole(id=None, have=0, theme="dark")
    assert (nothing["passes"], nothing["first"], nothing["ribbon"]) == (0, 0, [])
    assert "Ask something" in text_of(nothing["empty"]) and nothing["numbers"] == summary.numbers(None)
    begun = synthetic.trace(random.Random(0), steps=0, compared=False)
    begun.finish_reason = ""
    room.shelf.pin(begun, "begun", note="answer")
    assert "reads the question" in text_of(room.whole(id="begun", have=0)["empty"])
    assert room.whole(id="begun", have=0)["ended"] is False
    begun.finish_reason = "stop"
    assert "over with its first token" in text_of(room.whole(id="begun", have=0)["empty"])
    assert "error" in room.one(id="begun", step=0, height=400)


def text_of(spec: dict[str, Any]) -> str:
    return " ".join(note["text"] for note in spec["layout"]["annotations"]).replace("<br>", " ")


def test_what_belongs_to_one_pass(room: Room) -> None:
    for name, trace in (RECORDED[0], ("mine", room.trace)):
        for step in trace.steps:
            one = room.one(id=name, step=step.index, height=10_000, theme="dark")
            assert one["tree"] == tree.spec(step, "dark") and one["tall"] is False
            assert one["inspector"] == inspector.html(step, one["node"], trace.config)
            assert one["node"] == (step.accepted_nodes[-1] if step.accepted_nodes else min(1, len(step) - 1))
            ended = trace.finish_reason == "stop" and step is trace.steps[-1]
            assert one["caption"] == summary.caption(step, len(trace.steps), ended)
            assert room.weighed(id=name, step=step.index, theme="dark") == {"weights": weights.spec(trace, step.index, "dark")}


def test_a_tall_tree_is_drawn_densely_unless_the_reader_wants_to_read_it(room: Room) -> None:
    name, trace = RECORDED[0]
    step = max(trace.steps, key=len)
    dense = room.one(id=name, step=step.index, height=310)
    roomy = room.one(id=name, step=step.index, height=310, dense=False)
    assert dense["tall"] and roomy["tall"]
    assert dense["tree"] == tree.spec(step, dense=True) and roomy["tree"] == tree.spec(step)
    nodes = [node for one in dense["tree"]["data"] if "markers" in one["mode"] for node in one.get("customdata", [])]
    assert sorted(nodes) == list(range(-1 if step.bonus is not None else 0, len(step)))


def test_any_node_can_be_looked_into(room: Room) -> None:
    name, trace = RECORDED[0]
    step = trace.steps[7]
    for node in range(-1, len(step)):
        assert room.node(id=name, step=7, node=node) == {"inspector": inspector.html(step, node, trace.config)}


def test_lists_and_files(room: Room) -> None:
    room.visitor.shown += ["mine", "long gone"]
    listed = room.traces(key=room.visitor.key, id="mine")["list"]
    buttons = Page(listed).elements
    assert [one["data-trace"] for tag, one in buttons if tag == "button"][0] == "mine"
    assert "Your answers" in listed and "long gone" not in listed
    strangers = room.traces(key="nobody's", id=None)["list"]
    assert "Your answers" not in strangers and RECORDED[0][0] in strangers
    saved = room.saved(id=RECORDED[0][0])
    assert Trace.from_json(saved["text"]) == RECORDED[0][1]
    assert saved["name"].startswith("recap-trace-20") and saved["name"].endswith(".json")
    room.trace.finish_reason = ""
    assert "still being written" in room.saved(id="mine")["error"]


def test_memory_of_a_recording_is_what_was_recorded(room: Room) -> None:
    name, trace = RECORDED[0]
    for node in (0, 5, len(trace.steps[7]) - 1):
        seen = room.memory(key=room.visitor.key, id=name, step=7, node=node)
        assert seen["found"] == memory.recorded(trace.steps[7], node) and seen["hits"] == memory.hits(trace)
    nothing = room.memory(key=room.visitor.key, id=None, step=None, node=0)
    assert nothing["found"] == nothing["hits"] == "" and "Ask something" in text_of(nothing["growth"])


def test_the_models_own_choice_has_a_place_in_memory_too(room: Room) -> None:
    """The page sends node -1 when the reader has chosen it."""
    name, trace = RECORDED[0]
    seen = room.memory(key=room.visitor.key, id=name, step=7, node=-1)
    assert "error" not in seen and "memory held" in Page(seen["found"]).words


def test_memory_of_the_visitors_own_answer_is_what_it_holds_now(engine: Room) -> None:
    name, answer = own(engine)
    step = next(step for step in answer.trace.steps if len(step) > 2)
    seen = engine.memory(key=engine.visitor.key, id=name, step=step.index, node=1)
    context = context_of(answer.trace, step, 1)
    found = engine.visitor.drafter("recap").lookup(context)
    ids, probs = found["U"]
    assert found["U"] is not None and len(context) == 3
    words = Page(seen["found"]).words
    assert f"{100 * probs[0]:.0f}" in words and answer.trace.table.text(step.tokens[1])[:3].strip() in words
    assert len(seen["growth"]["data"]) == 3
    assert engine.visitor.growth == [[step.sizes for step in answer.trace.steps]]
    engine.visitor.forget()
    after = engine.memory(key=engine.visitor.key, id=name, step=step.index, node=1)
    assert after["found"] == memory.recorded(step, 1) and after["growth"]["data"] == []
    stranger = engine.memory(key="nobody's", id=name, step=step.index, node=1)
    assert stranger["found"] == memory.recorded(step, 1), "nobody looks into another visitor's memories"


def context_of(trace: Trace, step: Step, node: int) -> list[int]:
    path: list[int] = []
    while node > 0:
        path.insert(0, step.tokens[node])
        node = step.parents[node]
    before = trace.token_ids[: 1 + sum(len(one.committed) for one in trace.steps[: step.index])]
    return [*before, *path][-3:]


def test_the_models_own_choice_is_looked_up_after_the_path_that_it_ends(engine: Room) -> None:
    name, answer = own(engine)
    step = next(step for step in answer.trace.steps if step.bonus is not None and step.accepted_nodes)
    node = step.accepted_nodes[-1]
    there = engine.memory(key=engine.visitor.key, id=name, step=step.index, node=-1)["found"]
    context = [*context_of(answer.trace, step, node), step.bonus][-3:]
    quoted = " ".join(text.quote(answer.trace.table.text(token), 16) for token in context)
    assert f"After {quoted} memory holds" in Page(there).words


def test_a_race_from_its_first_look_to_its_end(engine: Room) -> None:
    gate, entered = threading.Event(), threading.Event()
    contest = Contest(engine.visitor, "What is it?", None, ("ar", "recap"), 12, config=recap.RecapConfig(max_nodes=7))
    key = engine.visitor.key
    assert engine.contest(key=key, id=contest.name)["error"] == "this race is no longer kept"
    contest._passed = lambda: (entered.set(), gate.wait(30))
    engine.worker.ask(contest)
    assert entered.wait(30)
    while contest.traces[0] is None:
        time.sleep(0.01)
    begun = engine.contest(key=key, id=contest.name)
    assert begun["ended"] is False and begun["result"] == begun["badge"] == ""
    assert ["plain decoding" in lane["numbers"] for lane in begun["lanes"]] == [True, False]
    assert "reading" in begun["lanes"][1]["numbers"] and begun["lanes"][1]["text"] == ""
    gate.set()
    wait(contest)
    ended = engine.contest(key=key, id=contest.name)
    assert ended["ended"] is True and "same 12 tokens" in Page(ended["result"]).text
    assert "✓ same 12 tokens" in Page(ended["badge"]).text
    assert ended["lanes"][0]["text"] == ended["lanes"][1]["text"] != ""
    for other in ({"key": key, "id": "another"}, {"key": "nobody's", "id": contest.name}, {}, {"key": [], "id": {}}):
        assert engine.contest(**other)["error"] == "this race is no longer kept"


def test_a_race_that_fails_says_so_in_its_lanes(engine: Room) -> None:
    contest = wait(engine.worker.ask(Contest(engine.visitor, "the cat " * 900, None)))
    told = engine.contest(key=engine.visitor.key, id=contest.name)
    assert contest.state == "failed" and told["ended"] is True and told["result"] == ""
    assert all("failed" in lane["numbers"] for lane in told["lanes"])


def test_plain_decoding_has_no_tree_and_says_so(engine: Room) -> None:
    name, answer = own(engine, method="ar")
    one = engine.one(id=name, step=2, height=400)
    assert one["tree"]["data"] == [] and "drafts nothing" in text_of(one["tree"]) and one["node"] == 0
    assert "plain decoding" in Page(engine.whole(id=name, have=0)["badge"]).text


@pytest.mark.parametrize("view", NAMES)
@pytest.mark.parametrize(
    "wish", [None, 5, "mine", [], [{}, {}], ["mine"], {"theme": "pink"}, {"theme": None}, {"theme": []}]
)
def test_what_is_no_wish_is_refused(room: Room, view: str, wish: Any) -> None:
    answer = room.ask[view](wish)
    assert set(answer) == {"error"} and len(answer["error"]) < 100


@pytest.mark.parametrize("view", ["whole", "one", "node", "saved", "memory"])
@pytest.mark.parametrize("name", ["gone", "", 5, [], {"a": 1}, True])
def test_traces_that_are_not_there(room: Room, view: str, name: Any) -> None:
    answer = room.ask[view]({"id": name, "have": 0, "step": 0, "node": 0, "height": 400, "theme": "light"})
    assert set(answer) == {"error"} and answer["error"] in (
        "this answer is no longer kept on the server",
        "id must be text",
    )


@pytest.mark.parametrize("bad", [-1, 5, 10**30, 1.5, "0", True, None, [0], float("nan")])
def test_numbers_out_of_range(room: Room, bad: Any) -> None:
    fine = {"id": "mine", "theme": "light", "have": 0, "step": 0, "node": 0, "height": 400}
    for view, name in (("one", "step"), ("node", "step")):
        assert f"{name} must be a whole number from 0 to 4" in room.ask[view]({**fine, name: bad})["error"]
    assert (bad == 5) or "have must be a whole number from 0 to 6" in room.ask["whole"]({**fine, "have": bad})["error"]
    if bad not in (-1, 5):
        assert "node must be a whole number from -1" in room.ask["node"]({**fine, "node": bad})["error"]
        assert "height must be a whole number" in room.ask["one"]({**fine, "height": bad})["error"]


def test_a_wish_without_a_theme_is_light_and_lists_of_one_are_opened(room: Room) -> None:
    wish = {"id": "mine", "step": 1, "height": 10_000, "have": 0}
    for view in ("one", "whole"):
        assert room.ask[view]([wish]) == room.ask[view]({**wish, "theme": "light"})


def test_what_is_sent_is_json_whatever_a_model_says() -> None:
    def view(wish: Any) -> dict[str, Any]:
        return {"text": wish, "number": 0.25}

    assert sent(view).__name__ == "view"
    for said, comes in (("ä 🌳 </script>", "ä 🌳 </script>"), ("half \ud83c", "half ?"), ("\0\u202e", "\0\u202e")):
        answer = sent(view)(said)
        assert json.loads(bytes(answer.body)) == {"text": comes, "number": 0.25}
        assert answer.media_type == "application/json"
    assert "not a number" in json.loads(bytes(sent(view)(float("nan")).body))["error"]
