"""bench visitors: answers in turns against passes that all share."""

from __future__ import annotations

import json

import pytest

from recap.__main__ import main


def test_a_table_of_both_ways(tiny_folder, tmp_path, capsys):
    path = tmp_path / "asked.jsonl"
    path.write_text("\n".join(json.dumps({"prompt": text}) for text in ("Hello", "Why?")), encoding="utf-8")
    given = ["bench", "visitors", "--model", str(tiny_folder("llava")), "--manifest", str(path), "--visitors", "1", "3",
             "--max-new-tokens", "8", "--rounds", "1", "--dtype", "float32"]  # fmt: skip
    assert main(given) == 0
    said = capsys.readouterr()
    assert "cannot verify several answers in one pass" in said.err
    rows = [line.split() for line in said.out.splitlines() if line.startswith(("ar", "recap"))]
    assert [(row[0], row[1]) for row in rows] == [("ar", "1"), ("ar", "3"), ("recap", "1"), ("recap", "3")]
    assert all(float(row[2]) > 0 and float(row[3]) > 0 and float(row[4]) > 0 for row in rows)
    assert said.out.count("the same tokens") == 4 and "DIFFER" not in said.out


@pytest.mark.parametrize("wrong", [("--visitors", "0"), ("--rounds", "0"), ("--max-new-tokens", "0")])
def test_bad_numbers_are_a_sentence(capsys, wrong):
    assert main(["bench", "visitors", *wrong]) == 2
    assert "1 or more" in capsys.readouterr().err
