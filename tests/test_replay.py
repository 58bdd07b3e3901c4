"""Offline replay on continuations made by hand, whose figures can be counted, and on a tiny model."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

import recap
from recap import RecapConfig
from recap.__main__ import main
from recap.analysis import recall, trees
from recap.analysis.bootstrap import interval
from recap.analysis.continuation import Continuation, greedy, save, saved
from recap.analysis.growth import growth
from recap.analysis.replay import drafter, follow, matched
from recap.analysis.replaying import replay
from recap.bench import replay_tables
from recap.budget.fixed import draft_within

from .tiny import picture


def hand(tokens, rows, prompt=(1,), seeds=(), id="a", cluster="p") -> Continuation:
    """`rows`: {id: probability} per state, `seeds`: (token, row) pairs."""

    def arrays(found):
        found = list(found)
        ids = np.array([list(row) for row in found], np.int64).reshape(len(found), 2)
        return ids, np.log(np.array([list(row.values()) for row in found], np.float64)).astype(np.float32).reshape(ids.shape)

    ids, logits = arrays(rows)
    seed_ids, seed_logits = arrays(row for _, row in seeds)
    return Continuation(id, "c", cluster, np.array(prompt, np.int64), (), np.array(tokens, np.int64), ids, logits,
                        np.array([token for token, _ in seeds], np.int64), seed_ids, seed_logits)  # fmt: skip


def likely(*ids):
    """A row for each id: it, and one that never occurs."""
    return [{one: 0.9, 100 + one: 0.1} for one in ids]


# 1 | 2 3 2 3 2 4: contexts that have been met, and references that their latest rows hold or not
LOOP = hand([2, 3, 2, 3, 2, 4], likely(2, 3, 2, 3, 2, 4))


class TestSources:
    def test_coverage_and_conditional_recall_counted_by_hand(self):
        # state 0: last token 1, nothing is known. 1: 2 is new. 2: 3 is new. 3 asks U[2] and finds 3: hit; C[3, 2] is new.
        # 4 asks U[3], C[2, 3]: 2, hits; G[3, 2, 3] is new. 5 asks U[2], C[3, 2], G[2, 3, 2]: 3, not 4: misses.
        # C[2, 3] of state 2 was filed under (1, 2, 3) in G; state 4's G key is (3, 2, 3).
        assert recall.sources(LOOP) == {
            "U": {"covered": 3, "hits": 2}, "C": {"covered": 2, "hits": 1}, "G": {"covered": 1, "hits": 0},
        }  # fmt: skip

    def test_memories_are_asked_before_they_are_updated_and_start_empty_each_time(self):
        once = hand([7, 7], likely(7, 7), prompt=(7,))
        assert recall.sources(once) == recall.sources(once)
        assert recall.sources(once)["U"] == {"covered": 1, "hits": 1}

    def test_the_prompts_last_tokens_are_part_of_the_keys(self):
        one = hand([5, 6], likely(5, 6), prompt=(1, 2, 3))
        assert one.context(0) == (1, 2, 3) and one.context(1) == (2, 3, 5) and one.context(2) == (3, 5, 6)
        asked = drafter(RecapConfig(), one)
        list(follow(one, [asked], seeded=False))
        assert asked.lookup((1, 2, 3))["G"][0][0] == 5 and asked.lookup((2, 3, 5))["G"][0][0] == 6


class TestRules:
    def test_all_query_recall_counts_uncovered_states_as_misses(self):
        found = recall.rules(LOOP)
        assert found["hits"]["w/o confidence"] == 2 and found["disagreement"]["states"] == 0

    def test_seeded_rows_are_there_from_the_first_state(self):
        one = hand([2], likely(2), seeds=[(1, {2: 0.6, 9: 0.4})])
        assert recall.rules(one)["hits"]["recap"] == 1 and recall.sources(one)["U"]["covered"] == 0

    def test_where_sources_disagree_the_gate_drops_what_fusion_keeps(self):
        # state 2 has U[5] = 8, sharp (of state 1 ...) and C[4, 5] = 6, flat: the reference 6 is in C's row alone
        rows = [*likely(4, 5), {6: 0.5, 7: 0.5}, *likely(9, 5), {8: 0.999, 3: 0.001}, *likely(4, 5), {6: 0.5, 7: 0.5}]
        one = hand([4, 5, 6, 9, 5, 8, 4, 5, 6], rows)
        found = recall.rules(one)
        disagreement = found["disagreement"]
        assert disagreement["states"] == 1
        # K = 2 of {8, 6, 7, 3}: by prior 8 x .2 x .999 < 6 x .7 x .5 and 7; both of C's tokens stay
        assert disagreement["w/o confidence"] == 1 and disagreement["confidence gate"] == 0 and disagreement["backoff"] == 1

    def test_where_g_and_u_both_match(self):
        assert recall.rules(LOOP)["both"] == {"states": 1, "G": 0, "U": 0}


class TestTrees:
    def test_matched_length_stops_where_the_tree_does(self):
        one = drafter(RecapConfig(top_k=2, width=2, suffix=False))
        one.begin([9])
        one.seed([1, 2, 3], [[2, 8], [3, 8], [4, 8]], np.log([[0.9, 0.1]] * 3).astype(np.float32))
        one.commit([1])
        draft = one.draft(63)
        assert [matched(draft, tokens) for tokens in ([2, 3, 4, 5], [2, 8, 4], [8], [5], [])] == [3, 2, 1, 0, 0]
        for nodes in range(len(draft)):  # the first nodes are the tree of that cap
            assert matched(draft, [2, 3, 4], nodes) == matched(one.draft(nodes), [2, 3, 4])

    def test_policies_are_compared_at_the_smallest_tree(self):
        found = trees.policies(LOOP)
        # states 3, 4 and 5 have a row; 2 and 3 take turns down to depth 10, each with a refused sibling: 20 nodes
        assert set(found["matched"]) == set(trees.POLICIES) and found["nodes"] == 60
        assert found["matched"]["U"] == found["matched"]["prior-weighted fusion"] == 3  # 3 2, then 2, then none

    def test_the_suffix_path_counts_within_the_cap(self):
        one = drafter(RecapConfig(top_k=2, width=2))
        one.begin([5, 6, 7, 8, 9, 30])
        one.seed(range(40), [[41, 42]] * 40, np.zeros((40, 2), np.float32))
        one.commit([5])
        for most in range(12):
            draft = draft_within(one, most, 4)
            assert len(draft) - 1 <= most
            memory = draft.suffix_start - 1
            more = one.draft(memory + 1, 4)  # one more memory node would not fit, or there is none
            assert len(more) - 1 > most or more.suffix_start - 1 == memory

    def test_suffix_adds_first_tokens_that_no_row_holds(self):
        one = hand([5, 6, 7, 5, 6, 7], [{1: 0.5, 2: 0.5}] * 6, prompt=(9,))
        # after the second 5 (state 4) and 6 (state 5) the text tells what follows; rows hold neither. Fusion has two
        # candidates there, and so has the path, in place of both: 6 7, then 7
        assert trees.suffix(one) == {"matched": {"fusion": 0, "+ suffix": 3}, "first": 2, "nodes": 4}

    def test_weights_by_the_number_of_rows(self):
        config = RecapConfig()
        found = trees.calls(np.array([[0, 1, 2], [-1, 1, 2], [-1, -1, 2], [-1, -1, -1]]), np.full((4, 3), 0.5), config)
        assert found == {2: pytest.approx([1, 7 / 9, 2 / 9]), 3: pytest.approx([1, 0.7, 0.2, 0.1])}
        sharp = trees.calls(np.array([[0, -1, 1]]), np.array([[0.25, 0.0, 1.0]]), config)
        assert sharp[2] == pytest.approx([1, 0.7 * 0.25 / (0.7 * 0.25 + 0.2), 0.2 / (0.7 * 0.25 + 0.2)])

    def test_replay_and_decoding_count_the_same_calls(self, target):
        """Along the passes of decoding, of_steps agrees with fusing anew from the rows that the passes tell of."""
        config = RecapConfig(budget="paper", max_nodes=15, max_depth=3)
        steps = recap.generate(target("llava"), "Hi", max_new_tokens=40, config=config).trace.steps
        calls = {2: 0, 3: 0}
        for step in steps:
            expanded = {parent for parent, origin in zip(step.parents, step.origins) if origin == "memory"}
            found = [sum(row >= 0 for row in step.rows[node]) for node in expanded]
            for count in calls:
                calls[count] += sum(one == count for one in found)
        sums = trees.of_steps(steps, config)
        assert all(sums[count][0] >= calls[count] > 0 for count in calls)  # a node whose children lost was asked as well
        assert all(math.isclose(sum(sums[count][1:]), sums[count][0]) for count in calls)


class TestGrowth:
    def test_keys_and_the_newest_row(self):
        pool = [LOOP, hand([6, 7], likely(6, 7), prompt=(5,), id="b"), hand([6], likely(8), prompt=(5,), id="c")]
        points = growth(pool, requests=30)
        assert [point["requests"] for point in points] == [1, 2, 3, 5, 10, 20, 30]
        assert points[0]["keys"]["most"] == 3 and points[0]["keys"]["least"] in (1, 2)
        for point in points[2:]:  # each was there once: 1, 2, 3 and 5, 6
            assert point["keys"] == {"mean": 5.0, "least": 5, "most": 5}
        assert points[2]["bytes"] == points[-1]["bytes"]


def test_intervals_resample_clusters_together():
    assert interval(["a", "a"], [1, 0], [2, 2]) is None and interval(["a", "b"], [0, 0], [0, 0]) is None
    low, high = interval(["a", "b"] * 20, [1, 0] * 20, [1, 1] * 20)
    assert (low, high) == (0.0, 1.0)  # two clusters: a resample may hold one of them alone
    low, high = interval(range(400), [1, 0] * 200, [1, 1] * 200)
    assert 0.44 < low < 0.5 < high < 0.56


class TestContinuations:
    def test_file_round_trip_and_a_line_cut_off(self, tmp_path):
        path = tmp_path / "c.jsonl"
        assert list(save(path, {"model": "m"}, [LOOP, hand([5], likely(5), id="b")])) and len(saved(path)[1]) == 2
        head, (first, second) = saved(path)
        assert head == {"format": 1, "model": "m"} and first.to_dict() == LOOP.to_dict() and second.seed_ids.shape == (0, 2)
        path.write_text(path.read_text()[:-20])
        assert [one.id for one in saved(path)[1]] == ["a"]
        path.write_text(path.read_text().replace('"tokens": [2,', '"tokens": ['))
        with pytest.raises(ValueError, match="line 2"):
            saved(path)

    def test_rows_are_the_targets_own_and_tokens_those_of_plain_decoding(self, target):
        model = target("llava")
        question = {"id": "1", "category": "", "prompt": "What is it?", "images": [picture(1)]}
        one = greedy(model, question, 30)
        plain = recap.generate(model, "What is it?", images=[picture(1)], method="ar", max_new_tokens=30)
        assert one.tokens.tolist() == plain.token_ids and one.prompt.tolist() == plain.prompt_ids.tolist()
        assert one.ids[:, 0].tolist() == plain.token_ids  # each row's first is the reference
        eligible = [token for token in plain.prompt_ids.tolist() if token not in model.banned]
        assert sorted(one.seed_tokens.tolist()) == sorted(set(eligible))

    def test_from_a_trace_the_accepted_rows(self, target):
        config = RecapConfig(budget="paper")
        trace = recap.generate(target("llava"), "Hi", max_new_tokens=30, config=config).trace
        one = Continuation.from_trace(trace, "t")
        whole = greedy(target("llava"), {"id": "t", "category": "", "prompt": "Hi", "images": []}, 30)
        assert one.prompt.tolist() == trace.token_ids[:1] and one.tokens.tolist() == trace.token_ids[1:]
        assert (one.ids == whole.ids[1:]).all()
        with pytest.raises(ValueError, match="keeps no rows"):
            Continuation.from_trace(recap.generate(target("llava"), "Hi", method="ar", max_new_tokens=5).trace)


def test_tables_hold_the_sums_of_their_inputs():
    pool = [LOOP, hand([7, 7, 7], likely(7, 7, 7), prompt=(7,), id="b", cluster="q")]
    pool[1].category = "d"
    result = json.loads(json.dumps(replay(pool, 20)))
    found = {table.name: table for table in replay_tables.tables(result)}
    coverage = {row[0]: row for row in found["coverage"].rows}
    assert list(coverage) == ["c", "d", "all"]
    assert coverage["c"][1:] == [6, 50.0, pytest.approx(100 / 3), pytest.approx(100 / 6), pytest.approx(200 / 3), 50.0, 0.0]
    assert coverage["all"][1:3] == [9, pytest.approx(500 / 9)]
    assert found["lengths"].rows[0][1] == 6
    read = list(csv.reader(found["coverage"].csv().splitlines()))
    assert read[0] == found["coverage"].columns and float(read[1][2]) == 50.0
    with pytest.raises(ValueError, match="no continuations"):
        replay([], 1)


class TestCommands:
    @pytest.fixture()
    def asked(self, tmp_path, tiny_folder):
        picture(1).save(tmp_path / "a.png")
        lines = [{"id": "1", "category": "x", "prompt": "What is it?", "images": ["a.png"]}, {"id": "2", "prompt": "Hi"}]
        (tmp_path / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return [str(tmp_path / "q.jsonl"), "--model", str(tiny_folder("llava")), "--dtype", "float32", "--device", "cpu",
                "--max-new-tokens", "12"]  # fmt: skip

    def test_replay_decodes_once(self, asked, target, tmp_path, capsys, monkeypatch):
        folder = tmp_path / "out"
        assert main(["bench", "replay", *asked, "-o", str(folder), "--requests", "10"]) == 0
        first = capsys.readouterr().out
        assert "Table 14" in first and "Figure 5" in first
        wanted = {"continuations.jsonl", "replay.json", "coverage.csv", "growth.csv"}
        assert wanted <= {path.name for path in folder.iterdir()}
        monkeypatch.setattr("recap.analysis.continuation.greedy", None)  # a second run must not decode
        assert main(["bench", "replay", *asked, "-o", str(folder), "--requests", "10"]) == 0
        again = capsys.readouterr().out
        assert again[: again.index("Table 10")] == first[: first.index("Table 10")]
        held = str(folder / "continuations.jsonl")
        assert main(["bench", "replay", held, "-o", str(tmp_path / "b"), "--requests", "5"]) == 0
        assert main(["bench", "replay", *asked[:-1], "21", "-o", str(folder)]) == 2
        assert "max_new_tokens 12, not 21" in capsys.readouterr().err

    def test_ablations_side_by_side(self, asked, target, capsys, tmp_path):
        file = tmp_path / "r.jsonl"
        tables = [argument for number in ("4", "10", "12", "13") for argument in ("--table", number)]
        assert main(["bench", "ablations", *asked, *tables, "--limit", "1", "--json", str(file)]) == 0
        printed = capsys.readouterr().out
        records = [json.loads(line) for line in file.read_text().splitlines()]
        answers = sum(len(record["presets"]) for record in records)
        assert f"same tokens as AR: {answers} of {answers} answers" in printed
        for title in ("Table 4", "Table 10", "Table 12", "Table 13", "Table 17"):
            assert title in printed
        assert all(one["nodes"] <= 63 for record in records for name, one in record["presets"].items() if name != "cap 127")
