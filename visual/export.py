"""A view of a trace as a document of its own: HTML that works offline and asks for nothing, or a PNG of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import NamedTuple

from recap.files import write
from recap.trace import Step, Trace

from . import inspector, lens, memory, offline, race, reasons, ribbon, same, summary, throughput, tree, weights
from .canvas import Spec
from .listing import METHODS
from .text import shorten, visible
from .theme import FONT, palette, variables

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions",
)  # fmt: skip
PATIENCE = 60.0
"""Seconds that a browser may take for a PNG."""
MARGIN, HEAD, LEAST = 12, 60, 400
"""Around everything, for the lines that say what is shown, and the least width of a tree. Pixels."""
STYLE = """
body { margin: 12px; background: var(--ground); color: var(--ink); font-family: var(--font); }
header { height: 48px; margin: 0 0 12px; font-size: 12px; line-height: 16px; color: var(--muted); }
header div { overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
header div:first-child { font-weight: 700; color: var(--ink); }
main { display: flex; flex-direction: column; gap: 14px; }
main p { margin: 0; font-size: 13px; line-height: 1.5; }
.ribbon .token { cursor: default; }
.numbers { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0; }
.numbers dd { margin: 0; font-size: 22px; font-weight: 650; }
.numbers dt { font-size: 12px; color: var(--muted); }
"""
DRAW = """
const spec = JSON.parse(document.getElementById("spec").textContent);
Plotly.newPlot("figure", spec.data, spec.layout, { displayModeBar: false, doubleClick: false });
"""


class Document(NamedTuple):
    """A standalone page and the size that shows all of it, pixels."""

    html: str
    width: int
    height: int


Panel = Callable[..., Document]
"""Takes trace, index of a step (from 0), node, theme and, if not left to the panel, width and height of the page."""


def _tree(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    step = trace.steps[index]
    room = height - HEAD - 2 * MARGIN if height else None
    frame = (max(width - 2 * MARGIN, LEAST) if width else None, room)
    plain = tree.spec(step, theme, selected=node, room=frame)
    if room is not None and plain["layout"]["height"] > room:
        plain = tree.spec(step, theme, selected=node, dense=True, room=frame)
    if plain["layout"]["meta"]["wide"] < LEAST:
        plain = tree.spec(step, theme, node, plain["layout"]["meta"]["dense"], room=(LEAST, room))
    plain["layout"] |= {"width": plain["layout"]["meta"]["wide"], "autosize": False}
    return _document(trace, f"Draft tree of {_pass(trace, index)}", theme, [], plain)


def _weights(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    plain = _sized(weights.spec(trace, index, theme), width or 560, height or 380)
    return _document(trace, f"Fusion weights in {_pass(trace, index)}", theme, [], plain)


def _throughput(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    plain = _sized(throughput.spec([(_name(trace), trace)], theme), width or 880, height or 320)
    return _document(trace, "Tokens over own time", theme, [], plain)


def _ribbon(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    wide = width or 900
    rows = 2 + len(trace.text) * 10 // (wide - 2 * MARGIN)
    told = f'<p class="facts">{lens.count(trace)}</p>' if trace.lens is not None else ""
    high = 90 + 36 * rows + (26 if told else 0)
    return _document(trace, "The answer, token by token", theme, [ribbon.html(trace), told], None, (wide, high))


def _inspector(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    page = inspector.html(trace.steps[index], node, trace.config)
    return _document(trace, f"A node of {_pass(trace, index)}", theme, [page], None, (width or 420, 900))


def _memory(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    sizes = [step.sizes for step in trace.steps]
    plain = _sized(memory.growth_spec([sizes], theme), width or 640, 280)
    pages = [memory.hits(trace), memory.recorded(trace.steps[index], max(node, 0))]
    return _document(trace, "Rows in memory", theme, pages, plain, (width or 640, 860))


def _race(trace: Trace, index: int, node: int, theme: str, width: int | None, height: int | None) -> Document:
    plain = _sized(throughput.spec([(_name(trace), trace)], theme), width or 880, 300)
    pages = [summary.numbers(trace), same.badge(trace), race.split(trace)]
    return _document(trace, "The answer beside plain decoding", theme, pages, plain, (width or 880, 560))


PANELS: dict[str, Panel] = {
    "tree": _tree,
    "weights": _weights,
    "throughput": _throughput,
    "ribbon": _ribbon,
    "inspector": _inspector,
    "memory": _memory,
    "race": _race,
}
"""Views by name. Call them through `document`, which checks what it is given."""


def document(
    panel: str, trace: Trace, index: int, node: int | None = None, theme: str = "light",
    width: int | None = None, height: int | None = None,
) -> Document:  # fmt: skip
    """A view of a pass, `trace.steps[index]`, as a page of its own.

    `node` is the chosen one, -1 the model's own choice; None takes the end of the accepted path. `width` and `height`
    are those of the page, pixels; None leaves them to the view. Raises ValueError for an unknown view or theme and for
    a step or node that the trace does not have.
    """
    if panel not in PANELS:
        raise ValueError(f"there is no view {panel!r}; there are {', '.join(PANELS)}")
    palette(theme)
    if not 0 <= index < len(trace.steps):
        raise ValueError(f"this trace has {len(trace.steps)} passes, so there is no pass {index + 1}")
    step = trace.steps[index]
    if node is None:
        node = reasons.end_of_path(step) or (-1 if step.bonus is not None else 0)
    _check_node(step, node)
    made = PANELS[panel](trace, index, node, theme, width, height)
    return made._replace(width=width or made.width, height=height or made.height)


def png(html: str, path: str | Path, width: int, height: int) -> None:
    """Writes a PNG of a page, `width` x `height` pixels, with a headless Chromium or Chrome; atomically.

    The browser is the one that CHROMIUM names, or one of the usual names. Raises RuntimeError where there is none or
    it fails, OSError where the file cannot be written.
    """
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None or shutil.which(browser) is None:
        raise RuntimeError(
            "a PNG is drawn by Chromium or Chrome, and neither was found: install one, name it in CHROMIUM, or write "
            "an .html file, which needs no browser"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page, picture = Path(folder, "page.html"), Path(folder, "page.png")
        page.write_text(html, encoding="utf-8")
        # a browser run by root refuses to start inside its own sandbox
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [
            browser, *FLAGS, *sandbox, f"--user-data-dir={folder}/profile", f"--window-size={width},{height}",
            f"--screenshot={picture}", page.as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{browser} took longer than {PATIENCE:.0f} s to draw the PNG") from None
        if not picture.is_file():
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise RuntimeError(f"{browser} drew no PNG (exit {done.returncode}): {said[-1][:200]}")
        write(path, picture.read_bytes())


def _check_node(step: Step, node: int) -> None:
    if node == -1 and step.bonus is None:
        raise ValueError("node -1 is the model's own choice, and in this pass there was none")
    if not -1 <= node < len(step):
        raise ValueError(f"this pass has the nodes 0 to {len(step) - 1} (-1: the model's own choice), got {node}")


def _sized(plain: Spec, width: int, height: int) -> Spec:
    plain["layout"] |= {"width": width - 2 * MARGIN, "height": max(height - HEAD - 2 * MARGIN, 80), "autosize": False}
    return plain


def _pass(trace: Trace, index: int) -> str:
    return f"pass {index + 1} of {len(trace.steps)}"


def _name(trace: Trace) -> str:
    return "AR" if trace.method == "ar" else METHODS.get(trace.method, trace.method)


def _words(some: str, width: float) -> str:
    return shorten(visible(some[:300]).replace("␣", " "), width)


def _document(
    trace: Trace, title: str, theme: str, pages: list[str], plain: Spec | None, size: tuple[int, int] | None = None
) -> Document:
    question = trace.messages[-1]["content"] if trace.messages else ""
    run = ", ".join(_words(some, 40) for some in (trace.model, trace.dtype, trace.device))
    head = "".join(f"<div>{escape(line)}</div>" for line in (title, f"“{_words(question, 90)}”", run))
    scripts = [offline.plotly(), DRAW] if plain is not None else []
    policy = offline.policy(scripts)
    body = "\n".join(pages)
    if plain is not None:
        body = f'<div id="figure"></div>\n{body}\n<script type="application/json" id="spec">{offline.held(plain)}</script>\n'
        body += "\n".join(f"<script>{script}</script>" for script in scripts)
    html = (
        f'<!DOCTYPE html>\n<html lang="en" class="{theme}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=False)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(f'{title} · {_words(question, 40)} · RECAP Studio')}</title>\n"
        f"<style>:root {{ color-scheme: {theme}; {variables(theme)} --font: {FONT}; }}{STYLE}{_panel_styles()}</style>\n</head>\n<body>\n"
        f"<header>{head}</header>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )
    if size is None and plain is not None:
        size = plain["layout"]["width"] + 2 * MARGIN, plain["layout"]["height"] + HEAD + 2 * MARGIN
    return Document(html, *(size or (640, 480)))


def _panel_styles() -> str:
    return (Path(__file__).parent / "panels.css").read_text(encoding="utf-8")
