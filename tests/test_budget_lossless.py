"""With the budget "auto", answers are plain decoding's own whatever passes are said to cost, and steps tell the choice."""

from __future__ import annotations

import functools
import itertools
import json

import numpy as np
import pytest

import recap
from recap import decoding
from recap.budget import Auto, Fixed, Learned, PassCosts
from recap.methods import AUTO_METHODS
from recap.session import Session
from recap.trace import VERSION
from recap.trace_json import read_trace

from . import tiny

LENGTH = 60
QUESTION = "What is the woman carrying?"
CURVES = {
    "free": ([1, 96], [1.0, 1.0]),
    "dear": ([1, 2], [1.0, 100.0]),
    "steps": ([1, 2, 5, 6, 20, 21], [1.0, 1.0, 1.0, 9.0, 9.0, 90.0]),
    "gentle": ([1, 64], [20.0, 60.0]),
}


class Unmoved(PassCosts):
    """Costs that no pass can correct."""

    def learn(self, nodes: int, prefix: int, ms: float) -> None:
        pass


@pytest.fixture
def priced(target):
    """`priced(family, curve, seed_ms)`: a target whose passes are said to cost what a curve of CURVES says."""
    changed = []

    def price(family, curve, seed_ms=1e-3):
        loaded = target(family)
        changed.append((loaded, loaded.learned))
        loaded.learned = Learned(Unmoved(*CURVES[curve]), seed_ms)
        return loaded

    yield price
    for loaded, before in reversed(changed):
        loaded.learned = before


def two_turns(loaded, method="recap"):
    """Traces of a method and of plain decoding, for each question of a conversation."""
    sessions = recap.Session(loaded, method), recap.Session(loaded, "ar")
    for question, pictures in (("Describe it.", [tiny.picture(1)]), ("And the hat, the red hat, the hat?", [])):
        settings = {"images": pictures, "max_new_tokens": LENGTH}
        yield [recap.generate(loaded, question, session=session, **settings).trace for session in sessions]


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_answers_are_those_of_plain_decoding(priced, family, curve):
    for ours, plain in two_turns(priced(family, curve)):
        assert ours.token_ids == plain.token_ids
        sizes = [len(step) for step in ours.steps]
        assert ours.config["budget"] == "auto" and max(sizes) <= 68
        assert {"free": max(sizes) > 40, "dear": max(sizes) == 1, "steps": max(sizes) <= 20, "gentle": True}[curve]


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_paths_from_earlier_answers_change_no_token(priced, family):
    """A new chat of the same session: its own text knows nothing yet, the earlier answer does."""
    loaded = priced(family, "gentle")
    session = recap.Session(loaded)
    plain = recap.generate(loaded, QUESTION, method="ar", max_new_tokens=LENGTH).trace
    first = recap.generate(loaded, QUESTION, session=session, max_new_tokens=LENGTH).trace
    session.reset()
    again = recap.generate(loaded, QUESTION, session=session, max_new_tokens=LENGTH).trace
    assert first.token_ids == again.token_ids == plain.token_ids
    assert any("suffix" in step.origin_of_committed() for step in again.steps)
    assert len(again.steps) < len(first.steps)


@pytest.mark.parametrize("method", sorted(recap.METHODS))
def test_every_method_with_this_budget(priced, method):
    """Cut where its candidates come best first, in its own size where not; what it learns of them is not RECAP's."""
    loaded = priced("llava", "steps")
    known = loaded.learned.acceptance.to_dict()
    for ours, plain in two_turns(loaded, method):
        assert ours.token_ids == plain.token_ids
        sizes = [len(step) for step in ours.steps]
        assert max(sizes) <= 20 if method in AUTO_METHODS | {"ar"} else max(sizes) > 20
        assert method == "ar" or max(sizes) > 1
        assert all((step.expected_tokens is not None) is (method in AUTO_METHODS) for step in ours.steps)
    assert (loaded.learned.acceptance.to_dict() == known) is (method != "recap")


@pytest.mark.parametrize("curve", CURVES)
def test_sampling_is_that_of_plain_decoding(priced, curve):
    loaded = priced("qwen2_5_vl", curve)
    ask = functools.partial(recap.generate, loaded, QUESTION, max_new_tokens=LENGTH, temperature=0.8, seed=11)
    known = loaded.learned.acceptance.to_dict()
    assert ask().token_ids == ask(method="ar").token_ids
    assert loaded.learned.acceptance.to_dict() == known, "draws teach nothing about greedy answers"


