"""python -m recap, on a tiny model written to a folder."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from recap.__main__ import main
from recap.commands.trace import visible
from recap.trace import Trace


@pytest.fixture(scope="module")
def tiny(tiny_folder):
    return ["--model", str(tiny_folder("llava")), "--dtype", "float32", "--device", "cpu"]


@pytest.fixture(scope="module")
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp("pictures") / "red.png"
    Image.new("RGB", (30, 20), "red").save(path)
    return str(path)


def test_generate_streams_compares_and_writes_a_trace(tiny, picture, tmp_path, capsys):
    file = tmp_path / "out.json"
    asked = ["generate", "--prompt", "What is this?", "--image", picture, "--max-new-tokens", "20"]
    assert main([*asked, "--compare", "--trace", str(file), "--set", "max_nodes=7", *tiny]) == 0
    printed = capsys.readouterr()
    trace = Trace.from_json(file.read_text(encoding="utf-8"))
    assert printed.out == trace.text + "\n"
    assert trace.config["max_nodes"] == 7 and trace.comparison.identical
    assert f"tau {trace.acceptance_length:.2f}" in printed.err
    assert f"S {trace.speedup:.2f}x" in printed.err and "same tokens" in printed.err

    assert main(["trace", "show", str(file)]) == 0
    assert f"{len(trace.steps)} passes" in capsys.readouterr().out
    assert main(["trace", "show", str(file), "--step", "1"]) == 0  # passes are counted from 1, as on the page
    first = " ".join(trace.table.text(token) for token in trace.steps[0].committed)
    assert f"committed: {visible(first)}" in capsys.readouterr().out
    for step in ("0", str(len(trace.steps) + 1)):
        assert main(["trace", "show", str(file), "--step", step]) == 2
        assert f"from 1 to {len(trace.steps)}" in capsys.readouterr().err


def test_an_interrupt_keeps_the_answer_so_far_and_compares_nothing(tiny, tmp_path, capsys, monkeypatch):
    from recap.generation import Stream

    follow = Stream.__next__

    def interrupted(self):
        if len(self.trace.steps) == 2:
            raise KeyboardInterrupt
        return follow(self)

    monkeypatch.setattr(Stream, "__next__", interrupted)
    file = tmp_path / "out.json"
    assert main(["generate", "--prompt", "Hi", "--max-new-tokens", "40", "--trace", str(file), *tiny]) == 130
    trace = Trace.from_json(file.read_text())
    assert trace.finish_reason == "cancelled" and len(trace.steps) == 2 and trace.comparison is None
    assert "S " not in capsys.readouterr().err


def test_sampling_with_compare_uses_one_seed(tiny, capsys):
    assert main(["generate", "--prompt", "Hi", "--temperature", "1.0", "--max-new-tokens", "12", "--compare", *tiny]) == 0
    assert "same tokens" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prompt", "  "], "empty"),
        (["--prompt", "a", "--image", "nowhere.png"], "nowhere.png"),
        (["--prompt", "a", "--set", "max_nodes"], "NAME=VALUE"),
        (["--prompt", "a", "--set", "nodes=3"], "nodes"),
        (["--prompt", "a", "--set", "max_nodes=-1"], "max_nodes"),
        (["--prompt", "a", "--trace", "no/such/folder/t.json"], "folder"),
        (["--prompt", "a", "--trace", "/"], "name of a file"),
        (["--prompt", "a", "--trace", ""], "name of a file"),
        (["--prompt", "a", "--seed", str(2**64)], "seed"),
        (["--prompt", "a", "--max-new-tokens", "0"], "max_new_tokens"),
        (["--prompt", "a", "--model", "no/such-model-anywhere"], "no/such-model-anywhere"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(arguments, words, tiny, capsys):
    model = [] if "--model" in arguments else tiny
    assert main(["generate", *arguments, *model]) == 2
    printed = capsys.readouterr()
    assert words in printed.err and len(printed.err.strip().splitlines()) == 1 and not printed.out


def test_an_unknown_method_names_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["generate", "--prompt", "a", "--method", "magic"])
    assert "ar, recap" in capsys.readouterr().err.replace("'", "")


def test_a_foreign_trace_is_one_sentence(tmp_path, capsys):
    file = tmp_path / "foreign.json"
    file.write_text(json.dumps({"hello": 1}))
    assert main(["trace", "show", str(file)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_info_says_which_core(capsys):
    assert main(["info"]) == 0
    assert "drafting core" in capsys.readouterr().out
