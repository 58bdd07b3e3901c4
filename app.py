"""RECAP Studio: ask about a picture in the browser and watch the answer being drafted and verified.

Composition and wiring only: the engine is `recap`, the device's thread `studio.worker`, the pictures are `visual`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr
import plotly
from starlette.middleware import Middleware

import recap
from recap.pictures import open_picture
from recap.targets.loading import default_model
from studio import inputs, wording
from studio.examples import examples
from studio.policy import OnlyThisServer
from studio.theme import theme
from studio.worker import Answer, Conversation, Worker
from visual import summary, text, tree

HERE = Path(__file__).parent
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
METHODS = {"recap": "RECAP", "ar": "Plain decoding (AR)"}
TEXT_EVERY, TREE_EVERY = 0.1, 0.4
"""Seconds between two looks at a growing answer, and between two trees: what an eye can take."""
NO_TREE = "Ask something: the tree of candidate tokens appears here while the answer is being written."
NO_PASS = "This method drafts nothing: each pass of the model gives one token, so there is no tree to draw."


def build(worker: Worker) -> gr.Blocks:
    """The page and its endpoints around one worker."""
    visitors: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
    gr.set_static_paths([PLOTLY, HERE / "assets" / "examples"])

    with inputs.Checked(title="RECAP Studio", analytics_enabled=False, fill_width=True) as page:
        conversation = gr.State(None, delete_callback=lambda gone: gone and gone.close())
        with gr.Row(equal_height=False, elem_id="head"):
            gr.HTML("<h1>RECAP Studio</h1><p>Ask about a picture and watch the answer being guessed, checked and "
                    "kept, several tokens a pass.</p>", elem_id="title", scale=5, apply_default_css=False)  # fmt: skip
            status = gr.HTML(_status(worker), elem_id="model-status", scale=9, apply_default_css=False)
        with gr.Row(equal_height=False):
            with gr.Column(scale=5, min_width=330, elem_id="left"):
                image = gr.Image(
                    type="filepath", image_mode=None, sources=["upload", "clipboard"],
                    label="Picture", show_label=False, height=190, elem_id="image", buttons=[],
                )  # fmt: skip
                # the engine opens pictures itself: it knows more kinds, and says in a sentence what is wrong with one
                image.preprocess = lambda payload: payload.path if payload else None
                flaw = gr.HTML(elem_id="flaw", elem_classes="notice", apply_default_css=False)
                samples = examples(HERE / "assets" / "examples")
                if samples:
                    shown = gr.Dataset(
                        components=[gr.Image(visible=False)], samples=[[path] for path, _ in samples], type="index",
                        label="Or try one of these", samples_per_page=12, elem_id="examples",
                    )  # fmt: skip
                chat = gr.Chatbot(
                    elem_id="chat", height="max(230px, calc(100vh - 590px))", show_label=False, buttons=[],
                    latex_delimiters=[], feedback_options=None,
                    placeholder="Choose a picture and ask about it, or just ask.",
                )  # fmt: skip
                notice = gr.HTML(elem_id="notice", elem_classes="notice", apply_default_css=False)
                with gr.Row(equal_height=True, elem_id="ask"):
                    prompt = gr.Textbox(
                        placeholder="Ask about the picture …", label="Question", show_label=False, container=False,
                        lines=1, max_lines=5, scale=6, min_width=120, elem_id="prompt", autofocus=False,
                    )  # fmt: skip
                    send = gr.Button("Send", variant="primary", elem_id="send", scale=1, min_width=56)
                    stop = gr.Button("Stop", variant="stop", elem_id="stop", scale=1, min_width=56, interactive=False)
                    clear = gr.Button("Clear", elem_id="clear", scale=1, min_width=56)
                with gr.Row():
                    method = gr.Dropdown(
                        [(METHODS.get(name, name), name) for name in sorted(recap.METHODS, reverse=True)],
                        value="recap", label="Decoding", elem_id="method", filterable=False, scale=1, min_width=150,
                    )  # fmt: skip
                    limit = gr.Slider(8, 512, 200, step=8, label="Max tokens", elem_id="limit", scale=1, min_width=150)
            with gr.Column(scale=9, min_width=330):
                numbers = gr.HTML(summary.numbers(None), elem_id="numbers", apply_default_css=False)
                caption = gr.HTML(elem_id="caption", apply_default_css=False)
                picture = gr.HTML(
                    _empty(NO_TREE), elem_id="tree",
                    js_on_load=(HERE / "visual" / "plot.js").read_text(encoding="utf-8"),
                    head=f'<script src="gradio_api/file={PLOTLY.as_posix()}"></script>', apply_default_css=False,
                    html_template='<div class="frame" role="img" aria-label="Draft tree of the last pass" tabindex="0">'
                    '<div class="plot"></div></div><button type="button" class="toggle" hidden></button>',
                )  # fmt: skip
                gr.HTML(summary.legend(), elem_id="legend", apply_default_css=False)

        def arrive(request: gr.Request) -> Iterator[tuple[Conversation, str]]:
            mine = visitors[request.session_hash] = Conversation()
            while worker.loading:
                yield mine, _status(worker)
                time.sleep(1)
            yield mine, _status(worker)

        def leave(request: gr.Request) -> None:
            gone = visitors.get(request.session_hash)
            if gone is not None:
                gone.close()

        def ask(question: str, path: str | None, way: str, most: int, mine: Conversation | None) -> Iterator[dict]:
            mine = mine or Conversation()
            if mine.answer is not None:
                yield {notice: wording.notice("The last answer is still being written: stop it, or wait for its end.")}
                return
            try:
                question, most = inputs.question(question), inputs.tokens(most)
            except ValueError as error:
                yield {notice: wording.notice(str(error))}
                return
            fresh = path if path != mine.picture else None
            said, before = mine.messages, len(mine.messages)
            said += [{"role": "user", "content": {"path": fresh}}] if fresh else []
            said += [{"role": "user", "content": text.literal(question)}, {"role": "assistant", "content": ""}]
            answer = worker.ask(Answer(mine, question, fresh, way, most))
            wording.say(said, worker, answer)
            yield {**now(mine), prompt: "", notice: "", conversation: mine}
            try:
                drawn, at = None, 0.0
                for _ in answer.follow(TEXT_EVERY):
                    if mine.messages is not said:
                        break
                    wording.say(said, worker, answer)
                    update: dict[Any, Any] = {chat: said, **buttons(mine)}
                    if answer.step is not drawn and time.monotonic() - at >= TREE_EVERY:
                        drawn, at = answer.step, time.monotonic()
                        update |= _show(answer)
                    yield update
            finally:  # the visitor closed the page, or the answer has ended
                answer.stop()
            if mine.messages is not said:
                # cleared meanwhile; gradio repeats what was yielded last, so that must be what holds now
                yield now(mine)
                return
            end: dict[Any, Any] = {status: _status(worker), notice: wording.ending(answer)}
            if answer.state == "failed" and not answer.text:
                del said[before:]
                mine.latest = None
                end[prompt] = question
            else:
                mine.picture = path if answer.trace and answer.trace.token_ids else mine.picture
                wording.say(said, worker, answer)
            yield {**now(mine), **end}

        def buttons(mine: Conversation) -> dict:
            busy = mine.answer is not None
            return {send: gr.update(interactive=not busy), stop: gr.update(interactive=busy)}

        def now(mine: Conversation) -> dict:
            """Everything that shows a conversation, as it is at this moment."""
            blank = {picture: _empty(NO_TREE), caption: "", numbers: summary.numbers(None)}
            return {chat: mine.messages, **buttons(mine), **blank, **(_show(mine.latest) if mine.latest else {})}

        def _show(answer: Answer) -> dict:
            trace, step = answer.trace, answer.step
            if step is None:
                return {numbers: summary.numbers(trace)}
            ended = trace.finish_reason == "stop" and step is trace.steps[-1]
            return {
                picture: _figure(step) if len(step) > 1 or trace.method != "ar" else _empty(NO_PASS),
                caption: summary.caption(step, len(trace.steps), ended),
                numbers: summary.numbers(trace),
            }

        def begin_again(mine: Conversation | None) -> dict:
            mine = mine or Conversation()
            mine.clear()
            return {**now(mine), notice: ""}

        def look(path: str | None) -> str:
            """Whether a picture opens, told before anyone asks about it."""
            try:
                if path is not None:
                    open_picture(path)
            except ValueError as error:
                return wording.notice(str(error))
            return ""

        def answer_for_programs(prompt: str, image: str | None, method: str, max_new_tokens: int) -> Iterator[str]:
            """One answer without a conversation, its text growing as it is decoded.

            prompt: the question; image: a picture, or null for none; method: how to decode; max_new_tokens: 1 or more.
            """
            try:
                prompt, method = inputs.question(prompt), inputs.method(method, recap.METHODS)
                max_new_tokens = inputs.tokens(max_new_tokens)
            except ValueError as error:
                raise gr.Error(str(error), print_exception=False) from None
            answer = worker.ask(Answer(Conversation(), prompt, image, method, max_new_tokens))
            try:
                shown = None
                for _ in answer.follow(TEXT_EVERY):
                    if answer.text != shown and not answer.error:
                        shown = answer.text
                        yield shown
            finally:
                answer.stop()
            if answer.error:
                raise gr.Error(answer.error, print_exception=False)
            yield answer.text

        hidden = {"api_visibility": "private", "show_progress": "hidden", "concurrency_limit": None}
        asking = [chat, notice, prompt, send, stop, conversation, picture, caption, numbers, status]
        page.load(arrive, None, [conversation, status], **hidden)
        page.unload(leave)
        # "multiple": a question right after Clear must not be dropped because the cleared answer is still ending
        gr.on([send.click, prompt.submit], ask, [prompt, image, method, limit, conversation], asking,
              trigger_mode="multiple", **hidden)  # fmt: skip
        stop.click(lambda mine: mine and mine.stop(), conversation, None, queue=False, **hidden)
        # in the browser, at once: what is typed or chosen right after Clear must not be wiped by a late reply
        clear.click(None, None, [prompt, image], js="() => ['', null]", **hidden)
        clear.click(begin_again, conversation, [chat, notice, send, stop, picture, caption, numbers], queue=False,
                    **hidden)  # fmt: skip
        image.change(look, image, flaw, queue=False, **hidden)
        if samples:
            shown.click(lambda number: samples[number], shown, [image, prompt], **hidden)
        given = [gr.Textbox(visible=False), gr.Image(type="filepath", visible=False),
                 gr.Textbox("recap", visible=False), gr.Number(200, precision=0, visible=False)]  # fmt: skip
        for one in given:  # as it was sent: `answer_for_programs` says what is wrong with it
            one.preprocess = image.preprocess if isinstance(one, gr.Image) else lambda value: value
        limit.preprocess = given[0].preprocess
        gr.Button(visible=False).click(
            answer_for_programs, given, gr.Textbox(visible=False), api_name="chat", concurrency_limit=None,
            show_progress="hidden",
        )  # fmt: skip
    return page


def _status(worker: Worker) -> str:
    target = worker.target
    core = recap.Drafter().backend if target else ""
    return summary.status(target and target.describe(), core, worker.error, worker.seconds_loading)


def _figure(step: recap.Step) -> str:
    return json.dumps({theme: tree.spec(step, theme) for theme in ("light", "dark")})


def _empty(sentence: str) -> str:
    return json.dumps({theme: tree.empty_spec(sentence, theme) for theme in ("light", "dark")})


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Open RECAP Studio in the browser. GRADIO_SERVER_NAME and GRADIO_SERVER_PORT set the address "
        "(127.0.0.1, and 7860 or the next free port)."
    )
    parser.add_argument("--model", default=os.environ.get("MODEL") or default_model(),
                        help='"builtin", a folder, or a hub id (default: $MODEL, here %(default)s)')  # fmt: skip
    parser.add_argument("--device", help='"cpu", "cuda", ... (default: CUDA where there is one)')
    parser.add_argument("--dtype", default="auto", choices=("auto", "bfloat16", "float16", "float32"))
    given = parser.parse_args()

    def load() -> Any:
        target = recap.load_target(given.model, device=given.device, dtype=given.dtype)
        target.warm_up()
        return target

    worker = Worker(load)
    worker.start()
    port = os.environ.get("GRADIO_SERVER_PORT", "")
    if port and not port.isdecimal():
        raise SystemExit(f"GRADIO_SERVER_PORT must be a number such as 7860, got {port!r}")
    page = build(worker).queue(default_concurrency_limit=None)
    try:
        _, address, _ = page.launch(
            theme=theme(), css_paths=HERE / "visual" / "page.css", footer_links=[], run_history=False, quiet=True,
            enable_monitoring=False, ssr_mode=False, pwa=False, mcp_server=False, share=False, max_file_size="64mb",
            app_kwargs={"middleware": [Middleware(OnlyThisServer)]}, prevent_thread_lock=True,
            server_port=int(port) if port else None,  # a port that was asked for is not quietly replaced by another
        )  # fmt: skip
    except OSError as error:
        raise SystemExit(f"RECAP Studio cannot start: {error}") from None
    print(f"RECAP Studio is at {address} and loads {given.model} meanwhile. Ctrl-C ends it.", flush=True)
    page.block_thread()


if __name__ == "__main__":
    main()
