"""RECAP Studio: ask about a picture in the browser and see every step of how the answer was guessed and checked.

Composition and wiring only: the engine is `recap`, what happens on an event is `studio.desk`, what the browser looks at
is `studio.views`, and the pictures are `visual`.
"""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)  # a table of all events after each of them, which nobody reads here
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if __name__ == "__main__":
    from studio import ahead

    ahead.load_torch_library()

from studio import opening

if __name__ == "__main__":  # the model is read while gradio is imported
    opening.hurried()
    BEGUN = opening.begin()

import gradio as gr

from studio import health, inputs, parts, programs, recordings, uploads, wording, words
from studio.desk import Desk
from studio.examples import examples
from studio.limits import Limits
from studio.metrics import Metrics
from studio.serving import serve, unserved
from studio.views import views
from studio.worker import Worker
from visual import summary

HERE = Path(__file__).parent
MOST_EVENTS = 1000
"""Events of pages that may wait for gradio to look at them."""


def build(worker: Worker, metrics: Metrics | None = None, watched: bool | str = False) -> inputs.Checked:
    """The page and its endpoints around one worker. `watched`: whether /metrics is served, or the token that it needs."""
    metrics = metrics or Metrics()
    cards = examples(HERE / "assets" / "examples")
    desk = Desk(worker, recordings.load(HERE / "assets" / "traces"), cards)
    gr.set_static_paths([parts.PLOTLY, HERE / "assets" / "examples"])

    with inputs.Checked(title="RECAP Studio", analytics_enabled=False, fill_width=True) as page:
        with gr.Row(equal_height=False, elem_id="head"):
            status = parts.head(summary.connecting())
        with gr.Row(equal_height=False, elem_id="body"):
            with gr.Column(scale=5, min_width=320, elem_id="left"):
                with gr.Row(equal_height=False, elem_id="show"):
                    image, samples = parts.picture(), parts.samples(cards)
                flaw = parts.notice("flaw")
                chat, notice = parts.chat(), parts.notice("notice")
                with gr.Row(equal_height=True, elem_id="ask"):
                    prompt = parts.prompt()
                    send = gr.Button("Send", variant="primary", elem_id="send", scale=1, min_width=60)
                with gr.Row(equal_height=True, elem_id="steer"):
                    stop = gr.Button("Stop", variant="stop", elem_id="stop", min_width=56, interactive=False)
                    retry = gr.Button("Retry", elem_id="retry", min_width=56, interactive=False)
                    clear = gr.Button("Clear", elem_id="clear", min_width=56)
                    method = parts.method("method", "Decoding", "recap")
            with gr.Column(scale=14, min_width=320, elem_id="right"):
                with gr.Row(equal_height=True, elem_id="bar"):
                    parts.tabs()
                    race = gr.Button("Race plain decoding", elem_id="race", variant="primary", min_width=150, scale=0)
                parts.summary()
                parts.steps()
                with gr.Column(elem_id="race-view"):
                    first, second = parts.race()
                parts.stage()
                with gr.Column(elem_id="memory"):
                    forget = parts.memory()
                with gr.Column(elem_id="traces"):
                    upload, trace_notice = parts.traces()
                with gr.Column(elem_id="lab"):
                    lab, measure, stop_measuring = parts.lab()
                    lab_notice = parts.notice("lab-notice")
        with gr.Column(elem_id="settings"):
            limit, steer, ours, papers = parts.settings()
        key, sure = gr.Textbox(visible=False), gr.Checkbox(visible=False)
        player = parts.player(views(desk.shelf, desk.visitors, worker), desk.first())

        places = {
            "image": image, "chat": chat, "notice": notice, "prompt": prompt, "send": send, "stop": stop, "retry": retry,
            "race": race, "player": player, "status": status, "trace-notice": trace_notice,
            "lab-start": measure, "lab-stop": stop_measuring, "lab-notice": lab_notice,
        }  # fmt: skip
        places |= {f"setting-{at}": control for at, control in enumerate([method, limit, *steer])}
        outputs = list(places.values())
        hidden = {"api_visibility": "private", "show_progress": "hidden", "concurrency_limit": None}

        def named(change: dict[str, Any]) -> dict[Any, Any]:
            """A change under the components that it is for."""
            return {places[name]: value for name, value in change.items()}

        def wired(handler: Callable[..., Any]) -> Callable[..., Any]:
            """A handler of the desk for the visitor who sends."""

            def once(request: gr.Request, *given: Any) -> dict[Any, Any]:
                return named(handler(desk.visitors.of(inputs.session(request.session_hash)), *given))

            def growing(request: gr.Request, *given: Any) -> Iterator[dict[Any, Any]]:
                yield from map(named, handler(desk.visitors.of(inputs.session(request.session_hash)), *given))

            return growing if inspect.isgeneratorfunction(handler) else once

        def arrive(request: gr.Request, key: str, sure: bool) -> Iterator[dict[Any, Any]]:
            yield from map(named, desk.arrive(inputs.session(request.session_hash), key, sure))

        def leave(request: gr.Request) -> None:
            desk.visitors.leave(request.session_hash)

        page.load(arrive, [key, sure], outputs, js=parts.REMEMBERED_KEY, **hidden)
        page.unload(leave)
        # "multiple": a question right after Clear must not be dropped because the cleared answer is still ending
        gr.on([send.click, prompt.submit], wired(desk.ask), [prompt, image, method, limit, *steer], outputs,
              trigger_mode="multiple", **hidden)  # fmt: skip
        retry.click(wired(desk.again), [method, limit, *steer], outputs, **hidden)
        race.click(wired(desk.race), [prompt, image, first, second, limit, *steer], outputs, **hidden)
        stop.click(wired(desk.stop), None, outputs, queue=False, **hidden)
        # in the browser, at once: what is typed or chosen right after Clear must not be wiped by a late reply
        clear.click(None, None, [prompt, image], js="() => ['', null]", **hidden)
        clear.click(wired(desk.clear), None, outputs, queue=False, **hidden)
        forget.click(wired(desk.forget), None, outputs, queue=False, **hidden)
        measure.click(wired(desk.measure), [*lab, image], outputs, **hidden)
        stop_measuring.click(wired(desk.stop_measuring), None, outputs, queue=False, **hidden)
        upload.upload(wired(desk.upload), upload, outputs, queue=False, **hidden)
        image.change(wording.flaw, image, flaw, queue=False, **hidden)
        chosen = samples.click(parts.sample(cards), None, [image, prompt], **hidden)
        chosen.then(None, None, None, js="() => document.getElementById('send').focus()", **hidden)
        ours.click(parts.default_settings, None, [limit, *steer], queue=False, **hidden)
        papers.click(parts.paper_settings, None, [limit, *steer], queue=False, **hidden)
        programs.endpoints(worker)
    metrics.watch(worker, desk.visitors)
    page.limits, page.metrics, page.visitors = worker.limits, metrics, desk.visitors
    page.routes = [words.route(desk.visitors, worker), *health.routes(worker, desk.visitors, metrics, watched)]
    return page


