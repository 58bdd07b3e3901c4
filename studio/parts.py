"""The parts of the page, one function each: what they are called, what they hold at first. `app.py` puts them together."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr
import plotly
from PIL import Image, ImageOps

import recap
from recap.bench.run import DEFAULT_METHODS
from visual.listing import METHODS
from visual.race import explain
from visual.summary import legend, numbers

from . import settings as defaults
from .inputs import path_of, unread
from .sending import sent
from .theme import WEB

PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
MOST_TOKENS = 200
"""Of an answer, before anyone has changed it."""
REMEMBERED_KEY = """async () => {
  const key = sessionStorage.getItem("recap-conversation") || "";
  if (!key || !navigator.locks) return [key, false];
  const mine = new Promise((hold) => navigator.locks.request("recap " + key, { signal: AbortSignal.timeout(1000) }, () => {
    hold(true);
    return new Promise(() => {});
  }).catch(() => hold(false)));
  return [key, await mine];
}"""
"""The tab's conversation, and whether no other page of this browser has it: pages lock their keys (web/page.js)."""
SCRIPTS = ("panels.js", "picture.js", "tree.js", "player.js", "race.js", "lab.js", "words.js", "tour.js", "page.js")
TABS = {"steps": "Steps", "race": "Race", "memory": "Memory", "traces": "Traces", "lab": "Lab"}


def room(name: str, sentence: str = "", classes: str = "", label: str = "") -> gr.HTML:
    """An empty panel that the browser fills; `sentence` stands there until then."""
    named = f' role="region" aria-label="{escape(label)}"' if label else ""
    waiting = f'<p class="muted">{escape(sentence)}</p>' if sentence else ""
    return plain(f'<div class="room {classes}"{named}>{waiting}</div>', name)


def plain(html: str, name: str | None = None, **more: Any) -> gr.HTML:
    return gr.HTML(html, elem_id=name, apply_default_css=False, js_on_load=None, **more)


def head(status: str) -> gr.HTML:
    plain("<h1>RECAP Studio</h1><p>Fewer passes, the same words.</p>", "title", scale=2)
    shown = plain(status, "model-status", scale=9)
    plain('<button type="button" class="room">How it works</button>', "how", scale=0, min_width=110)
    plain('<button type="button" id="open-settings" aria-expanded="false" aria-controls="settings">Settings</button>', "gear",
          scale=0, min_width=84)  # fmt: skip
    plain('<p id="lost" role="alert" hidden>The connection to the studio is lost. Trying again; the page opens anew when it '
          "is back.</p>", "connection")  # fmt: skip
    return shown


def picture() -> gr.Image:
    image = gr.Image(
        type="filepath", image_mode=None, sources=["upload", "webcam", "clipboard"], label="Picture", show_label=False,
        height=150, elem_id="image", buttons=[], scale=5, min_width=150, placeholder="Drop a picture",
    )  # fmt: skip
    # the engine opens pictures itself: it knows more kinds, and says in a sentence what is wrong with one
    image.preprocess = path_of
    return image


def samples(known: Sequence[tuple[str | None, str]]) -> gr.HTML:
    """Cards with an example picture and its question; a click fills both in."""
    cards = "".join(
        f'<button type="button" data-index="{at}" title="{escape(question)}">'
        + (f'<img src="{_thumbnail(path)}" alt="">' if path else '<span class="nothing">no picture</span>')
        + f"<span>{escape(question)}</span></button>"
        for at, (path, question) in enumerate(known)
    )
    return gr.HTML(
        f'<p class="muted">Or try one of these</p><div class="cards">{cards}</div>', elem_id="examples",
        apply_default_css=False, scale=4, min_width=140,
        js_on_load="element.addEventListener('click', ({ target }) => { const card = target.closest('[data-index]'); "
        "if (card) trigger('click', { index: Number(card.dataset.index) }); });",
    )  # fmt: skip


def sample(known: Sequence[tuple[str | None, str]]) -> Callable[[gr.EventData], tuple[str | None, str]]:
    """What a click on a card fills in: picture and question."""

    def chosen(event: gr.EventData) -> tuple[str | None, str]:
        at = event._data.get("index") if isinstance(event._data, dict) else None
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(known):
            raise gr.Error("There is no such example.", print_exception=False)
        return known[at]

    return chosen


