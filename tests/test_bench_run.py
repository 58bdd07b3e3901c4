"""`bench run` on tiny models: who answers when, what is kept from whom, and a run that is stopped and goes on."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

import recap
from recap.__main__ import main
from recap.bench import counting, folder, runner
from recap.bench.contenders import contenders
from recap.bench.folder import RunFolder
from recap.bench.manifest import Input
from recap.bench.peers import PEERS, Peer, load
from recap.config import RecapConfig
from recap.lens import look
from recap.roots import by_accepted

TOKENS = 12
TIME = ("T", "seconds", "turns")
"""Fields of a record that no two runs have alike."""


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp("pictures") / "red.png"
    Image.new("RGB", (30, 20), "red").save(path)
    return str(path)


@pytest.fixture(scope="module")
def inputs(picture):
    return [
        Input("one", "a", ("What is this?",), (picture,)),
        Input("two", "b", ("The cat sat on the mat. The cat", "Say it again.")),
        Input("three", "a", ("A dog and a dog and a",)),
    ]  # fmt: skip


def fixed(record):
    """What another run of the same must have too."""
    turns = [{key: value for key, value in turn.items() if key != "seconds"} for turn in record.get("turns", ())]
    return {key: value for key, value in record.items() if key not in TIME} | {"turns": turns}


def test_names_budgets_and_settings():
    made = contenders(["recap", "lookahead", "pld", "recap:fusion=prior,suffix=False", "recap"], ["paper", "auto"])
    assert [one.name for one in made] == [
        "ar", "recap paper", "recap auto", "lookahead", "pld paper", "pld auto", "recap:fusion=prior,suffix=False paper",
        "recap:fusion=prior,suffix=False auto",
    ]  # fmt: skip
    by_name = {one.name: one for one in made}
    assert by_name["recap:fusion=prior,suffix=False auto"].config == RecapConfig(
        fusion="prior", suffix=False, budget="auto"
    )
    assert [by_name[name].budget for name in ("ar", "lookahead", "pld auto")] == ["", "paper", "auto"]
    assert [one.name for one in contenders(["ar", "recap:budget=paper"])] == ["ar", "recap:budget=paper"]
    for methods, budgets, words in [
        (["magic"], ["auto"], "one of ar, recap"), (["pld:fusion=prior"], ["auto"], "those of recap"),
        (["recap:speed=9"], ["auto"], "speed=9"), (["recap:fusion=magic"], ["auto"], "fusion must be"),
        (["recap"], ["free"], "a budget must be"), (["recap"], [], "name a budget"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=words):
            contenders(methods, budgets)


def test_records_of_all_methods_in_turns(target, inputs):
    made = contenders(["recap", "pld", "token_recycling"], ["paper"])
    model = target("llava")
    peers = load(PEERS, model, TOKENS)
    runner.warm_up(model, made, peers)
    heard = []
    groups = list(runner.measure(model, inputs, made, TOKENS, 2, peers, answered=heard.append))
    names = [*(one.name for one in made), *PEERS]
    assert [[record["name"] for record in group] for group in groups] == [names] * 6
    assert [(group[0]["repeat"], group[0]["id"]) for group in groups] == [
        (repeat, one.id) for repeat in (0, 1) for one in inputs
    ]  # fmt: skip
    # the order rotates by one from input to input, and by one from repetition to repetition
    firsts = [min(group, key=lambda record: record["place"])["name"] for group in groups]
    assert (
        firsts == [names[at] for at in (0, 1, 2, 1, 2, 3)] and len(heard) == runner.total(inputs, made, PEERS, 2) == 36
    )
    for group in groups:
        by_name = {record["name"]: record for record in group}
        plain, ours = by_name["ar"], by_name["recap paper"]
        assert plain["tau"] == 1.0 and plain["histogram"] == {"1": plain["passes"]} and plain["budget"] == ""
        assert all(record["identical"] and record["difference"] is None for record in group)
        assert ours["passes"] <= plain["passes"] and ours["tau"] == 1 + ours["accepted"] / ours["passes"]
        assert sum(ours["histogram"].values()) == ours["passes"] and len(ours["turns"]) == len(plain["turns"])
        assert ours["T"] == sum(ours["seconds"][part] for part in ("encode", "prefill", "decode")) > 0
        # looking at the pictures is the same work for all, done once and charged to each
        assert len({record["seconds"]["encode"] for record in group if "passes" in record}) == 1
        assert [turn["token_ids"] for turn in by_name["transformers"]["turns"]] == [
            turn["token_ids"] for turn in plain["turns"]
        ]
    assert groups[0][0]["seconds"]["encode"] > 0.0 == groups[1][0]["seconds"]["encode"]
    assert len(groups[1][0]["turns"]) == 2
    # another repetition begins with empty memories: it is the same again
    for name in ("recap paper", "token_recycling paper"):
        one, other = (
            [r | {"repeat": 0, "place": 0} for g in groups[at : at + 3] for r in g if r["name"] == name]
            for at in (0, 3)
        )
        assert [fixed(record) for record in one] == [fixed(record) for record in other]


def test_a_model_with_eyes_of_its_own_and_its_peers(target, picture):
    model = target("qwen2_5_vl")
    asked = [Input("1", "", ("What is this?", "And what colour?"), (picture, picture))]
    (group,) = runner.measure(model, asked, contenders(["recap"], ["paper"]), 6, peers=load(PEERS, model, 6))
    assert [record["identical"] for record in group] == [True] * 4


def test_a_peer_that_fails_ends_nothing(target, inputs):
    class Failing(Peer):
        def __call__(self, ids, inputs=None):
            raise ValueError("no such thing\nand more")

    model = target("llava")
    peer = Failing("prompt_lookup", model.model, sorted(model.end_ids), 6)
    (group,) = runner.measure(model, inputs[2:], contenders(["recap"], ["paper"]), 6, peers=[peer])
    assert [record.get("error") for record in group] == [None, None, "no such thing"] and group[1]["identical"]


def test_memories_of_methods_never_meet_and_last_over_the_inputs(target, inputs):
    model, asked = target("llava"), [inputs[2], Input("again", "a", inputs[2].turns)]
    both = contenders(["recap", "recap:persistent=False", "recap:memories='U'"], ["paper"])
    together = list(runner.measure(model, asked, both, TOKENS))
    for one in both[1:]:
        alone = list(runner.measure(model, asked, [both[0], one], TOKENS))
        for with_others, by_itself in zip(together, alone):
            ours, theirs = (
                {r["name"]: fixed(r) | {"place": 0} for r in group}[one.name] for group in (with_others, by_itself)
            )
            assert ours == theirs
    first, again = ({record["name"]: record["passes"] for record in group} for group in together)
    assert again["recap paper"] < first["recap paper"]  # U knows the question from the first time
    assert again["recap:persistent=False paper"] == first["recap:persistent=False paper"]


def test_a_stopped_run_goes_on_as_if_it_had_not_been(target, inputs):
    model, made = target("llava"), contenders(["recap", "token_recycling"], ["paper"])
    whole = list(runner.measure(model, inputs, made, TOKENS, 2))
    begun = [group for group, _ in zip(runner.measure(model, inputs, made, TOKENS, 2), range(5))]
    done = {(group[0]["repeat"], group[0]["id"]) for group in begun}
    rest = list(runner.measure(model, inputs, made, TOKENS, 2, done=done))
    got = [fixed(record) for group in begun + rest for record in group]
    assert len(rest) == 1 and got == [fixed(record) for group in whole for record in group]


def test_the_first_no_ends_it_within_a_pass(target, inputs):
    left = iter(range(5))
    model, made = target("llava"), contenders(["recap"], ["paper"])
    assert list(runner.measure(model, inputs, made, 200, proceed=lambda: next(left, None) is not None)) == []
    ((record, *_), *_) = runner.measure(model, inputs[2:], made, TOKENS)  # the target is as usable as before
    assert record["tokens"] > 0


def test_an_input_that_cannot_be_asked_is_a_record_with_a_sentence(target, inputs, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"no picture")
    asked = [Input("bad", "a", ("What?",), (str(broken),)), inputs[2], Input("long", "a", ("word " * 3000,))]
    bad, good, long = runner.measure(target("llava"), asked, contenders(["recap"], ["paper"]), TOKENS)
    assert bad[0]["name"] == "" and "broken.png" in bad[0]["error"] and bad[0]["repeat"] == 0
    assert len(good) == 2 and "tokens" in long[0]["error"]


def test_the_lens_looks_at_one_contender_in_nobodys_time(target, inputs, tmp_path):
    """Once per input with a picture, at the answers in the records; what the others do and count stays the same."""
    other = tmp_path / "blue.png"
    Image.new("RGB", (20, 30), "blue").save(other)
    asked = [*inputs, Input("four", "a", ("What is this?", "And this?"), (str(other),))]
    model, made = target("llava"), contenders(["pld", "recap"], ["paper"])
    plain = list(runner.measure(model, asked, made, TOKENS, 2))
    seen = list(runner.measure(model, asked, made, TOKENS, 2, lens="recap paper"))
    looked_at = [(r["repeat"], r["id"], r["name"]) for group in seen for r in group if "lens" in r]
    assert looked_at == [(0, "one", "recap paper"), (0, "four", "recap paper")]
    without = [[{key: value for key, value in record.items() if key != "lens"} for record in group] for group in seen]
    assert [[fixed(r) for r in group] for group in without] == [[fixed(r) for r in group] for group in plain]
    records = [record for group in seen for record in group]
    found = counting.roots(records)
    answer = recap.generate(model, "What is this?", asked[0].images, config=made[2].config, max_new_tokens=TOKENS).trace
    look(model, answer, asked[0].images, [str(other)])
    (first,) = (record["lens"] for record in records if record["id"] == "one" and "lens" in record)
    assert first == [group._asdict() for group in by_accepted([answer])]
    assert sum(group.roots for group in found) == sum(g["roots"] for r in records for g in r.get("lens", ())) > 0
    assert all(0 <= group.changed <= 1 for group in found)


def test_where_answers_part_and_how_close_it_was(target, inputs):
    class Other:
        token_ids = [1, 2, 3]

    trace = recap.generate(
        target("llava"), inputs[2].turns[0], max_new_tokens=8, config=RecapConfig(budget="paper")
    ).trace
    other = replace(trace, token_ids=list(trace.token_ids))
    at, start = 4, 1
    for step in trace.steps:
        if start <= at < start + len(step.committed):
            node = [0, *step.accepted_nodes][at - start]
            row = trace.table.rows[step.target[node]]
        start += len(step.committed)
    other.token_ids[at] = row.ids[1]
    said = runner._compared([trace], [other])
    assert said["identical"] is False and said["difference"]["turn"] == 0 and said["difference"]["token"] == at
    assert said["difference"]["margin"] == pytest.approx(math.log(row.probs[0] / row.probs[1]))
    assert runner._compared([Other], [trace])["difference"]["margin"] is None
    assert runner._compared([trace], [trace]) == {"identical": True, "difference": None}


CONFIGURATION = {"names": ["ar", "recap"], "limit": 3}


def opened(path, configuration=CONFIGURATION):
    box = RunFolder(path)
    with box:
        return box, box.open(configuration, {"model": {}}, configuration["names"])


def lines(path):
    return [json.loads(line) for line in (path / folder.RECORDS).read_text().splitlines()]


def record(id, name, repeat=0):
    return {"repeat": repeat, "id": id, "name": name}


def test_a_folder_keeps_whole_inputs_and_cuts_off_the_rest(tmp_path):
    out = tmp_path / "deep" / "run"
    with RunFolder(out) as box:
        assert box.open(CONFIGURATION, {"model": {}}, ["ar", "recap"]) == set()
        box.append([record("1", "ar"), record("1", "recap")])
        box.append([{"repeat": 0, "id": "2", "name": "", "error": "no"}])
        with pytest.raises(ValueError, match="another process"):
            RunFolder(out).__enter__()
    with open(out / folder.RECORDS, "a") as file:
        file.write(json.dumps(record("3", "ar")) + "\n" + '{"repeat": 0, "id": "3", "na')
    box, done = opened(out)
    assert done == {(0, "1"), (0, "2")} and [one["id"] for one in lines(out)] == ["1", "1", "2"]
    assert [again["complete"] for again in box.run["resumed"]] == [2] and box.run["ended"] is None
    with RunFolder(out) as box:
        box.open(CONFIGURATION, {}, ["ar", "recap"])
        box.append([record("3", "ar"), record("3", "recap")])
        box.end(load_after=1.0)
    run, records = folder.read(out)
    assert run["ended"] and run["load_after"] == 1.0 and len(records) == 5 and len(run["resumed"]) == 2
    assert len(opened(out)[0].run["resumed"]) == 2  # a complete run is not resumed


def test_a_folder_refuses_other_configurations_and_other_things(tmp_path):
    opened(tmp_path / "a")
    for other, words in [
        ({"limit": 4}, "limit is 3 there and 4 now"),
        ({"model": {"dtype": "x"}}, "model dtype is null there"),
    ]:
        with pytest.raises(ValueError, match=words):
            opened(tmp_path / "a", CONFIGURATION | other)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "letter.txt").write_text("")
    with pytest.raises(ValueError, match="other files and no run"):
        opened(tmp_path / "b")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cannot be used as a folder"):
        opened(tmp_path / "file")
    with pytest.raises(ValueError, match="holds no run.json"):
        folder.read(tmp_path / "b")
    (tmp_path / "a" / folder.RECORDS).write_text('{"broken\n' + json.dumps(record("1", "ar")) + "\n")
    with pytest.raises(ValueError, match="line 1 is damaged"):
        folder.read(tmp_path / "a")
    (tmp_path / "a" / folder.RUN).write_text("{}")
    with pytest.raises(ValueError, match="damaged"):
        folder.read(tmp_path / "a")


@pytest.fixture
def asked(tiny_folder, tmp_path):
    file = tmp_path / "m.jsonl"
    prompts = ["The cat", "A dog", "One two one two one"]
    file.write_text("".join(json.dumps({"prompt": prompt, "category": "c"}) + "\n" for prompt in prompts) + "oops\n")
    model = ["--model", str(tiny_folder("llava")), "--dtype", "float32", "--device", "cpu", "--threads", "1"]
    return ["bench", "run", "--manifest", str(file), "--budget", "paper", "--max-new-tokens", "10", *model]


def test_the_command_prints_tables_goes_on_and_makes_a_report(asked, tmp_path, capsys):
    out = tmp_path / "out"
    chosen = ["--methods", "recap", "lookahead", "--repeat", "2", "--peers", "--out", str(out)]
    assert main([*asked, *chosen]) == 0
    printed = capsys.readouterr()
    assert "line 4 is left out" in printed.err and "recap paper" in printed.out and "3/3" in printed.out
    records = lines(out)
    assert len(records) == 3 * 2 * 5 and all(one["identical"] for one in records)
    assert main([*asked, *chosen]) == 0  # complete: nothing is measured again
    assert lines(out) == records and "S and tau by category" in capsys.readouterr().out
    assert main([*asked, *chosen, "--limit", "2"]) == 2
    assert "another configuration" in capsys.readouterr().err
    page = tmp_path / "page.html"
    assert main(["bench", "report", str(out), "-o", str(page)]) == 0
    assert "lookahead" in page.read_text() and page.with_suffix(".csv").read_text().count("\n") == 1 + 2 * 5


WRITER = """
import sys
from recap.bench.folder import RunFolder
names = ["ar", "recap"]
with RunFolder(sys.argv[1]) as box:
    box.open({"names": names, "limit": 3}, {"model": {}}, names)
    for number in range(10 ** 6):
        box.append([{"repeat": 0, "id": str(number), "name": name, "long": "x" * 20000} for name in names])
        print(number, flush=True)
