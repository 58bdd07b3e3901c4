"""Manifests from the hub's benchmarks: rows as public code describes them become inputs. The hub itself is not asked."""

from __future__ import annotations

import base64
import io

from PIL import Image

from recap.bench import hub, manifest

PICTURE = Image.new("L", (6, 5), 9)


def encoded() -> bytes:
    file = io.BytesIO()
    PICTURE.save(file, "PNG")
    return file.getvalue()


ROWS = {
    "mmt_bench": {
        "question": "Q?",
        "hint": "",
        "A": "x",
        "B": "y",
        "C": "",
        "image": base64.b64encode(encoded()).decode(),
    },
    "seed_bench": {"question": "Q?", **{f"choice_{one}": one for one in "abcd"}, "image": [PICTURE]},
    "scienceqa": {"question": "Q?", "choices": ["x", "y"], "hint": "H", "image": PICTURE},
    "ocrbench": {"question": "Q?", "image": PICTURE},
    "chartqa": {"question": "Q?", "image": PICTURE},
    "mathvista": {"query": "Q?", "decoded_image": PICTURE},
    "textvqa": {"question": "Q?", "image": PICTURE},
}


def test_every_benchmark_becomes_a_manifest(tmp_path):
    assert list(ROWS) == list(hub.BENCHMARKS)
    for name, row in ROWS.items():
        assert hub.write(name, [row] * 5, tmp_path / name, 2) == 2
        found = manifest.read(tmp_path / name)
        first, second = found.inputs
        assert found.problems == [] and first.turns == second.turns and first.turns[0].count("Q?") == 1
        assert first.id == f"{name}_0001" and first.category == hub.BENCHMARKS[name].title
        with Image.open(first.images[0]) as image:
            assert image.size == (6, 5) and image.mode == "RGB"


def test_choices_get_letters_and_hints_come_first(tmp_path):
    assert hub.BENCHMARKS["scienceqa"].ask(ROWS["scienceqa"]).startswith("H\nQ?\nA. x\nB. y\nAnswer with")
    assert "C." not in hub.BENCHMARKS["mmt_bench"].ask(ROWS["mmt_bench"])
    assert "D. d" in hub.BENCHMARKS["seed_bench"].ask(ROWS["seed_bench"])


def test_rows_without_a_picture_and_videos_are_left_out(tmp_path):
    rows = [{**ROWS["scienceqa"], "image": None}, ROWS["scienceqa"]]
    assert hub.write("scienceqa", rows, tmp_path / "a", 10) == 1
    assert hub.write("seed_bench", [{**ROWS["seed_bench"], "image": [PICTURE] * 8}], tmp_path / "b", 10) == 0


def test_what_cannot_be_had_is_said_and_the_rest_goes_on(tmp_path, monkeypatch, capsys):
    def rows(benchmark):
        if benchmark.title == "ChartQA":
            raise RuntimeError("no hub here")
        return [ROWS["textvqa"]]

    monkeypatch.setattr(hub, "rows", rows)
    assert hub.main(["chartqa", "textvqa", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "no hub here" in printed.err and "1 inputs" in printed.out
