"""Pictures of a benchmark and the page around them: values of known figures, hostile names, and a look by Chromium."""

from __future__ import annotations

import json
import re

import pytest

from recap.bench import counting, report
from recap.roots import Roots
from visual import cdf, dependence, parts, ranges
from visual.contenders import looks
from visual.ranges import Range
from visual.report import Picture, Words, html

from .bench_records import record, run
from .browser import watch

HOSTILE = "<script>alert(1)</script>\"'&</div>"


def test_ranges_stand_below_their_group_with_their_ends():
    groups = {
        "b": [Range("recap", 2.0, 1.5, 2.75, "tau 2"), Range("pld", 0.5, None, None)],
        "a": [Range("recap", 1.25, 1.0, 1.5)],
    }
    made = ranges.spec(groups, "S & more")
    ours, other = made["data"]
    assert (
        ours["x"] == [2.0, 1.25]
        and ours["error_x"]["array"] == [0.75, 0.25]
        and ours["error_x"]["arrayminus"] == [0.5, 0.25]
    )
    assert other["x"] == [0.5] and other["error_x"]["array"] == [0.0] == other["error_x"]["arrayminus"]
    axis = made["layout"]["yaxis"]
    assert axis["ticktext"] == ["recap", "pld", "recap"] and axis["tickvals"] == [
        *ours["y"][:1],
        *other["y"],
        *ours["y"][1:],
    ]
    assert axis["tickvals"] == sorted(axis["tickvals"]) and axis["range"][0] > axis["range"][1]  # from the top
    heads = made["layout"]["annotations"]
    assert [head["text"] for head in heads] == ["<b>b</b>", "<b>a</b>"] and heads[0]["y"] < axis["tickvals"][0] < heads[
        1
    ]["y"]
    low, high = made["layout"]["xaxis"]["range"]
    assert low < 0.5 and high > 2.75 and made["layout"]["xaxis"]["title"]["text"] == "S &amp; more"
    assert made["layout"]["shapes"][0]["x0"] == made["layout"]["shapes"][0]["x1"] == 1
    assert "recap, b: 2.00, 1.50 to 2.75. tau 2" in ours["hovertext"][0].replace("<br>", " ")


def test_the_staircase_climbs_by_one_input_at_its_time():
    assert cdf.steps([3.0, 1.0]) == ([0.0, 1.0, 3.0], [0.0, 0.5, 1.0])
    made = cdf.spec({"ar": [2.0, 4.0, 1.0, 3.0], "recap": [1.0], "none": []})
    plain, ours = made["data"]
    assert plain["x"] == [0.0, 1.0, 2.0, 3.0, 4.0] and plain["y"] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert (
        plain["line"]["shape"] == "hv" and ours["y"] == [0.0, 1.0] and plain["hovertext"][2] == "ar: 50% within 2.00 s"
    )
    assert made["layout"]["xaxis"]["range"][1] > 4.0 and made["layout"]["showlegend"]


def test_bars_stack_the_parts_in_their_order():
    made = parts.spec({"ar": {"prefill": 2.0, "verify": 5.0}, "recap": {"verify": 3.0, "draft": 0.5}})
    assert [bar["name"] for bar in made["data"]] == list(parts.FILLS) == list(counting.PARTS)
    by_name = {bar["name"]: bar["x"] for bar in made["data"]}
    assert by_name["verify"] == [5.0, 3.0] and by_name["draft"] == [0.0, 0.5] and by_name["encode"] == [0.0, 0.0]
    assert made["layout"]["barmode"] == "stack" and made["layout"]["yaxis"]["ticktext"] == ["ar", "recap"]


def test_roots_by_accepted_drafts():
    made = dependence.spec([Roots("0", 12, 0.5, 0.75), Roots("5+", 1, 0.0, -0.25)])
    bars, line = made["data"]
    assert bars["y"] == [0.5, 0.0] and line["y"] == [0.75, -0.25] and line["yaxis"] == "y2"
    assert bars["x"] == line["x"] == ["0 accepted<br>(12 passes)", "5+ accepted<br>(1 pass)"]
    low, high = made["layout"]["yaxis2"]["range"]
    assert low < -0.25 and high > 0.75 and made["layout"]["yaxis"]["range"][1] > 0.5
    assert "50% of 12 choices change, dependence 0.75 nats" in bars["hovertext"][0]
    assert "through the image lens" in dependence.spec([])["layout"]["annotations"][0]["text"].replace("<br>", " ")


