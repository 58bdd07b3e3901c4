"""The tree where it is dense, the weight of its edges, its ring, and what a node tells under the pointer."""

from __future__ import annotations

import itertools
import re
from html import unescape

from hypothesis import example, given, settings
from hypothesis import strategies as st

from recap.trace import Step
from visual import fit, hover, layout, text, tree
from visual.tokens import Box

from .test_visual import make, steps


@given(st.text(max_size=300))
def test_hover_wraps_and_keeps_every_word(some: str) -> None:
    words = some.split(" ")
    lines = hover.wrap(some).split("<br>")
    assert " ".join(lines) == text.escape(some) or some.startswith(" ")
    assert all(len(unescape(line)) <= max(hover.WIDTH, *(len(word) for word in words)) for line in lines)
    assert hover.title("x" * 10_000).replace("<br>", "").count("x") == hover.LONGEST


rooms = st.sampled_from([None, (582, 328), (356, 378), (900, 700), (2000, 328)])


def texts(spec: dict, step: Step) -> dict[int, Box]:
    """Boxes of all that is written, pixels: node, or -1 for the model's own choice."""
    row = spec["layout"]["meta"]["row"]
    found = {}
    for trace in spec["data"]:
        if trace["mode"] != "text":
            continue
        font = trace["textfont"]
        beside = trace["textposition"] == "middle right"
        for node, x, y, shown in zip(trace["customdata"], trace["x"], trace["y"], trace["text"]):
            wide = fit.width(unescape(shown), font["size"], font["weight"] == 700)
            if wide:
                left, middle = (x, y * row) if beside else (x - wide / 2, y * row - 4 - font["size"] / 2)
                found[node] = left, middle - 0.42 * font["size"], left + wide, middle + 0.42 * font["size"]
    for note in spec["layout"]["annotations"]:
        size = note["font"]["size"]
        left, middle = note["x"] + note["xshift"], note["y"] * row
        letters = sum(map(text.breadth, unescape(re.search("<b>(.*)</b>", note["text"])[1])))
        found[-1] = left, middle - 0.42 * size, left + fit.own_width(size, letters), middle + 0.42 * size
    return found


def marks(spec: dict) -> dict[int, Box]:
    """Boxes of all nodes, pixels."""
    row, found = spec["layout"]["meta"]["row"], {}
    for trace in spec["data"]:
        if "markers" in trace["mode"] and trace["name"] != "selected":
            sizes = trace["marker"]["size"]
            sizes = sizes if isinstance(sizes, list) else [sizes] * len(trace["x"])
            for node, x, y, size in zip(trace.get("customdata", ()), trace["x"], trace["y"], sizes):
                found[node] = x - size / 2, y * row - size / 2, x + size / 2, y * row + size / 2
    return found


def overlap(one: Box, other: Box, least: float = 0.6) -> bool:
    return (min(one[2], other[2]) - max(one[0], other[0]) > least
            and min(one[3], other[3]) - max(one[1], other[1]) > least)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans(), rooms)
def test_nothing_is_written_over_anything_else_and_all_of_it_is_inside(step: Step, dense: bool, room: tuple) -> None:
    spec = tree.spec(step, dense=dense, room=room)
    meta, written = spec["layout"]["meta"], texts(spec, step)
    high = spec["layout"]["yaxis"]["range"][1] * meta["row"]
    for node, box in written.items():
        assert 0 <= box[0] and box[2] <= meta["wide"] and high <= box[1] and box[3] <= high + meta["high"]
    for (one, box), (other, another) in itertools.combinations(written.items(), 2):
        assert not overlap(box, another), (one, other)
    for one, box in written.items():
        for other, mark in marks(spec).items():
            # where rows are closer than letters are high, the next row's dots may touch a letter's foot or head
            assert not overlap(box, mark, max(0.6, fit.SMALL + 1 - meta["row"])), (one, other)


@settings(max_examples=60, deadline=None)
@given(steps)
def test_the_whole_tree_is_in_the_frame(step: Step) -> None:
    for room in ((582, 328), (900, 600)):
        meta = tree.spec(step, dense=True, room=room)["layout"]["meta"]
        assert (meta["wide"], meta["high"]) <= room and meta["high"] <= room[1], "root to leaves, in both directions"
    narrow = fit.fit(step, layout.tidy(step), True, (300, 378))
    assert narrow.high <= 378 - (fit.BAR if narrow.wide > 300 else 0), "what does not fit across scrolls across only"
    assert narrow.wide <= 300 or narrow.letters == fit.DENSE.letters[0], "and then its tokens are whole"