def opened(chosen: argparse.Namespace, limits: Limits, watched: bool | str) -> tuple[inputs.Checked, Worker, Path]:
    """The page around the model that was chosen, which begins to load, its worker, and the folder of uploads. Raises
    ValueError for a file of warm rows that cannot be used."""
    metrics, worker = opening.loading(chosen, limits)
    page, folder = _page(worker, metrics, watched)
    return page, worker, folder


def _page(worker: Worker, metrics: Metrics, watched: bool | str) -> tuple[inputs.Checked, Path]:
    folder = uploads.prepare()
    with unserved():
        return build(worker, metrics, watched).queue(default_concurrency_limit=None, max_size=MOST_EVENTS), folder


def main(begun: opening.Opening | None = None) -> None:
    """Serve what has begun to load, or what the command line asks for."""
    chosen, log_format, limits, watched, port, metrics, worker = begun or opening.begin()
    page, folder = _page(worker, metrics, watched)
    enabled = {
        "model": chosen.model, "dtype": chosen.dtype, "metrics": watched and ("open" if watched is True else "with a token"),
        "log": log_format, "warm": bool(chosen.warm), **limits.described(),
    }  # fmt: skip
    serve(page, worker, port, folder, enabled)


if __name__ == "__main__":
    main(BEGUN)
