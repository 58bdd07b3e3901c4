"""`bench generate`: its report of known records, and a run on the built-in model. No times are judged here."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from recap.__main__ import main
from recap.bench import generate
from recap.bench.generate import Answer
from recap.targets.builtin import store

FOLDER = store.cache_folder() / "smollm2-135m-instruct-1"
needs_model = pytest.mark.skipif(
    store.fault(FOLDER) is not None, reason="the built-in model is not set up: python -m recap.targets.builtin.assets"
)


def record(number: int, category: str, **did: tuple[float, list[int]]) -> dict:
    """What each contender did: tokens per second, and its tokens."""
    return {
        "number": number, "category": category,
        "contenders": {
            name.replace("_", "-") if name.startswith("recap") else name: {"tok/s": rate, "token_ids": ids}
            for name, (rate, ids) in did.items()
        },
    }  # fmt: skip


def test_the_report_of_known_records():
    same, other = [5, 6, 7], [5, 6, 8]
    plain = dict(transformers=(10.0, same), prompt_lookup=(12.0, same))
    records = [
        record(0, "b", **plain, ar=(20.0, same), recap_auto=(30.0, same), recap_paper=(5.0, same)),
        record(1, "a", **plain, ar=(10.0, other), recap_auto=(10.0, other), recap_paper=(10.0, same)),
        record(2, "b", **plain, ar=(20.0, same), recap_auto=(60.0, same), recap_paper=(15.0, same)),
    ]
    lines = generate.report(records, list(generate.CONTENDERS)).splitlines()
    assert [re.sub("  +", " | ", line) for line in lines] == [
        "speed over transformers | inputs | tokens | transformers tok/s | prompt_lookup | ar | recap-auto | "
        "recap-paper",
        "a | 1 | 3 | 10.0 | 1.20 | 1.00 | 1.00 | 1.00",
        "b | 2 | 6 | 10.0 | 1.20 | 2.00 | 4.50 | 1.00",
        "all | 3 | 9 | 10.0 | 1.20 | 1.67 | 3.33 | 1.00",
        "",
        "identical answers | ar = transformers | recap-auto = transformers | recap-paper = transformers | "
        "recap-auto = ar | recap-paper = ar",
        "a | 0/1 | 0/1 | 1/1 | 1/1 | 0/1",
        "b | 2/2 | 2/2 | 2/2 | 2/2 | 2/2",
        "all | 2/3 | 2/3 | 3/3 | 3/3 | 2/3",
        "",
        "recap-auto over ar: S 1.83, lowest by category 1.00 (a)",
    ]
    assert len({len(line) for line in lines[:4]}) == len({len(line) for line in lines[5:9]}) == 1


def test_repetitions_count_by_their_median_and_are_identical_only_together():
    rates = [(10.0, 20.0, [1]), (20.0, 80.0, [1]), (10.0, 30.0, [2])]
    group = [[record(0, "", transformers=(theirs, [1]), ar=(ours, ids)) for theirs, ours, ids in rates]]
    assert generate.speed(group, "ar", "transformers") == 3.0 and generate.identical(group, "ar", "transformers") == 0
    report = generate.report(group[0], ["transformers", "ar"])
    assert "10.0           3.00" in report and "0/1" in report and "recap" not in report


def test_contenders_take_turns_and_get_the_same_ids():
    went = []

    def contender(name):
        def answer(question, ids):
            went.append((name, question["prompt"], ids.tolist()))
            return Answer([1, 2], 0.5)

        return answer

    asked = [{"id": str(number), "category": "", "prompt": prompt} for number, prompt in enumerate("pq")]
    ids = [np.array([3]), np.array([4, 5])]
    for turn, order in [(0, "abba"), (1, "baab")]:
        went.clear()
        records = list(generate.measure({name: contender(name) for name in "ab"}, asked, ids, turn))
        assert "".join(name for name, *_ in went) == order
        assert [one[1:] for one in went] == [("p", [3])] * 2 + [("q", [4, 5])] * 2
        assert [one["prompt_tokens"] for one in records] == [1, 2]
        assert all(one["contenders"][name]["tok/s"] == 4.0 for one in records for name in "ab")


def test_the_front_end_looks_once_at_each_picture():
    looked = []
    target = SimpleNamespace(see=lambda opened: looked.append(opened.digest) or opened.digest.upper())
    generate.remember_pictures(target)
    assert [target.see(SimpleNamespace(digest=digest)) for digest in "aba"] == ["A", "B", "A"] and looked == ["a", "b"]


@needs_model
def test_it_runs_on_the_builtin_model(tmp_path, capsys):
    file, records = tmp_path / "prompts.jsonl", tmp_path / "records.jsonl"
    file.write_text('{"category": "few", "prompt": "List five fruits."}\n{"category": "few", "prompt": "Say hello."}\n')
    assert main(["bench", "generate", str(file), "--max-new-tokens", "6", "--json", str(records)]) == 0
    out = capsys.readouterr().out
    assert "float32" in out and out.splitlines()[-1].startswith("recap-auto over ar: S ")
    (cells,) = [line.split() for line in out.splitlines() if line.startswith("all") and "/" in line]
    assert cells[-2:] == ["2/2", "2/2"]
    for line in map(json.loads, records.read_text().splitlines()):
        assert list(line["contenders"]) == list(generate.CONTENDERS)
        assert all(0 < len(did["token_ids"]) <= 6 and did["seconds"] > 0 for did in line["contenders"].values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--contenders", "ar", "recap-auto"], "must include transformers"),
        (["--max-new-tokens", "0"], "--max-new-tokens must be 1 or more, got 0"),
        (["--limit", "0"], "--limit must be 1 or more"),
        (["--repeats", "-1"], "--repeats must be 1 or more"),
        (["--threads", "0"], "threads must be 1 or more"),
    ],
)
def test_bad_options_are_one_sentence_and_exit_2(arguments, words, tmp_path, capsys):
    file = tmp_path / "prompts.jsonl"
    file.write_text('{"prompt": "a"}\n')
    assert main(["bench", "generate", str(file), *arguments]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and len(printed.err.strip().splitlines()) == 1 and not printed.out
    assert main(["bench", "generate", str(tmp_path / "nowhere.jsonl")]) == 2
    assert "nowhere.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "known"), [("--contenders", "vllm", "recap-auto"), ("--torch-dtype", "int8", "bfloat16")]
)
def test_unknown_choices_name_the_known_ones(option, value, known, capsys):
    with pytest.raises(SystemExit):
        main(["bench", "generate", "file.jsonl", option, value])
    assert known in capsys.readouterr().err
