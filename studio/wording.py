"""What the page says of an answer: as it grows, while it waits, and when it has ended."""

from __future__ import annotations

from typing import Any

import recap
from recap.pictures import open_picture
from visual import summary, text
from visual.same import tokens

from .jobs import Answer, Contest, Job
from .worker import Worker, sentence


def status(worker: Worker) -> str:
    """The model and what drafts, or that it is loading, or why it could not be loaded, as HTML."""
    target = worker.target
    core = recap.Drafter().backend if target else ""
    return summary.status(target and target.describe(), core, worker.error, worker.seconds_loading, worker.doing)


def flaw(path: str | None) -> str:
    """Whether a picture opens, told before anyone asks about it, as HTML."""
    try:
        if path is not None:
            open_picture(path)
    except ValueError as error:
        return notice(sentence(error))
    return ""


def notice(sentence: str) -> str:
    """A sentence that screen readers announce, as HTML; nothing for none."""
    return f'<p role="alert">{text.html(sentence)}</p>' if sentence else ""


def ending(answer: Job, reloaded: bool = False) -> str:
    """Why an answer or a race ended, where that needs a word, as HTML. `reloaded`: it was stopped by loading the page anew."""
    if answer.state == "failed":
        return notice(answer.error)
    if isinstance(answer, Contest):
        whole = answer.race is not None and answer.race.finished
        return "" if whole else notice("The race was stopped; both lanes show how far they came.")
    if answer.stopped and answer.said and answer.trace.finish_reason == "cancelled":
        why = "Loading the page anew stopped the answer" if reloaded else "Stopped"
        return notice(f"{why} after {tokens(len(answer.trace.token_ids))}; what was said is kept.")
    if answer.trace and answer.trace.finish_reason == "length":
        return notice(f"The answer ends here because it reached the limit of {tokens(answer.max_new_tokens)}.")
    return ""


def say(said: list[dict[str, Any]], worker: Worker, answer: Answer) -> None:
    """Write the answer as far as it is into its chat."""
    said[-1] = {"role": "assistant", "content": text.answer(answer.text) or _waiting(worker, answer)}


def words(worker: Worker, answer: Answer) -> str:
    """The answer as far as it is, or what it waits for, as HTML."""
    return text.answer(answer.text or _waiting(worker, answer))


def _waiting(worker: Worker, answer: Answer) -> str:
    if answer.ended:
        return "*(stopped before the first word)*" if answer.stopped else "*(the model said nothing)*"
    if worker.loading:
        return "*Waiting for the model to load …*"
    if ahead := worker.ahead(answer):
        wait = worker.wait(answer)
        return f"*Waiting for {ahead} other answer{'s' if ahead > 1 else ''}{wait and f', {wait}'} …*"
    return "*Looking at the picture …*" if answer.picture else "*Reading the question …*"
