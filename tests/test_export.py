"""Views of a trace as documents of their own, and the command that writes them."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from PIL import Image

from recap.__main__ import main
from recap.commands import plot
from recap.trace import Trace
from recap.trace_json import MAX_BYTES, TraceError, read_trace
from visual import export, tree, weights

from . import synthetic
from .browser import executable, watch

FIGURES = {"tree", "weights", "throughput", "memory", "race"}


class Page(HTMLParser):
    """Text of title, header and embedded spec, and the names of all elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.policy = ""
        self.inside: dict[str, str] = {}
        self.place = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self.place = named.get("id") or tag
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        self.inside[self.place] = self.inside.get(self.place, "") + data


@pytest.fixture(scope="module")
def trace() -> Trace:
    made = synthetic.trace(random.Random(2), steps=5)
    made.table.texts[3] = "</script><script>document.title = 'broken'</script><!--"
    return replace(
        made, messages=[{"role": "user", "content": "What </title><b>is</b>\nit?\x00\ud83d"}], model="<i>m</i>\udc00"
    )


@pytest.fixture(scope="module")
def file(trace, tmp_path_factory):
    path = tmp_path_factory.mktemp("traces") / "answer.json"
    path.write_text(trace.to_json(), encoding="utf-8")
    return path


@pytest.mark.parametrize("panel", export.PANELS)
@pytest.mark.parametrize("look", ["light", "dark"])
def test_every_view_is_a_page_that_asks_for_nothing(trace: Trace, panel: str, look: str) -> None:
    made = export.document(panel, trace, 2, theme=look)
    page = Page(made.html)
    assert made.html.startswith("<!DOCTYPE html>") and made.html.encode()
    assert "default-src 'none'" in page.policy and "unsafe-eval" not in page.policy
    assert page.tags.count("script") == (3 if panel in FIGURES else 0) and page.tags.count("title") == 1
    assert "What </title><b>is</b>⏎it?␀⟨d83d⟩" in page.inside["title"]
    assert not {"b", "i", "link", "img", "iframe"} & set(page.tags[: page.tags.index("header")])
    assert f"color-scheme: {look}" in made.html and made.width >= 300 and made.height >= 150


def test_the_embedded_figure_is_the_views(trace: Trace) -> None:
    chosen = json.loads(Page(export.document("tree", trace, 1, node=2).html).inside["spec"])
    plain = json.loads(json.dumps(tree.spec(trace.steps[1], selected=2)))
    assert chosen["data"] == plain["data"] and chosen["layout"]["height"] == plain["layout"]["height"]
    mixed = json.loads(Page(export.document("weights", trace, 1, theme="dark").html).inside["spec"])
    assert mixed["data"] == json.loads(json.dumps(weights.spec(trace, 1, "dark")["data"]))
    short = replace(trace, steps=[synthetic.step(random.Random(4), trace.table, nodes=0, suffix=0)])
    small = export.document("tree", short, 0)
    one = json.loads(Page(small.html).inside["spec"])
    assert one["layout"]["width"] == one["layout"]["xaxis"]["range"][1] == export.LEAST == small.width - 24
    low = json.loads(Page(export.document("tree", trace, 1, height=330).html).inside["spec"])
    assert low["layout"]["meta"]["dense"] and not chosen["layout"]["meta"]["dense"]


def test_the_default_node_is_the_end_of_the_accepted_path(trace: Trace) -> None:
    for index, step in enumerate(trace.steps):
        end = step.accepted_nodes[-1] if step.accepted_nodes else -1
        assert export.document("tree", trace, index).html == export.document("tree", trace, index, end).html


