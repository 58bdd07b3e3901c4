"""The two endpoints for programs: /chat and /race. Each request is a conversation of its own; those of one client run one
after another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr

import recap

from . import inputs
from .conversation import Conversation
from .jobs import Answer, Contest, Job
from .limits import Limits
from .worker import Refused, Worker

EVERY = 0.1
"""Seconds between two parts of a streamed answer."""
CUT = "The studio is closing, and this answer ended before it was whole; ask again in a minute."


def endpoints(worker: Worker) -> None:
    """Add both to the page that is being built."""

    def chat(
        prompt: str, image: str | None, method: str, max_new_tokens: int, request: gr.Request
    ) -> Iterator[str]:
        """One answer without a conversation, its text growing as it is decoded.

        prompt: the question; image: a picture, or null for none; method: how to decode; max_new_tokens: 1 or more.
        """
        prompt, method, max_new_tokens = _checked(worker.limits, prompt, image, method, max_new_tokens)
        answer = Answer(Conversation(request.session_hash), prompt, image, method, max_new_tokens)
        shown = None
        for _ in _followed(worker, answer):
            if answer.text != shown and not answer.error:
                shown = answer.text
                yield shown
        yield answer.text

    def race(
        prompt: str, image: str | None, method: str, max_new_tokens: int, request: gr.Request
    ) -> Iterator[tuple[str, str, float | None, float, bool]]:
        """A method against plain decoding (AR) on one question, taking turns on the device; each clock counts its own time.

        Takes what /chat takes. Gives the method's text, AR's text, S (tokens per second over AR's in the same run), tau
        (1 + accepted drafts per pass) and whether both gave the same tokens; the last values are those that hold.
        """
        prompt, method, max_new_tokens = _checked(worker.limits, prompt, image, method, max_new_tokens)
        job = Contest(Conversation(request.session_hash), prompt, image, ("ar", method), max_new_tokens)
        for _ in _followed(worker, job):
            if not job.error and job.race is not None:
                yield _standing(job)
        yield _standing(job)

    given = [gr.Textbox(visible=False), gr.Image(type="filepath", visible=False), gr.Textbox("recap", visible=False),
             gr.Number(200, precision=0, visible=False)]  # fmt: skip
    for one in given:  # as it was sent: `_checked` says what is wrong with it
        one.preprocess = inputs.path_of if isinstance(one, gr.Image) else lambda value: value
    said = gr.Textbox(visible=False)
    standing = [gr.Textbox(visible=False, label="text"), gr.Textbox(visible=False, label="text_ar"),
                gr.Number(visible=False, label="S"), gr.Number(visible=False, label="tau"),
                gr.Checkbox(visible=False, label="identical")]  # fmt: skip
    for run, name, outputs in ((chat, "chat", said), (race, "race", standing)):
        gr.Button(visible=False).click(
            run, given, outputs, api_name=name, concurrency_limit=None, show_progress="hidden",
        )  # fmt: skip


def _checked(limits: Limits, prompt: Any, image: str | None, method: Any, most: Any) -> tuple[str, str, int]:
    try:
        question = inputs.question(prompt, limits.characters)
        inputs.picture(image, limits.megapixels)
        return question, inputs.method(method, recap.METHODS), inputs.tokens(most, limits.tokens)
    except ValueError as error:
        raise gr.Error(str(error), print_exception=False) from None


def _followed(worker: Worker, job: Job) -> Iterator[None]:
    """Give a job to the worker and follow it to its end; it is stopped when the program goes away."""
    try:
        worker.ask(job)
    except Refused as refusal:
        raise gr.Error(str(refusal), print_exception=False) from None
    cut = False
    try:
        yield from job.follow(EVERY)
        # by nobody but a server that ends: a program takes what it gets without an error for whole
        cut = job.stopped and any(trace is None or trace.finish_reason == "cancelled" for trace in job.answers)
    finally:
        job.stop()
        job.conversation.close()
    if job.error or cut:
        raise gr.Error(job.error or CUT, print_exception=False)


def _standing(job: Contest) -> tuple[str, str, float | None, float, bool]:
    plain, other = job.traces
    return (
        other.text if other else "", plain.text if plain else "", job.race.speedup if job.race else None,
        other.acceptance_length if other else 1.0, bool(job.race and job.race.identical),
    )  # fmt: skip