"""


def test_a_process_that_is_killed_loses_and_doubles_nothing(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True
    )
    told = [int(process.stdout.readline()) for _ in range(5)]
    process.send_signal(signal.SIGKILL)
    told += [int(line) for line in process.communicate()[0].split()]
    box, done = opened(tmp_path)  # the lock has gone with the process
    assert {(0, str(number)) for number in told} <= done and len(done) - len(told) in (0, 1)
    keys = [(one["id"], one["name"]) for one in lines(tmp_path)]
    assert keys == [(str(number), name) for number in range(len(done)) for name in ("ar", "recap")]
    assert len(box.run["resumed"]) == 1


def test_an_interrupt_says_how_to_go_on(asked, tmp_path, capsys, monkeypatch):
    def stopped(*_, **__):
        yield [record("1", "ar"), record("1", "recap paper")]
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "measure", stopped)
    assert main([*asked, "--methods", "recap", "--out", str(tmp_path / "out")]) == 130
    assert "same command with --out" in capsys.readouterr().err and len(lines(tmp_path / "out")) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--methods", "magic"], "a method must be one of"),
        (["--repeat", "0"], "--repeat must be 1 or more, got 0"),
        (["--limit", "-1"], "--limit must be 1 or more"),
        (["--max-new-tokens", "0"], "--max-new-tokens must be 1 or more"),
        (["--manifest", "no/such/file"], "no/such/file"),
        (["--set", "fusion=magic"], "fusion"),
        (["--methods", "pld", "--lens"], "have recap among the methods"),
    ],
)
def test_bad_options_are_one_sentence_and_exit_2(arguments, words, capsys):
    assert main(["bench", "run", *arguments]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and len(printed.err.strip().splitlines()) == 1 and not printed.out


@pytest.mark.parametrize(
    ("arguments", "words"), [(["nowhere"], "no run.json"), (["nowhere", "-o", "a.pdf"], "no run.json")]
)
def test_a_report_of_nothing_is_one_sentence(arguments, words, capsys):
    assert main(["bench", "report", *arguments]) == 2
    assert words in capsys.readouterr().err