def test_what_does_not_exist_is_refused(trace: Trace) -> None:
    for arguments, words in [
        (("forest", trace, 0), "no view 'forest'"), (("tree", trace, 5), "5 passes, so there is no pass 6"),
        (("tree", trace, -1), "no pass 0"), (("tree", trace, 0, 900), "nodes 0 to"),
        (("tree", trace, 0, -2), "nodes 0 to"),
        (("tree", trace, 0, 0, "blue"), "light or dark"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=words):
            export.document(*arguments)
    step = trace.steps[0]
    ended = replace(trace, steps=[replace(step, committed=[step.tokens[node] for node in step.accepted_nodes])])
    with pytest.raises(ValueError, match="there was none"):
        export.document("inspector", ended, 0, -1)


def test_pages_draw_offline_and_quietly(trace: Trace, tmp_path, browser) -> None:
    for panel in export.PANELS:
        path = tmp_path / f"{panel}.html"
        path.write_text(export.document(panel, trace, 2).html, encoding="utf-8")
        page = browser.new_page()
        log = watch(page)
        page.goto(path.as_uri())
        assert page.title().startswith(Page(path.read_text(encoding="utf-8")).inside["title"][:20])
        if panel in FIGURES:
            assert page.locator("#figure .main-svg").count() >= 1
        if panel == "tree":  # its nodes, the model's own choice and the ring
            assert page.locator("#figure .scatterlayer path.point").count() == len(trace.steps[2]) + 2
        assert log.console == [] and log.foreign == [path.as_uri()]
        page.close()


def test_nothing_of_a_tree_is_cut(trace: Trace, tmp_path, browser) -> None:
    for index, size in ((0, {}), (2, {"width": 500}), (1, {"width": 900, "height": 420})):
        made = export.document("tree", trace, index, **size)
        path = tmp_path / "tree.html"
        path.write_text(made.html, encoding="utf-8")
        page = browser.new_page(viewport={"width": made.width, "height": made.height})
        page.goto(path.as_uri())
        page.wait_for_selector("#figure .annotation-text")
        right = max(page.locator("#figure text").evaluate_all("(all) => all.map((it) => it.getBoundingClientRect().right)"))
        lines = page.locator("header div").all_inner_texts()
        assert right <= made.width - export.MARGIN, "the longest text ends inside the picture"
        assert len(lines) == 3 and not any(line.rstrip().endswith("·") for line in lines)
        page.close()


def test_a_png_has_the_size_and_the_colours_that_were_asked_for(trace: Trace, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CHROMIUM", executable())
    path = tmp_path / "tree.png"
    export.png(export.document("tree", trace, 2, theme="dark").html, path, 640, 400)
    with Image.open(path) as picture:
        assert picture.size == (640, 400) and picture.convert("RGB").getpixel((3, 3)) == (0x15, 0x1A, 0x21)
        assert len(picture.convert("RGB").getcolors(10**6)) > 50  # something was drawn
    assert [one.name for one in tmp_path.iterdir()] == ["tree.png"]


def test_without_a_browser_a_png_is_a_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="Chromium or Chrome"):
        export.png("<p>", tmp_path / "a.png", 100, 100)
    failing = tmp_path / "chromium"
    failing.write_text("#!/bin/sh\necho no display >&2\nexit 3\n")
    failing.chmod(0o755)
    with pytest.raises(RuntimeError, match="exit 3.*no display"):
        export.png("<p>", tmp_path / "a.png", 100, 100)
    assert not (tmp_path / "a.png").exists()


def test_write_replaces_whole_files_or_none(tmp_path) -> None:
    path = tmp_path / "a.html"
    export.write(path, b"one")
    export.write(path, b"two")
    assert path.read_bytes() == b"two" and [one.name for one in tmp_path.iterdir()] == ["a.html"]
    with pytest.raises(OSError):
        export.write(tmp_path, b"a folder is in the way")
    assert len(list(tmp_path.iterdir())) == 1


def test_plot_counts_passes_from_one_and_names_its_files(trace: Trace, file, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert plot.PANELS == tuple(export.PANELS)
    assert main(["trace", "plot", str(file), "--step", "2", "--node", "3"]) == 0
    assert capsys.readouterr().err == "answer-tree-2.html written\n"
    assert (tmp_path / "answer-tree-2.html").read_text(encoding="utf-8") == export.document("tree", trace, 1, 3).html
    assert main(["trace", "plot", str(file), "--panel", "ribbon", "--theme", "dark", "-o", "r.HTML"]) == 0
    assert (tmp_path / "r.HTML").read_text(encoding="utf-8") == export.document("ribbon", trace, 4, theme="dark").html


def test_the_default_pass_is_the_last_with_candidates(trace: Trace) -> None:
    rng = random.Random(1)
    empty = synthetic.step(rng, trace.table, 5, nodes=0, suffix=0)
    assert plot.index(replace(trace, steps=[*trace.steps, empty]), None) == 4
    assert plot.index(replace(trace, steps=[empty, empty]), None) == 1
    with pytest.raises(ValueError, match="before the first pass"):
        plot.index(replace(trace, steps=[]), None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--step", "0"], "from 1 to 5"),
        (["--step", "6"], "from 1 to 5"),
        (["--node", "99"], "nodes 0 to"),
        (["-o", "tree.pdf"], ".html or .png"),
        (["-o", "nowhere/tree.html"], "no folder 'nowhere'"),
        (["--width", "9"], "from 100 to"),
        (["--height", "99999"], "from 100 to"),
    ],
)
def test_a_plot_that_cannot_be_made_is_one_sentence(arguments, words, file, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["trace", "plot", str(file), *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said and len(said.strip().splitlines()) == 1 and not list(tmp_path.iterdir())


def test_read_trace_takes_gzip_and_says_what_is_wrong_with_it(trace: Trace, file, tmp_path, capsys) -> None:
    packed = tmp_path / "answer.json.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_trace(packed) == read_trace(file) == Trace.from_json(file.read_bytes())
    assert main(["trace", "show", str(packed), "--step", "5"]) == 0
    assert "committed:" in capsys.readouterr().out
    whole = packed.read_bytes()
    broken = bytearray(whole)
    broken[len(broken) // 2] ^= 0xFF
    for content, words in [
        (whole[:-20], "ends too early"), (bytes(broken), "damaged"), (b"\x1f\x8bnothing", "damaged|ends too early"),
        (gzip.compress(b" " * (MAX_BYTES + 1)), "larger than"), (gzip.compress(b"{}"), "not a RECAP trace"),
        (b"", "empty"),
    ]:  # fmt: skip
        packed.write_bytes(content)
        with pytest.raises(TraceError, match=words):
            read_trace(packed)
    with pytest.raises(OSError):
        read_trace(tmp_path / "nowhere")


def test_the_command_line_needs_no_plotly_until_it_plots(file) -> None:
    code = (
        "import sys; from recap.__main__ import main; main(sys.argv[1:]); "
        "print([name for name in ('plotly', 'visual', 'gradio') if name in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, "trace", "show", str(file)], capture_output=True, text=True, check=True
    ).stdout
    assert said.splitlines()[-1] == "[]"
