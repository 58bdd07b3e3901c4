"""`bench exact`: its counting on made-up records, and one run on a tiny model."""

from __future__ import annotations

import json

from recap.__main__ import main
from recap.bench import exact


def test_first_difference():
    assert exact.first_difference([1, 2], [1, 2]) is None and exact.first_difference([], []) is None
    assert exact.first_difference([1, 2, 3], [1, 9, 3]) == 1
    assert exact.first_difference([1, 2], [1, 2, 3]) == 2 and exact.first_difference([], [1]) == 0


def test_modes_of_a_contender():
    modes = list(exact.modes(["torch-bfloat16", "torch-float32", "compiled", "compiled"], "cpu"))
    assert modes == [("torch-bfloat16", ("off", "auto")), ("torch-float32", ("",)), ("compiled", ("",))]
    assert list(exact.modes(["torch-bfloat16"], "cuda")) == [("torch-bfloat16", ("",))]
    assert "compiled" not in exact.possible("some/model", "cpu") and "torch-float32" in exact.possible("builtin", "cpu")


def record(mode, difference, speed=20.0, **more):
    return {"contender": "torch-bfloat16", "exact": mode, "checked": mode == "auto", "number": 0, "tokens": 10,
            "tau": 2.0, "nodes": 64.0, "first_difference": difference, "tok/s": {"ar": speed, "recap": 30.0},
            **more}  # fmt: skip


def test_report():
    records = [record("off", None, transformers=4), record("off", 3, 25.0, transformers=None),
               record("off", 8, 90.0, transformers=6), record("auto", None), record("auto", None)]  # fmt: skip
    lines = exact.report(records, "m").splitlines()
    assert lines[-2].split() == ["torch-bfloat16", "off", "no", "30", "2.00", "25.0", "30.0", "1/3", "5.5", "1/3", "5"]
    assert lines[-1].split() == ["torch-bfloat16", "auto", "yes", "20", "2.00", "20.0", "30.0", "2/2", "-", "-", "-"]


def test_a_tiny_run(tiny_folder, tmp_path, capsys):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "What is this?"}\n{"turns": ["Why?", "And?"]}\n')
    asked = ["bench", "exact", str(prompts), "--model", str(tiny_folder("llava")), "--limit", "1"]
    found = tmp_path / "found.jsonl"
    chosen = ["--contenders", "torch-float32", "torch-bfloat16", "--max-new-tokens", "6", "--json", str(found)]
    assert main([*asked, *chosen]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[-3:]] == [
        ["torch-float32", "-"], ["torch-bfloat16", "off"], ["torch-bfloat16", "auto"]
    ]  # fmt: skip
    records = [json.loads(line) for line in found.read_text().splitlines()]
    float32, off, auto = records
    assert all(min(one["tok/s"].values()) > 0 for one in records)
    assert float32["first_difference"] is None and float32["transformers"] is None and float32["checked"]
    assert not off["checked"] and "transformers" in off and "transformers" not in auto
    assert auto["first_difference"] is None or not auto["checked"]


def test_a_missing_file_is_named(capsys):
    assert main(["bench", "exact", "/no/such/file"]) == 2
    assert "/no/such/file" in capsys.readouterr().err
