"""What happens when a visitor does something: asks, stops, races, opens a trace. Each handler yields what changes.

A change is {name of a part of the page: its new value}; `app.py` knows which component a name stands for. The part
"player" tells the browser which trace to look at; everything drawn from it is pulled by the browser (`studio.views`).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from recap.trace import Trace
from recap.trace_json import TraceError, read_trace
from visual import text

from . import inputs, measurement, settings, wording, words
from .conversation import Conversation
from .jobs import Answer, Contest, Job
from .shelf import Shelf
from .visitors import Visitors
from .worker import Refused, Worker

Change = dict[str, Any]
NOTHING: Change = {"notice": gr.skip()}
"""Leaves the page as it is; gradio refuses an empty change."""
MOST_SHOWN = 50
"""Traces listed for one conversation."""
_LISTENED = 0.4
"""Seconds between two looks at an answer that the browser hears of by itself."""
GONE = (
    "The conversation that this page had is no longer here: the studio was started anew, or the page was away for long. This is "
    "a new one."
)
BUSY = "The last answer is still being written: stop it, or wait for its end."


class Desk:
    """One for the whole page; what belongs to one visitor is in its Conversation."""

    def __init__(
        self, worker: Worker, recordings: Sequence[tuple[str, Trace]] = (), cards: Sequence[tuple[str | None, str]] = ()
    ) -> None:
        """`recordings`: traces to look at before the first answer, by name; `cards`: examples, (picture or None, question)."""
        self.worker, self._cards = worker, list(cards)
        self.shelf = Shelf(megabytes=worker.limits.traces_megabytes)
        self.visitors = Visitors(
            limits=worker.limits, gone=lambda conversation: self.shelf.drop(conversation.key),
            release=lambda conversation: worker.aside(lambda target: conversation.release()),
        )  # fmt: skip
        self.laboratory = measurement.Laboratory(worker)
        self._lock = threading.Lock()
        for name, trace in recordings:
            self.shelf.pin(trace, name, note="recording")
        self._first = recordings[0][0] if recordings else None

    def first(self) -> str:
        """What the player shows before anyone has come."""
        return json.dumps({"id": self._first, "live": False, "kind": "recording"})

    def arrive(self, session_hash: str, key: str | None, sure: bool = False) -> Iterator[Change]:
        """A page was opened: a new conversation, or after a reload the one that it had."""
        gone = bool(key) and self.visitors.known(key) is None
        mine = self.visitors.arrive(session_hash, key or None, sure is True)
        if mine.on_show is None and not mine.messages:
            mine.on_show = self._first
        resumed = not mine.idle or bool(mine.messages)
        kept = {f"setting-{at}": value for at, value in enumerate(mine.settings)}  # a reload sets the controls back
        yield {**self._now(mine), "image": mine.picture, "status": wording.status(self.worker), **kept}
        while self.worker.loading:
            time.sleep(1)
            yield {"status": wording.status(self.worker)}
        yield {"status": wording.status(self.worker)}
        if not resumed:  # what was typed, chosen and told meanwhile stays
            yield {**self._now(mine), **({"notice": wording.notice(GONE)} if gone else {})}
            return
        while not mine.idle:  # the page was reloaded in the middle of something, which is now being stopped
            time.sleep(0.1)
        ending = ""
        if mine.latest is not None and mine.messages:
            wording.say(mine.messages, self.worker, mine.latest)
            ending = wording.ending(mine.latest, reloaded=not mine.latest.by_hand)
        yield {**self._now(mine), "image": mine.picture, "notice": ending}

    def ask(
        self, mine: Conversation, question: str, path: str | None, way: str, most: int, *steer: Any
    ) -> Iterator[Change]:
        if _twice(mine, question):
            yield NOTHING
            return
        try:
            _free(mine)
            question, most = self._asked(question, most)
            inputs.picture(path, self.worker.limits.megapixels)
            temperature, config = settings.read(*steer)
        except ValueError as error:
            yield {"notice": wording.notice(str(error))}
            return
        mine.settings = [way, most, *steer]
        fresh = path if path != mine.picture else None
        answer = Answer(mine, question, fresh, way, most, config=config, temperature=temperature)
        yield from self._answer(mine, answer, path)

    def again(self, mine: Conversation, way: str, most: int, *steer: Any) -> Iterator[Change]:
        """Ask the last question once more; the memories keep what they learnt from the first time."""
        try:
            _free(mine)
            most = inputs.tokens(most, self.worker.limits.tokens)
            temperature, config = settings.read(*steer)
            last = mine.again()
        except (ValueError, RuntimeError) as error:
            yield {"notice": wording.notice(str(error))}
            return
        mine.settings = [way, most, *steer]
        answer = Answer(mine, last.prompt, last.picture, way, most, config=config, temperature=temperature)
        yield from self._answer(mine, answer, last.picture or mine.picture, emptied=False)

    def _answer(
        self, mine: Conversation, answer: Answer, path: str | None, emptied: bool = True
    ) -> Iterator[Change]:
        """Follow an answer; `emptied`: its question has left the box."""
        try:
            if not self._begin(answer):
                yield NOTHING if _twice(mine, answer.prompt) else {"notice": wording.notice(BUSY)}
                return
        except Refused as refusal:
            yield {**self._now(mine), "prompt": answer.prompt, "notice": wording.notice(str(refusal))}
            return
        said, before = mine.messages, len(mine.messages)
        said += [{"role": "user", "content": {"path": answer.picture}}] if answer.picture else []
        said += [{"role": "user", "content": text.typed(answer.prompt)}, {"role": "assistant", "content": ""}]
        wording.say(said, self.worker, answer)
        yield {**self._now(mine), **({"prompt": ""} if emptied else {}), "notice": ""}
        try:
            name = None
            for _ in answer.follow(words.EVERY):
                if mine.messages is not said:
                    break
                if name is not None and answer.listeners:  # its words have a way of their own, which may break off
                    answer.over(_LISTENED)
                    continue
                wording.say(said, self.worker, answer)
                if name is None and answer.trace is not None:
                    name = self._show(mine, answer.trace, "answer")
                    yield {"chat": said, "player": self._player(mine)}
                elif not answer.listeners:
                    yield {"chat": said}
        finally:  # the visitor closed the page, or the answer has ended
            answer.stop()
            if answer.said and mine.messages is said:
                mine.picture = path
        if mine.messages is not said:
            # cleared meanwhile; gradio repeats what was yielded last, so that must be what holds now
            yield self._now(mine)
            return
        end: Change = {"status": wording.status(self.worker), "notice": wording.ending(answer)}
        if name is None and answer.trace is not None and answer.trace.token_ids:
            self._show(mine, answer.trace, "answer")
        if answer.state == "failed" and not answer.said:
            del said[before:]
            mine.latest = None
            end["prompt"] = answer.prompt
        else:
            wording.say(said, self.worker, answer)
        yield {**self._now(mine), **end}

    def race(
        self, mine: Conversation, question: str, path: str | None, first: str, second: str, most: int, *steer: Any
    ) -> Iterator[Change]:
        """Two methods on one question; without a question, on the last one and its picture, or on an example."""
        try:
            _free(mine)
            if isinstance(question, str) and not question.strip():
                question, path = self._to_race(mine, path)
            question, most = self._asked(question, most)
            inputs.picture(path, self.worker.limits.megapixels)
            temperature, config = settings.read(*steer)
        except ValueError as error:
            yield {"notice": wording.notice(str(error))}
            return
        said = mine.messages
        job = Contest(mine, question, path, (first, second), most, config=config, temperature=temperature)
        try:
            if not self._begin(job):
                raise Refused(BUSY)
        except Refused as refusal:
            yield {"notice": wording.notice(str(refusal))}
            return
        yield {"player": self._player(mine), "notice": "", **self._buttons(mine)}
        try:
            for _ in job.follow(0.5):
                pass
        finally:
            job.stop()
        if mine.messages is not said:  # cleared meanwhile
            yield self._now(mine)
            return
        trace = job.traces[1] if second != "ar" else job.traces[0]
        if trace is not None and trace.token_ids:
            self._show(mine, trace, "race")
        yield {"player": self._player(mine), "notice": wording.ending(job), "status": wording.status(self.worker),
               **self._buttons(mine)}  # fmt: skip

    def _to_race(self, mine: Conversation, path: str | None) -> tuple[str, str | None]:
        """What is raced where nothing was typed: the last question, else the example that the recording on show answered, or
        one without a picture. Raises ValueError where a picture waits for a question."""
        if mine.latest is not None:
            return mine.latest.prompt, mine.latest.picture or mine.picture
        if path is not None or not self._cards:
            raise ValueError("Type a question to race on, or ask one first: the race then repeats it.")
        shown = self.shelf.get(mine.on_show) if mine.on_show else None
        asked = shown.messages[-1]["content"].split("\n") if shown is not None and shown.messages else []
        alike = [card for card in self._cards if card[1] in asked]
        image, question = next(iter(alike or [card for card in self._cards if card[0] is None] or self._cards))
        return question, image

    def measure(
        self, mine: Conversation, methods: Any, budget: Any, source: Any, own: Any, file: str | None, limit: Any, most: Any,
        repeats: Any, lens: Any, picture: str | None,
    ) -> Iterator[Change]:  # fmt: skip
        """Measure methods on inputs, while this visitor and others may go on asking."""
        try:
            job = measurement.read(
                mine, methods, budget, source, own, file, limit, most, repeats, lens, picture, self.worker.limits
            )
            self.laboratory.begin(job)
        except (ValueError, Refused) as error:
            yield {"lab-notice": wording.notice(str(error))}
            return
        yield {"player": self._player(mine), "lab-notice": "", **self._lab_buttons(mine)}
        try:
            for _ in job.follow(0.5):
                pass
        finally:
            job.stop()
        failed = wording.notice(job.error) if job.state == "failed" else ""
        yield {"player": self._player(mine), "lab-notice": failed, **self._lab_buttons(mine)}

    def stop_measuring(self, mine: Conversation) -> Change:
        if mine.measurement is not None:
            mine.measurement.stop()
        return NOTHING

    def stop(self, mine: Conversation) -> Change:
        mine.stop()
        return NOTHING

    def clear(self, mine: Conversation) -> Change:
        mine.clear()
        mine.on_show = None
        return {**self._now(mine), "notice": ""}

    def forget(self, mine: Conversation) -> Change:
        """Empty the memories of this conversation."""
        if mine.busy:
            return {"notice": wording.notice("The memories are in use: stop the answer, or wait for its end.")}
        mine.forget()
        stays = " What is warm behind U stays: it is the same for every visitor." if self.worker.warm is not None else ""
        return {"notice": wording.notice(f"G, C and U are empty now.{stays}"), "player": self._player(mine)}

    def upload(self, mine: Conversation, path: str | None) -> Change:
        """Open a trace file; no model is needed for that."""
        if path is None:
            return NOTHING
        try:
            trace = read_trace(Path(path))
        except (TraceError, OSError) as error:
            reason = getattr(error, "strerror", None) or error  # an OSError's own text names the server's folders
            return {"trace-notice": wording.notice(f"This file cannot be opened: {reason}")}
        self._show(mine, trace, "file")
        told = wording.notice("The answer is still being written; the file is in the list below.") if mine.busy else ""
        return {"trace-notice": told, "player": self._player(mine)}

    def _asked(self, question: Any, most: Any) -> tuple[str, int]:
        limits = self.worker.limits
        return inputs.question(question, limits.characters), inputs.tokens(most, limits.tokens)

    def _begin(self, job: Job) -> bool:
        """Give a job to the worker; False if the conversation has one already: two clicks may come at once. Raises Refused
        where the worker takes none."""
        with self._lock:
            if job.conversation.busy:
                return False
            self.worker.ask(job)
            return True

    def _show(self, mine: Conversation, trace: Trace, kind: str) -> str:
        """Put a trace on the visitor's page; while an answer is being written, into the list of traces alone."""
        name = self.shelf.put(trace, note=kind, growing=kind == "answer", owner=mine.key)
        mine.shown = [*mine.shown, name][-MOST_SHOWN:]
        if kind != "file" or not mine.busy:
            mine.on_show = name
        return name

    def _buttons(self, mine: Conversation) -> Change:
        busy = mine.busy
        return {
            "send": gr.update(interactive=not busy), "stop": gr.update(interactive=busy),
            "retry": gr.update(interactive=not busy and mine.latest is not None),
            "race": gr.update(interactive=not busy),
        }  # fmt: skip

    def _lab_buttons(self, mine: Conversation) -> Change:
        measuring = mine.measurement is not None
        return {"lab-start": gr.update(interactive=not measuring), "lab-stop": gr.update(interactive=measuring)}

    def _player(self, mine: Conversation) -> str:
        """What the browser has to know: its key, the trace on show, whether that grows, and the race."""
        job = mine.answer
        race, measured = mine.latest_contest, mine.latest_measurement
        live = job is not None
        growing = job is not None and job.trace is not None and self.shelf.get(mine.on_show) is job.trace
        return json.dumps({
            "key": mine.key, "id": None if live and not growing else mine.on_show, "live": live,
            "kind": self.shelf.note(mine.on_show), "race": race and race.name, "racing": mine.contest is not None,
            "traces": len(mine.shown), "remembered": len(mine.growth),
            "lab": measured and measured.name, "measuring": mine.measurement is not None,
        })  # fmt: skip

    def _now(self, mine: Conversation) -> Change:
        """Everything that shows a conversation, as it is at this moment."""
        return {
            "chat": mine.messages, "player": self._player(mine), **self._buttons(mine), **self._lab_buttons(mine)
        }  # fmt: skip


def _twice(mine: Conversation, question: Any) -> bool:
    """Whether it is the question that is being answered, from a second click, or the box which that has emptied."""
    return mine.answer is not None and isinstance(question, str) and question.strip() in ("", mine.answer.prompt.strip())


def _free(mine: Conversation) -> None:
    """Raises ValueError with a sentence while an answer or a race is in the making."""
    if mine.busy:
        raise ValueError(BUSY)