def test_custom_generate_measures_once_and_changes_nothing(target):
    model, processor = target("qwen2_5_vl").model, target("qwen2_5_vl").processor
    ids = processor.tokenizer("The red hat and the red", return_tensors="pt").input_ids
    plain = model.generate(ids, max_new_tokens=40, do_sample=False)
    from recap import custom

    custom._LEARNED.pop(model, None)
    for _ in range(2):
        assert model.generate(ids, max_new_tokens=40, do_sample=False, custom_generate=recap.custom_generate).equal(plain)
        assert custom._LEARNED[model].costs.nodes[0] == 1 and custom._LEARNED[model].seed_ms > 0
        known = custom._LEARNED[model]
    assert custom._LEARNED[model] is known


def test_steps_tell_what_was_expected(priced):
    loaded = priced("llava", "gentle")
    trace = recap.generate(loaded, QUESTION, [tiny.picture(1)], max_new_tokens=LENGTH).trace
    costs = loaded.learned.costs
    assert len({len(step) for step in trace.steps}) > 2, "the choice must vary"
    for step in trace.steps:
        memory = step.origins.count("memory")
        assert (step.max_nodes, step.suffix_tokens) == (memory, len(step) - 1 - memory)
        assert step.expected_ms == pytest.approx(costs.ms(len(step), step.prefix_length)) and step.plain_ms == 20.0
        assert 1.0 <= step.expected_tokens <= 1 + max(step.depths) + 1e-9
        assert step.expected_gain == pytest.approx(step.expected_tokens * 20.0 / step.expected_ms)
        took = step.draft_ms + step.verify_ms + step.update_ms
        assert step.gain == pytest.approx(len(step.committed) * 20.0 / took)
    said, did = (sum(values) for values in zip(*[(one.expected_tokens, len(one.committed)) for one in trace.steps]))
    assert said / did == pytest.approx(1, abs=0.5), "expectations are about what happens"


def test_nothing_is_expected_of_a_fixed_budget(target):
    loaded, paper = target("llava"), recap.RecapConfig(budget="paper", max_nodes=9, suffix_tokens=2)
    for trace in (
        recap.generate(loaded, QUESTION, max_new_tokens=20, config=paper).trace,
        recap.generate(loaded, QUESTION, max_new_tokens=20, method="ar").trace,
    ):
        step = trace.steps[0]
        assert (step.expected_tokens, step.expected_ms, step.plain_ms) == (None, None, None)
        assert step.expected_gain is None and step.gain is None
        assert (step.max_nodes, step.suffix_tokens) == ((9, 2) if trace.method == "recap" else (63, 4))


def test_the_last_token_is_not_drafted_for(priced):
    trace = recap.generate(priced("llava", "free"), QUESTION, max_new_tokens=2).trace
    assert len(trace.steps) == 1 and len(trace.steps[0]) == 1


def test_no_node_so_deep_that_the_answer_ends_before_it(priced):
    trace = recap.generate(priced("llava", "gentle"), QUESTION, max_new_tokens=LENGTH).trace
    committed = 1
    for step in trace.steps:
        assert max(step.depths) < LENGTH - committed or len(step) == 1
        committed += len(step.committed)


def test_the_same_measurements_give_the_same_choices(target, monkeypatch):
    """Every pass is measured, corrects the costs and the worth of time; the clock here ticks in steps of its own."""
    loaded, runs = target("internvl"), []
    for _ in range(2):
        ticks = itertools.count()
        monkeypatch.setattr(decoding, "perf_counter", lambda ticks=ticks: next(ticks) ** 1.3 / 1000)
        monkeypatch.setattr(loaded, "learned", Learned(PassCosts(*CURVES["steps"]), 0.01))
        runs.append(recap.generate(loaded, QUESTION, [tiny.picture(2)], max_new_tokens=LENGTH).trace)
    first, second = ([(step.tokens, step.expected_tokens, step.expected_ms) for step in run.steps] for run in runs)
    assert first == second and len({len(tokens) for tokens, _, _ in first}) > 1


def test_limits_are_limits(priced):
    loaded = priced("llava", "free")
    for nodes, suffix in ((0, 0), (5, 0), (3, 2), (0, 4)):
        config = recap.RecapConfig(max_nodes=nodes, suffix_tokens=suffix)
        trace = recap.generate(loaded, QUESTION, max_new_tokens=LENGTH, config=config).trace
        for step in trace.steps:
            assert step.max_nodes <= nodes and len(step) <= 1 + nodes + suffix and (suffix or not step.suffix_tokens)


