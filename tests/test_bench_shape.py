"""bench shape: passes of a model made from its sizes alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recap.__main__ import main
from recap.bench import shape


def test_every_size_is_timed_whole_and_by_the_hosts_part(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    file = tmp_path / "ms.json"
    given = ["--shape", "tiny", "--device", "cpu", "--rounds", "2", "--prefix", "9", "--nodes", "1", "5", "--json", str(file)]
    assert main(["bench", "shape", *given]) == 0
    record = json.loads(file.read_text())
    assert record["dtype"] == "bfloat16" and list(record["ms"]["eager"]) == ["1", "5"]
    for times in record["ms"]["eager"].values():
        assert len(times["pass"]) == len(times["host"]) == 2
        assert all(whole >= host > 0 for whole, host in zip(times["pass"], times["host"]))
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.parametrize("name", shape.SHAPES)
def test_rotary_sections_fill_half_a_head(name: str) -> None:
    sizes = shape.SHAPES[name]
    half = sizes["hidden_size"] // sizes["num_attention_heads"] // 2
    assert sum(shape.sections(sizes)) == half and sizes["num_attention_heads"] % sizes["num_key_value_heads"] == 0


def test_numbers_out_of_range_are_told(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "shape", "--shape", "tiny", "--rounds", "0"]) == 2
    assert "must be 1 or more" in capsys.readouterr().err


def test_graphs_need_cuda_and_say_so(capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "shape", "--shape", "tiny", "--device", "cpu", "--graphs"]) == 2
    assert "need a CUDA device" in capsys.readouterr().err