def test_a_tree_that_does_not_fit_with_its_tokens_above_is_known() -> None:
    step = make(3, nodes=4)
    places = layout.tidy(step)
    roomy = fit.fit(step, places)
    assert roomy.high == (places.height - 1) * 38 + 104
    assert tree.fits(step, places, (None, roomy.high)) and not tree.fits(step, places, (None, roomy.high - 1))
    assert tree.fits(step, places, (roomy.wide, roomy.high)) and not tree.fits(step, places, (200, roomy.high))


def test_a_narrow_frame_shortens_tokens_before_it_scrolls() -> None:
    step = make(11, nodes=63)
    places = layout.tidy(step)
    free = fit.fit(step, places)
    tight = fit.fit(step, places, False, (free.wide - 60, 400))
    assert tight.wide == free.wide - 60 and tight.letters < free.letters == 9.5
    assert fit.fit(step, places, False, (200, 400)).wide == free.wide
    wide = fit.fit(step, places, False, (free.wide + 100, 400))
    assert wide.wide == free.wide + 100 and wide.xs[-1] > free.xs[-1]
    assert max(b - a for a, b in zip(wide.xs, wide.xs[1:])) <= fit.ROOMY.widest


@settings(max_examples=40, deadline=None)
@given(steps, rooms)
@example(make(1, 1, 0, 0.6), None)  # its words just fit before those of the model's own choice
def test_the_accepted_path_is_always_written(step: Step, room: tuple) -> None:
    for trace in tree.spec(step, dense=True, room=room)["data"]:
        if trace["name"] == "accepted tokens" and (room is None or room[0] >= 582):
            shown = dict(zip(trace["customdata"], trace["text"]))
            assert all(shown[node] for node in step.accepted_nodes), shown


@settings(max_examples=30, deadline=None)
@given(steps, rooms)
def test_dense_edges_begin_after_the_token(step: Step, room: tuple) -> None:
    places = layout.tidy(step)
    fitted = fit.fit(step, places, True, room)
    written = texts(tree.spec(step, dense=True, room=room), step)
    for name in ("accepted path", "refused branches"):
        for trace in tree.spec(step, dense=True, room=room)["data"]:
            starts = zip([None, *trace["x"]], trace["x"], trace["y"]) if trace["name"] == name else ()
            for before, x, y in starts:
                if before is not None or x is None:
                    continue
                for node, depth in enumerate(step.depths):
                    if places.rows[node] == y and fitted.xs[depth] <= x <= fitted.turns[depth]:
                        box = written.get(node)
                        assert box is None or box[2] <= x or box[3] < y * fitted.row


@settings(max_examples=30, deadline=None)
@given(steps)
def test_edges_are_as_wide_as_their_scores(step: Step) -> None:
    edges = [one for one in tree.spec(step)["data"] if one["name"] == "refused branches"]
    assert [one["line"]["width"] for one in edges] == [1.0, 1.7, 2.8]
    ends = [[(x, y) for x, y, after in zip(one["x"], one["y"], [*one["x"][1:], 0]) if after is None] for one in edges]
    tidy = layout.tidy(step)
    xs = fit.fit(step, tidy).xs
    places = list(zip([xs[depth] for depth in step.depths], tidy.rows))
    for node in range(1, len(step)):
        score = step.scores[node]
        wide = 2 if score >= 0.05 else 1 if score >= 0.005 else 0
        assert [places[node] in some for some in ends] == [not step.accepted[node] and wide == at for at in range(3)]


def test_the_selected_node_wears_a_ring() -> None:
    step = make(8)
    for dense in (False, True):
        rings = {}
        for selected in (None, 3, -1, len(step)):
            data = tree.spec(step, selected=selected, dense=dense)["data"]
            (ring,) = [one for one in data if one["name"] == "selected"]
            rings[selected] = list(zip(ring["x"], ring["y"]))
        own = data[-1]
        assert rings[None] == rings[len(step)] == [] and rings[-1] == [(own["x"][0], own["y"][0])]
        places = layout.tidy(step)
        fitted = fit.fit(step, places, dense)
        assert rings[3] == [(fitted.xs[step.depths[3]], places.rows[3])]
        radius = ring["marker"]["size"] / 2 + ring["marker"]["line"]["width"] / 2
        assert ring["marker"]["color"] == "rgba(0,0,0,0)" and radius <= min(fitted.gap, fit.OWN), "it hides no token"
