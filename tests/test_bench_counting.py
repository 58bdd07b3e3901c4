"""Figures and tables of made-up records: every value worked out by hand."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from recap.bench import counting, report, tables
from recap.bench.counting import ALL, BY_TURNS, Estimate

from .bench_records import record, run


def pair(id: str, category: str, decode: float, repeat: int = 0, **more):
    """Plain decoding in 4 s, and RECAP with 1 s of prefill and `decode` s of decoding."""
    return [
        record(id, "ar", category, repeat, tokens=more.get("tokens", 40)),
        record(id, "recap auto", category, repeat, decode=decode, **more),
    ]


def cell(cells, category, name):
    (found,) = [one for one in cells if (one.category, one.name) == (category, name)]
    return found


def test_means_over_inputs_of_medians_over_repetitions():
    records = [
        *pair("1", "a", 1.0, 0, accepted=10), *pair("1", "a", 3.0, 1, accepted=10), *pair("1", "a", 0.6, 2, accepted=10),
        *pair("2", "b", 3.0, 0, accepted=30), *pair("2", "b", 4.0, 1, accepted=30), *pair("2", "b", 3.4, 2, accepted=30),
    ]  # fmt: skip
    cells = counting.everything(records)
    assert [one.category for one in cells[::2]] == ["a", "b", ALL]
    a, b, all = (cell(cells, name, "recap auto") for name in ("a", "b", ALL))
    assert a.S == Estimate(2.0, None, None) and a.tau.mean == 1.5 and a.faster == 1.0 and a.slower == 0.0
    assert b.S.mean == pytest.approx(4 / 4.4) and b.tau.mean == 2.5 and b.faster == 0.0 and b.slower == 1.0
    assert all.S.mean == pytest.approx((2 + 4 / 4.4) / 2) and all.inputs == 2 and all.tokens == 80
    assert all.S.low == pytest.approx(4 / 4.4) and all.S.high == 2.0  # of two values, both ends are drawn often
    assert all.ratios[1] == pytest.approx(all.S.mean) and all.latency[0] == pytest.approx((2.0 + 4.4) / 2)
    assert a.writing.mean == 3.0 and b.writing.mean == pytest.approx(3 / 3.4)
    assert cell(cells, ALL, "ar").S == Estimate(1.0, 1.0, 1.0)


def test_where_the_time_goes_per_token():
    (one,) = counting.cells(counting.measured([record("1", "ar", encode=0.4, decode=3.0)]), ALL)
    assert one.parts == pytest.approx(
        {"encode": 10.0, "prefill": 25.0, "draft": 18.75, "verify": 37.5, "update": 9.375, "other": 9.375}
    )
    assert sum(one.parts.values()) == pytest.approx(1000 * 4.4 / 40)


def test_short_answers_are_not_called_slower():
    records = [*pair("1", "a", 9.0, tokens=31), *pair("2", "a", 1.0, tokens=32)]
    assert cell(counting.everything(records), ALL, "recap auto").slower == 0.0
    assert cell(counting.everything(records[:2]), ALL, "recap auto").slower is None


def test_turns_count_together_and_each_by_itself():
    def conversation(name, first, second):
        one, other = (
            record("1", name, decode=first, accepted=20),
            record("1", name, decode=second, tokens=20, passes=10),
        )
        sums = {part: one["seconds"][part] + other["seconds"][part] for part in one["seconds"]}
        return one | {"tokens": 60, "T": one["T"] + other["T"], "seconds": sums, "tau": 1 + 20 / 30,
                      "turns": one["turns"] + other["turns"]}  # fmt: skip

    records = [conversation("ar", 3.0, 3.0), conversation("recap auto", 1.0, 3.0), *pair("2", "a", 3.0)]
    cells = counting.everything(records)
    assert cell(cells, "a", "recap auto").S.mean == pytest.approx((8 / 6 + 1) / 2)  # equation 11
    turns = cell(cells, BY_TURNS, "recap auto")
    assert (
        turns.inputs == 3 and turns.S.mean == pytest.approx((2 + 1 + 1) / 3) and turns.tau.mean == pytest.approx(4 / 3)
    )
    assert BY_TURNS not in {one.category for one in counting.everything(pair("1", "a", 1.0))}


def test_peers_have_no_tau_and_others_are_measured_against_them():
    peer = record("1", "transformers", decode=7.0)
    for name in ("tau", "nodes", "passes"):
        del peer[name]
    peer["seconds"] = {"encode": 0.0, "prefill": 0.0, "decode": 8.0}
    cells = counting.everything([*pair("1", "a", 1.0), peer])
    known = cell(cells, ALL, "transformers")
    assert known.tau is None and known.writing is None and known.S.mean == 0.5 and known.parts["other"] == 200.0
    assert cell(cells, ALL, "recap auto").over.mean == 4.0
    made = {table.title: table for table in tables.tables(cells, [])}
    assert made["Times transformers' own generate"].rows == (("ar", "2.00", "2.00"), ("recap auto", "4.00", "4.00"))
    assert [row[0] for row in made["S of writing alone"].rows] == ["ar", "recap auto"]


def test_bootstrap_intervals_hold_the_mean_as_often_as_they_say():
    rng = np.random.default_rng(0)
    held = 0
    for seed in range(200):
        one = counting.estimate(rng.normal(2.0, 1.0, 40), seed, 400)
        held += one.low <= 2.0 <= one.high
    assert 0.90 <= held / 200 <= 0.99
    values = rng.normal(2.0, 1.0, 40)
    assert counting.estimate(values, 1) == counting.estimate(values, 1) != counting.estimate(values, 2)


def test_tables_say_what_was_measured():
    apart = {"turn": 0, "token": 4, "margin": -0.25}
    records = [
        *pair("1", "a", 1.0, accepted=10), *pair("2", "b", 3.0, accepted=30, difference=apart),
        {"repeat": 0, "id": "3", "category": "b", "name": "", "error": "the picture is broken"},
    ]  # fmt: skip
    made = {table.title: table for table in tables.tables(counting.everything(records), records, ["line 9 is none"])}
    assert made["S and tau by category"].head == ("S, tau", "a", "b", "all")
    assert made["S and tau by category"].rows[1:] == (
        ("recap auto", "2.00, 1.50", "1.00, 2.50", "1.50, 2.00"), ("inputs", "1", "1", "2")
    )  # fmt: skip
    assert made["All inputs"].rows[1][-1] == "1/2"
    assert made["Answers that are not plain decoding's"].rows == (("recap auto", "2", "1", "1", "5", "-0.2500"),)
    assert made["Left out"].rows == (("line 9 is none",), ("nobody could be asked 3: the picture is broken",))
    text = tables.text(list(made.values()))
    assert "Seconds per input" in text and "line 9 is none" in text
    assert "Answers that are not" not in tables.text(tables.tables(counting.everything(records[:2]), records[:2]))


def test_facts_name_machine_versions_and_interruptions():
    about = run(["ar"]) | {"resumed": [{"at": "noon", "complete": 3}]}
    text = "\n".join(tables.facts(about))
    for words in (
        "m.jsonl: 2 inputs, 1 repetition",
        "A chip",
        "8.0 GiB",
        "torch 2",
        "not complete",
        "0.5 before",
        "noon, after 3",
    ):
        assert words in text


def test_csv_has_a_line_per_category_and_method():
    lines = list(
        csv.DictReader(io.StringIO(report.csv_of(counting.everything(pair("1", "=SUM(A1)", 1.0, accepted=10)))))
    )
    assert [(line["category"], line["method"]) for line in lines] == [
        ("'=SUM(A1)", "ar"), ("'=SUM(A1)", "recap auto"), ("all", "ar"), ("all", "recap auto")
    ]  # fmt: skip
    assert (
        lines[1]["S"] == "2" and lines[1]["S_low"] == "" and lines[1]["tau"] == "1.5" and lines[1]["identical"] == "1"
    )
    assert lines[1]["draft_ms_per_token"] == "6.25" and lines[1]["T_p99"] == "2"