def test_no_two_methods_look_alike():
    names = ["ar", "transformers", "prompt_lookup", *(f"method {at}" for at in range(20))]
    for theme in ("light", "dark"):
        found = looks(names, theme)
        assert list(found) == names and len(set(found.values())) == len(names)
        assert len({(look.colour, look.dash) for look in found.values()}) == len(names)
    with pytest.raises(ValueError, match="light or dark"):
        looks(["transformers"], "blue")


def test_figures_take_names_for_text():
    for made in (
        ranges.spec({HOSTILE: [Range(HOSTILE, 1.0, None, None, HOSTILE)]}, HOSTILE), cdf.spec({HOSTILE: [1.0]}),
        parts.spec({HOSTILE: {"verify": 1.0}}),
    ):  # fmt: skip
        held = re.sub("</?b>|<br>", "", json.dumps(made))
        assert "<" not in held and "&lt;" in held
    for figure in (ranges.figure({}, "S"), cdf.figure({}), parts.figure({}), dependence.figure([])):
        assert list(figure.layout.template.to_plotly_json()) == ["data"] and figure.layout.height > 0


@pytest.fixture
def page(tmp_path):
    """A report on two inputs whose names are hostile."""
    about = run(["ar", "recap auto"])
    about["manifest"] = {"name": HOSTILE, "folder": "", "problems": [HOSTILE]}
    about["model"]["name"] = about["model"]["exactness"] = HOSTILE
    apart = {"turn": 0, "token": 1, "margin": None}
    records = [
        record("1", "ar", HOSTILE), record("1", "recap auto", HOSTILE, decode=1.0, accepted=10),
        record(HOSTILE, "ar", "b"), record(HOSTILE, "recap auto", "b", difference=apart),
        {"repeat": 0, "id": "3", "category": "b", "name": "", "error": HOSTILE},
    ]  # fmt: skip
    path = tmp_path / "report.html"
    path.write_text(report.page(about, records, counting.everything(records)), encoding="utf-8")
    return path


def test_the_report_has_all_parts_and_no_foreign_markup(page):
    text = page.read_text(encoding="utf-8")
    shown = text[text.index("<body>") : text.index('<script type="application/json"')]
    for words in (
        "S and tau by category", "Speed by category", "Spread over inputs", "Time per input", "Where the time goes",
        "All inputs", "Milliseconds per token", "Seconds per input", "not plain decoding", "Left out", "A chip",
        "2.00, 1.50", "1/2",
    ):  # fmt: skip
        assert words in shown, words
    assert "<script>alert" not in text and '</div>"' not in shown and text.count("alert(1)") >= 6
    assert text.count("<script>") == 2 and "http-equiv" in text  # plotly.js once, and what draws


def test_it_draws_offline_in_both_themes_and_fits_a_phone(page, browser):
    grounds = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
        tab = context.new_page()
        log = watch(tab)
        tab.goto(page.as_uri())
        tab.wait_for_selector("#figure-3 .main-svg")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390
        assert tab.locator(".main-svg").count() >= 4 and tab.locator("#figure-0 .scatterlayer path.point").count() == 3
        rights = tab.locator(".ytick text").evaluate_all("all => all.map(it => it.getBoundingClientRect().left)")
        assert min(rights) >= 0
        grounds[scheme] = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        assert log.console == [] and log.foreign == [page.as_uri()]
        context.close()
    assert grounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 26, 33)"}


def test_a_page_without_pictures_runs_nothing():
    made = html("T", ["a fact"], [Words("W", "n", ("", "x"), [("r", "1")])])
    assert "<script" not in made and "script-src 'none'" in made and '<th scope="row">r</th><td>1</td>' in made
    with_picture = html(
        "T", [], [Picture("P", "n", {"light": {"data": [], "layout": {}}, "dark": {"data": [], "layout": {}}})]
    )
    assert with_picture.count("<script") == 3 and 'id="figure-0"' in with_picture