def _thumbnail(path: str) -> str:
    with Image.open(path) as opened:
        small = ImageOps.fit(ImageOps.exif_transpose(opened).convert("RGB"), (112, 112))
    held = io.BytesIO()
    small.save(held, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(held.getvalue()).decode()


def chat() -> gr.Chatbot:
    return gr.Chatbot(
        elem_id="chat", height="max(230px, calc(100vh - 430px))", show_label=False, buttons=[], latex_delimiters=[],
        feedback_options=None, placeholder="Choose a picture and ask about it, or just ask.",
    )  # fmt: skip


def notice(name: str) -> gr.HTML:
    """A place for a sentence that screen readers announce."""
    return gr.HTML(elem_id=name, elem_classes="notice", apply_default_css=False)


def prompt() -> gr.Textbox:
    return gr.Textbox(
        placeholder="Ask about the picture …", label="Question", show_label=False, container=False, lines=1, max_lines=5,
        scale=6, min_width=120, elem_id="prompt", autofocus=False,
    )  # fmt: skip


def method(name: str, label: str, value: str) -> gr.Dropdown:
    choices = [(METHODS.get(one, one), one) for one in sorted(recap.METHODS, key=lambda one: one != "recap")]
    return gr.Dropdown(choices, value=value, label=label, elem_id=name, filterable=False, show_label=False, container=False,
                       scale=2, min_width=120)  # fmt: skip


def tabs() -> None:
    buttons = "".join(
        f'<button type="button" role="tab" data-view="{name}" aria-selected="{"true" if name == "steps" else "false"}">'
        f"{label}</button>"
        for name, label in TABS.items()
    )
    plain(f'<div role="tablist" aria-label="Views">{buttons}</div>', "views", scale=1)
    room("exact-badge", label="Same tokens as plain decoding?")


def summary() -> None:
    """The figures of the answer on show, and where it comes from."""
    with gr.Row(equal_height=False, elem_id="summary"):
        plain(f'<div class="room">{numbers(None)}</div>', "numbers", scale=3)
        room("origin")


def steps() -> None:
    """Ribbon, transport and caption: which pass is on show."""
    room("ribbon", classes="scrolls", label="The answer, token by token")
    with gr.Row(equal_height=True, elem_id="transport"):
        plain(
            '<button type="button" id="previous" aria-label="Previous pass" disabled>◀</button>'
            '<button type="button" id="next" aria-label="Next pass" disabled>▶</button>', "stepping", scale=0, min_width=70,
        )  # fmt: skip
        plain('<input type="range" min="1" max="1" value="1" step="1" aria-label="Pass" disabled>', "step-slider", scale=1,
              min_width=80)  # fmt: skip
        plain('<span class="room">–</span>', "where", scale=0, min_width=64)
        gr.Button("▶ Play", elem_id="play", scale=0, min_width=86, size="sm")
        plain('<button type="button" id="speed" aria-label="Speed of playing: 1 times">1×</button>'
              '<button type="button" id="follow" hidden>Live ●</button>', "pacing", scale=0, min_width=40)  # fmt: skip
    room("caption")


def stage() -> None:
    """The tree and beside it the chosen node; below them the weights, and the tokens over time."""
    with gr.Row(equal_height=False, elem_id="stage"):
        with gr.Column(scale=9, min_width=300, elem_id="tree-side"):
            plain(
                '<div class="frame" role="img" aria-label="Draft tree of this pass" tabindex="0"><div class="plot"></div></div>'
                '<div class="hoverlayer" hidden></div>'
                '<div class="tools"><button type="button" class="toggle" hidden></button>'
                '<button type="button" class="farther" aria-label="Smaller">−</button>'
                '<button type="button" class="nearer" aria-label="Larger">+</button></div>', "tree",
            )  # fmt: skip
            plain(legend(), "legend")
        with gr.Column(scale=4, min_width=270, elem_id="side"):
            room("inspector", "Click on a node of the tree: why it was proposed, and what became of it.",
                 classes="scrolls", label="The chosen node")  # fmt: skip
    with gr.Row(equal_height=False, elem_id="strip"):
        plain('<div class="room"><div class="plot"></div></div>', "weights", scale=1, min_width=260)
        with gr.Column(elem_id="pace", scale=1, min_width=260):
            titled("throughput", "Tokens over own time")
            room("split")


def titled(name: str, title: str) -> None:
    """A panel with a heading and a plot."""
    plain(f'<h3>{escape(title)}</h3><div class="room"><div class="plot"></div></div>', name)


def race() -> tuple[gr.Dropdown, gr.Dropdown]:
    """Two lanes and the result. Gives the choice of method of each lane."""
    plain(f'<div class="room">{explain()}</div>', "race-words")
    with gr.Row(equal_height=True, elem_id="lanes"):
        first, second = _lane(0, "ar"), _lane(1, "recap")
    room("result", "Press Race. The result appears here when both have ended.")
    return first, second


def _lane(at: int, value: str) -> gr.Dropdown:
    with gr.Column(elem_classes="lane-side", min_width=260):
        chosen = method(f"lane-{at}", "First lane" if at == 0 else "Second lane", value)
        room(f"lane-{at}-numbers")
        room(f"lane-{at}-text", classes="scrolls words", label=f"Answer of lane {at + 1}")
    return chosen


def memory() -> gr.Button:
    titled("memory-growth", "Rows in memory, pass by pass")
    room("memory-hits")
    room("memory-found", "Choose a node in the tree: here is what memory holds after it.")
    return gr.Button("Forget everything", elem_id="forget", size="sm")


def traces() -> tuple[gr.File, gr.HTML]:
    with gr.Row(equal_height=False):
        gr.Button("Download this trace", elem_id="trace-download", min_width=150)
        upload = gr.File(label="Open a trace file (.json, .json.gz)", elem_id="trace-upload", height=160, min_width=200,
                         file_count="single", type="filepath")  # fmt: skip
    told = notice("trace-notice")
    room("trace-list")
    return upload, told


def lab() -> tuple[list[Any], gr.Button, gr.Button]:
    """Measure several methods on the same inputs: the controls that `studio.measurement.read` takes, and two buttons."""
    plain('<p class="muted">Several methods answer the same inputs in turns, each with memories of its own, and are compared with '
          "plain decoding: speed, accepted tokens, and whether the tokens are the same. Only a method's own time counts, and yet "
          "measure while nobody else is asking.</p>", "lab-words")  # fmt: skip
    choices = [
        (label if label.lower() == name else f"{label} ({name})", name) for name, label in METHODS.items()
        if name in recap.METHODS and name != "ar"
    ]  # fmt: skip
    methods = gr.CheckboxGroup(choices, value=list(DEFAULT_METHODS), label="Methods", elem_id="lab-methods")
    with gr.Row(equal_height=True, elem_id="lab-choices"):
        source = gr.Radio([("30 that come with RECAP", "shipped"), ("My own prompts", "own"), ("My own manifest", "file")],
                          value="shipped", label="Inputs", elem_id="lab-source", scale=3, min_width=220)  # fmt: skip
        budget = gr.Radio([("auto", "auto"), ("as published", "paper"), ("both", "both")], value="auto",
                          label="Candidates per pass", elem_id="lab-budget", scale=3, min_width=220)  # fmt: skip
    own = gr.Textbox(label="Own prompts, one on each line; a picture on the page goes with all of them", lines=3, max_lines=8,
                     visible=False, elem_id="lab-own")  # fmt: skip
    file = gr.File(label="A manifest: JSONL, a line is {\"prompt\": …} with \"id\", \"category\" and \"image\" if you like; or a ZIP of "
                   "one with its pictures", height=160, visible=False, file_count="single", type="filepath", elem_id="lab-file")  # fmt: skip
    with gr.Row(equal_height=True, elem_id="lab-numbers"):
        limit = gr.Number(6, label="Inputs, at most", precision=0, minimum=1, maximum=50, elem_id="lab-limit", min_width=110)
        most = gr.Number(48, label="Tokens each", precision=0, minimum=1, elem_id="lab-tokens", min_width=110)
        repeats = gr.Number(1, label="Repetitions", precision=0, minimum=1, maximum=5, elem_id="lab-repeats", min_width=110)
    lens = gr.Checkbox(False, label="Also look which passes of RECAP need the picture (not counted in the times)", elem_id="lab-lens")
    controls = [methods, budget, source, own, file, limit, most, repeats, lens]
    for control in controls:
        if control is not file:
            control.preprocess = unread
    with gr.Row(equal_height=True, elem_id="lab-steer"):
        start = gr.Button("Measure", variant="primary", elem_id="lab-start", min_width=110, scale=0)
        cancel = gr.Button("Stop", variant="stop", elem_id="lab-stop", min_width=70, scale=0, interactive=False)
        plain('<div class="room saving" hidden>Save <button type="button" data-kind="html">the report</button> '
              '<button type="button" data-kind="csv">figures as CSV</button> '
              '<button type="button" data-kind="jsonl">all records</button></div>', "lab-save", scale=1, min_width=200)  # fmt: skip
    source.change(lambda chosen: [gr.update(visible=chosen == name) for name in ("own", "file")], source, [own, file], queue=False, api_visibility="private",
                  show_progress="hidden")  # fmt: skip
    room("lab-progress")
    room("lab-figures")
    room("lab-tables")
    return controls, start, cancel


def settings() -> tuple[gr.Slider, list[Any], gr.Button, gr.Button]:
    """Controls of the settings panel: the limit of tokens, the ones that `settings.read` takes, and two buttons for all of
    them: the page's defaults, and the paper's values."""
    temperature, budget, nodes, depth, first, second, third, fusion, keep = defaults.defaults()
    plain('<h2>Settings</h2><button type="button" id="close-settings" aria-label="Close the settings">✕</button>', "settings-head")
    limit = gr.Slider(8, 512, MOST_TOKENS, step=8, label="Max tokens", elem_id="limit")
    controls: list[Any] = [
        gr.Slider(0, 2, temperature, step=0.05, label="Temperature", info="0: always the likeliest token", elem_id="temperature"),
        gr.Dropdown(defaults.BUDGET_CHOICES, value=budget, label="Budget", filterable=False, elem_id="budget",
                    info="How many candidates a pass gets"),
        gr.Slider(0, 255, nodes, step=1, label="Candidates per pass", info="At most; the paper's 63 suit a large GPU", elem_id="nodes"),
        gr.Slider(1, 20, depth, step=1, label="Depth of the tree", elem_id="depth"),
    ]  # fmt: skip
    with gr.Row():
        controls += [
            gr.Number(value, label=label, minimum=0.0, maximum=1.0, step=0.05, min_width=80, elem_id=f"prior-{at}")
            for at, (value, label) in enumerate([(first, "Prior 1st"), (second, "2nd"), (third, "3rd key")])
        ]
    controls += [
        gr.Dropdown(defaults.FUSION_CHOICES, value=fusion, label="Fusion rule", filterable=False, elem_id="fusion"),
        gr.Checkbox(keep, label="Keep U from one question to the next", elem_id="keep"),
    ]
    plain('<p class="muted">They hold from the next question on. Other rules of fusion, depth or priors start with empty '
          "memories.</p>")  # fmt: skip
    for control in (limit, *controls):
        control.preprocess = unread
    with gr.Row():
        ours = gr.Button("Back to the defaults", elem_id="defaults", size="sm", min_width=120)
        papers = gr.Button("The paper's settings", elem_id="paper", size="sm", min_width=120)
    return limit, controls, ours, papers


def default_settings() -> list[Any]:
    """Values of all these controls before anyone has changed them."""
    return [MOST_TOKENS, *defaults.defaults()]


def paper_settings() -> list[Any]:
    """The same as the paper has them."""
    return [MOST_TOKENS, *defaults.paper()]


def player(functions: Sequence[Callable[..., Any]], value: str) -> gr.HTML:
    """The invisible part that runs the others in the browser."""
    return gr.HTML(
        value, elem_id="player", html_template="", apply_default_css=False, server_functions=[sent(view) for view in functions],
        js_on_load="\n".join((WEB / name).read_text(encoding="utf-8") for name in SCRIPTS),
        head=f'<script src="gradio_api/file={PLOTLY.as_posix()}"></script>',
    )  # fmt: skip