@pytest.mark.parametrize("seed_ms, seeded", [(1e-4, True), (1e4, False)])
def test_seeding_is_weighed_too(priced, seed_ms, seeded):
    loaded = priced("llava", "gentle", seed_ms)
    trace = recap.generate(loaded, QUESTION, max_new_tokens=LENGTH).trace
    distinct = len(set(loaded.prompt(QUESTION).ids.tolist()))
    assert trace.seeded_rows == (distinct if seeded else 0)
    paper = recap.generate(loaded, QUESTION, max_new_tokens=9, config=recap.RecapConfig(budget="paper")).trace
    assert paper.seeded_rows == distinct
    assert recap.generate(loaded, QUESTION, max_new_tokens=9, method="ar").trace.seeded_rows is None


def test_a_session_keeps_what_it_learned_until_it_forgets(target):
    loaded = target("llava")
    session = Session(loaded)
    known = session.budget()
    assert isinstance(known, Auto) and session.budget() is known and session.budget(sampled=True) is not known
    assert isinstance(session.budget("ar"), Fixed)
    session.configure(session.config.replace(max_nodes=7))
    assert session.budget() is known
    session.configure(session.config.replace(budget="paper"))
    assert isinstance(session.budget(), Fixed)
    session.forget()
    session.configure(session.config.replace(budget="auto"))
    assert session.budget() is not known


def test_old_traces_are_read(target):
    trace = recap.generate(target("llava"), QUESTION, max_new_tokens=20).trace
    document = json.loads(trace.to_json())
    assert document["version"] == VERSION and recap.Trace.from_json(trace.to_json()) == trace
    document["version"] = 1
    del document["seeded_rows"], document["exactness"], document["lens"]
    for step in document["steps"]:
        del step["expected_tokens"], step["expected_ms"], step["plain_ms"]
    old = recap.Trace.from_json(json.dumps(document))
    assert old.version == VERSION and old.seeded_rows is None and old.token_ids == trace.token_ids
    assert all(step.expected_gain is None for step in old.steps)
    assert recap.Trace.from_json(old.to_json()) == old


def test_the_examples_are_read():
    from pathlib import Path

    for file in (Path(__file__).parent.parent / "assets" / "traces").glob("*.gz"):
        assert read_trace(file).steps and np.isfinite(read_trace(file).acceptance_length)


def test_no_draft_goes_on_behind_an_end(priced):
    """What lies behind an end is worth nothing, so that no draft is as large as it is for the sake of such a node."""
    loaded = priced("llava", "free")
    session = Session(loaded)
    recap.generate(loaded, QUESTION, session=session, max_new_tokens=20)
    drafter, learned = session.drafter("recap"), loaded.learned
    full, _ = Auto(learned, max_nodes=63, suffix_tokens=4).draft(drafter, 30, 40)
    ends = {int(token) for token, depth in zip(full.tokens, full.depths) if depth == 1}
    cut, _ = Auto(learned, max_nodes=63, suffix_tokens=4, ends=ends).draft(drafter, 30, 40)
    node = int(cut.parents[-1])  # of the last one; the order is the drafter's, and the budget chooses how many
    while node > 0:
        assert int(cut.tokens[node]) not in ends
        node = int(cut.parents[node])
    assert max(full.depths) > 1 and 1 < len(cut) < len(full)


def test_a_node_costs_what_it_adds_to_a_pass_that_others_are_in(priced, monkeypatch):
    """Five nodes cost what one does; whoever comes as the sixth pays, alone or in company."""
    told = []
    monkeypatch.setattr(Unmoved, "learn", lambda self, *given: told.append(given))
    loaded = priced("llava", "steps")
    session = Session(loaded)
    recap.generate(loaded, QUESTION, session=session, max_new_tokens=LENGTH)
    drafter, budget = session.drafter("recap"), Auto(loaded.learned, max_nodes=16, suffix_tokens=4)
    told.clear()
    for company, sizes in ((0, range(2, 6)), (4, range(1, 2))):
        draft, choice = budget.draft(drafter, 30, 40, company)
        costs, n = loaded.learned.costs.curve(30, 30), len(draft)
        assert choice.plain_ms == pytest.approx(costs[company] / (company + 1))  # shares, as its clock will count them
        assert choice.expected_ms == pytest.approx(costs[company + n - 1] * n / (company + n))
        assert len(draft) in sizes
        budget.learn([0], 1, 7.0)
    assert len(told) == 1 and told[0][1:] == (30, 7.0)  # a share of a pass says nothing of what passes cost
