"""One node from near: the sentence, the two contexts, the weights and the numbers behind a score."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

import recap
from recap.trace import Row, Step
from visual import inspector, knowledge, stories

from . import panels, synthetic


def seen(step: Step, node: int, config: dict = panels.CONFIG) -> panels.Page:
    return panels.Page(inspector.html(step, node, config))


def test_the_sentence_says_who_agreed_and_what_the_model_did() -> None:
    step = panels.tree()
    assert stories.node(step, 1) == (
        "G and U both had “␣sat” second (25 %, 38 %); the model chose the same: accepted."
    )
    assert stories.node(step, 2) == (
        "G, C and U all had “␣head” first (75 %, 50 %, 62 %); the model chose “␣sat” (75 %) here: refused."
    )
    assert stories.node(step, 3) == "U had “␣hat”: first, 88 %; the model chose “␣dog” (62 %) here: refused."
    assert stories.node(step, 4) == (
        "The last time the text ended like this, it went on this way, so “␣mat” was tried; "
        "but “␣head” before it was refused, so the text never came here: refused too."
    )
    mixed = Step(**{**vars(step), "tokens": [1, 3, 5, 5, 7], "choices": [-1, *step.choices[1:]]})
    assert stories.node(mixed, 2) == "Only C had “␣hat”: second, 50 %; the model chose another token here: refused."
    step.table.rows[step.rows[0][2]] = Row((3, 4), (0.625, 0.375), 0.25)
    assert stories.node(step, 2).startswith("G, C and U had “␣head”: G first (75 %), C first (50 %), U second (38 %);")


def test_why_it_was_proposed_shows_the_rows_at_the_parent() -> None:
    words = seen(panels.tree(), 1).words
    for line in ("G second, 25 % 0.50 0.75 62 %", "C not in its row 0.50 0.12 –", "U second, 38 % 0.25 0.12 38 %"):
        assert line in words, words
    assert "Score 0.15 at depth 1 = 1.00 (score before it) × 0.68 (depth) × 22 % (mix)." in words
    assert "✓ accepted" in words and "✗ refused" in seen(panels.tree(), 2).words
    assert "C nothing found – – –" in seen(panels.tree(), 3).words
    assert "Depth 2, no score" in seen(panels.tree(), 4).words and "Score" not in seen(panels.tree(), 4).words


def test_what_comes_after_it_shows_rows_mix_and_the_model() -> None:
    page = seen(panels.tree(), 0)
    words = page.words[page.words.index("the model said token") :]
    assert words.startswith(
        "the model said token G C U mix model sure 0.50 0.50 0.25 0.50 0.50 weight 0.75 0.12 0.12 1.00 "
        "✓␣sat 25 38 22 75 ␣head 75 50 62 69 25 ␣hat 50 9"
    ), words
    assert "Why it was proposed" not in page.words  # nobody proposes the root
    assert len(page.named("chosen")) == 1
    assert [one["style"] for one in page.named("of-mix") if "style" in one] == ["--p:21.9", "--p:68.8", "--p:9.4"]
    lone = seen(panels.tree(), 3).words
    assert "Memory held nothing for this text, so it could propose no token here. token model ✓⏎ 50 ␣mat 50" in lone


def test_a_refused_nodes_mark_is_not_taken_for_the_node() -> None:
    step = panels.tree()
    words = {node: seen(step, node).words for node in range(-1, 5)}
    assert "After “␣head”, the model would say" in words[2] and "✗ refused" in words[2]
    assert "✓ the model's choice after “␣head”" in words[2]
    assert "After “␣sat”, the model said" in words[1] and "✓ the model's choice after “␣sat”" in words[1]
    assert "After “␣cat”, the model said" in words[0] and "After “␣dog”" in words[-1]
    assert all("What comes after it" not in one for one in words.values())


def test_the_words_of_the_tables_are_explained() -> None:
    shown = inspector.html(panels.tree(), 2, panels.CONFIG)
    for name in ("its place", "sure", "weight", "share"):
        assert re.search(rf'<th scope="col"[^>]* title="[^"]{{20,}}">{name}</th>', shown), name
    after = shown[shown.index("would say") :]
    for name in ("sure", "weight"):
        assert re.search(rf'<th scope="row" title="[^"]{{20,}}">{name}</th>', after), name
    assert inspector.KEY in shown
    mixed = inspector.html(panels.tree(), 0, panels.CONFIG)
    assert re.search('title="[^"]{20,}">mix</th>', mixed) and "mix: G, C, U together, by weight" in mixed


def test_the_models_own_choice_and_why_nobody_proposed_it() -> None:
    step = panels.tree()
    start = "After “␣sat” the model chose “␣dog” (62 %). "
    assert stories.bonus(step, panels.CONFIG) == start + (
        "Not proposed though U had it second (12 %): its score would have been 0.012, "
        "and all 3 places went to better ones."
    )
    for change, reason in (
        ({"width": 1}, "it came second in the mix, and a node may have 1 candidate"),
        ({"max_depth": 1}, "the tree ends at depth 1"),
        ({"depth_priors": None}, "the search left it out"),
    ):
        assert stories.bonus(step, {**panels.CONFIG, **change}).endswith(f"U had it second (12 %): {reason}.")
    other = Step(**{**vars(step), "committed": [3, 7]})
    assert stories.bonus(other, panels.CONFIG) == (
        "After “␣sat” the model chose “␣mat”. Not proposed: the only row found does not hold it (U)."
    )
    empty = Step(**{**vars(step), "rows": [[-1] * 3] * 5, "fused": [-1] * 5})
    assert stories.bonus(empty, {}).endswith("Memory held nothing for this text, so nobody could propose it.")
    assert "no memory" in stories.bonus(panels.plain(0, 1), {})
    words = seen(step, -1).words
    assert "U second, 12 % 0.50 1.00 –" in words and "the next pass, if there is one, begins with this token" in words
    ended = Step(**{**vars(step), "committed": [3]})
    assert "no choice of the model's own" in seen(ended, -1).words


def test_missing_data_reads_well() -> None:
    words = seen(panels.plain(0, 1), 0, {}).words
    assert "The model said “␣cat”. This method keeps no predictions, so no more is on record." in words
    step = panels.tree()
    words = seen(Step(**{**vars(step), "choices": [-1] * 5}), 2, {}).words
    assert "No choice of the model is on record here" in words and "✓" not in words
    for node in (-2, 5):
        with pytest.raises(ValueError, match="node must be from -1 to 4"):
            inspector.html(step, node, panels.CONFIG)
    for priors in ([0.7], "0.7", [0.7, -1, 0.1], [True, 1, 1], [float("nan")] * 3, None):
        assert "C first, 50 % 0.50 – –" in seen(without_children(step), 4, {"priors": priors}).words


def without_children(step: Step) -> Step:
    """A suffix node below node 2, whose own weights are not on record: they must be worked out."""
    return Step(**{**vars(step), "tokens": [1, 3, 4, 5, 4]})


def test_weights_of_a_node_without_children_follow_the_rule() -> None:
    step = panels.tree()
    assert knowledge.weights(step, 0, {}) == [0.75, 0.125, 0.125]  # on record with its children
    total = 0.7 * 0.5 + 0.2 * 0.25  # C and U are found: the first two priors, by rank
    assert knowledge.weights(step, 2, panels.CONFIG) == [None, pytest.approx(0.35 / total), pytest.approx(0.05 / total)]
    assert knowledge.weights(step, 3, panels.CONFIG) == [None, None, None]
    assert knowledge.weights(step, 2, {"fusion": "no such rule"}) == [None, None, None]


@pytest.mark.parametrize("size", (1, 2, 3))
@pytest.mark.parametrize("rule", ("entropy", "prior", "confidence", "uniform", "gate", "backoff"))
def test_weights_equal_those_of_the_drafting_core(rule: str, size: int) -> None:
    config = recap.RecapConfig(top_k=4, width=4, fusion=rule)
    drafter = recap.Drafter(config, backend="python")
    rng = np.random.default_rng(size)
    drafter.begin([1, 2, 3])
    drafter.seed([3], np.array([[5, 6, 7, 8]]), rng.normal(size=(1, 4)).astype(np.float32))
    drafter.commit([4])
    context = [1, 2, 3]
    if size > 1:  # a pass writes the root's row to U, C and G
        drafter.draft(0, 0)
        drafter.observe(np.array([[5, 6, 7, 9]]), rng.normal(size=(1, 4)).astype(np.float32))
        context = [2, 3, 4] if size == 3 else [0, 3, 4]
    found = []
    for row in drafter.lookup(context).values():
        probs = () if row is None else tuple(row[1].tolist())
        sure = np.float32(np.exp(sum(p * np.log(p) for p in probs)))
        found.append(None if row is None else Row(tuple(row[0].tolist()), probs, float(sure)))
    assert sum(row is not None for row in found) == size
    ours = dict(zip("GCU", knowledge.fusion_weights(found, config.to_dict())))
    core = drafter.fuse(context)[2]
    assert {name: weight for name, weight in ours.items() if weight is not None} == pytest.approx(core, abs=1e-6)


@pytest.mark.parametrize("number", range(len(panels.HOSTILE)))
def test_token_texts_stay_text(number: int) -> None:
    trace = panels.hostile(number, panels.trace())
    for node in range(-1, 5):
        panels.harmless(inspector.html(trace.steps[1], node, trace.config))


def test_any_node_of_any_pass_can_be_inspected() -> None:
    for seed in range(12):
        trace = synthetic.trace(random.Random(seed), steps=1, nodes=30)
        for node in range(-1, len(trace.steps[0])):
            shown = inspector.html(trace.steps[0], node, trace.config)
            panels.harmless(shown)
            assert "<h5>After “" in shown
