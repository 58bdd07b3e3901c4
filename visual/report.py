"""A benchmark's report: one page with its tables and pictures that works offline, light or dark as the reader likes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from . import offline
from .canvas import Spec
from .theme import FONT, variables

STYLE = """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1000px; background: var(--ground); color: var(--ink);
  font: 15px/1.5 var(--font); }
h1 { font-size: 24px; margin: 8px 0; } h2 { font-size: 18px; margin: 30px 0 4px; }
p { margin: 0 0 8px; } .note, .facts { color: var(--muted); font-size: 13px; } .facts { padding-left: 18px; }
.facts li { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 10px 3px 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; }
thead th { font-weight: 600; color: var(--muted); white-space: normal; vertical-align: bottom; }
tbody th { font-weight: 600; position: sticky; left: 0; background: var(--ground); }
table.words td, table.words th { white-space: normal; text-align: left; font-weight: 400; overflow-wrap: anywhere; }
"""
DRAW = """
const specs = JSON.parse(document.getElementById("specs").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const draw = () => specs.forEach((spec, at) => {
  const one = spec[dark.matches ? "dark" : "light"];
  Plotly.react("figure-" + at, one.data, one.layout, { displayModeBar: false, responsive: true });
});
dark.addEventListener("change", draw);
draw();
"""


class Picture(NamedTuple):
    """A heading, a sentence that explains, and the figure by theme: {"light": spec, "dark": spec}."""

    title: str
    note: str
    specs: Mapping[str, Spec]


class Words(NamedTuple):
    """A table: its heading, a sentence that explains, the names of the columns, and rows of text."""

    title: str
    note: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def html(title: str, facts: Sequence[str], parts: Sequence[Picture | Words]) -> str:
    """The whole page: a heading, facts as a list, then tables and pictures in the order given. All text is plain text."""
    pictures = [part for part in parts if isinstance(part, Picture)]
    body, drawn = [], 0
    for part in parts:
        body.append(f'<section><h2>{escape(part.title)}</h2><p class="note">{escape(part.note)}</p>')
        if isinstance(part, Picture):
            body.append(f'<div id="figure-{drawn}"></div></section>')
            drawn += 1
        else:
            body.append(f"{table(part)}</section>")
    scripts = [offline.plotly(), DRAW] if pictures else []
    held = offline.held([dict(picture.specs) for picture in pictures])
    data = f'<script type="application/json" id="specs">{held}</script>\n' if pictures else ""
    listed = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(offline.policy(scripts), quote=False)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>"
        f":root {{ color-scheme: light dark; {variables('light')} --line: #d8dee5; --font: {FONT}; }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {variables('dark')} --line: #323b47; }} }}"
        f"{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n<ul class=\"facts\">{listed}</ul>\n"
        + "\n".join(body) + "\n" + data + "\n".join(f"<script>{script}</script>" for script in scripts)
        + "\n</body>\n</html>\n"
    )  # fmt: skip


def table(words: Words) -> str:
    """Its cells as HTML, all text escaped, in a box that scrolls sideways."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in words.head)
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in words.rows
    )
    kind = ' class="words"' if len(words.head) == 1 else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(words.title)}"><table{kind}>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
