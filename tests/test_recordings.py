"""The recordings that ship with the studio: they load, are whole and small, and hold a comparison."""

from __future__ import annotations

import gzip
import logging
import random
from pathlib import Path

import pytest

from recap.trace import Trace
from recap.trace_json import read_trace
from studio import recordings
from visual import same

from . import synthetic

FOLDER = Path(__file__).parents[1] / "assets" / "traces"
FILES = sorted(FOLDER.glob("*.json.gz"))


def test_two_or_three_ship_and_load_in_order() -> None:
    loaded = recordings.load(FOLDER)
    assert [name for name, _ in loaded] == [f"recording-{path.name.removesuffix('.json.gz')}" for path in FILES]
    assert len(loaded) in (2, 3) and len({trace.text for _, trace in loaded}) == len(loaded)
    assert loaded[0][1].pictures and loaded[0][1].messages, "the first thing that a visitor sees is about a picture"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_recording_is_whole_small_and_compared(path: Path) -> None:
    assert path.stat().st_size < 1_000_000
    trace = read_trace(path)
    assert Trace.from_json(trace.to_json()) == trace
    assert trace.method == "recap" and trace.finish_reason in ("stop", "length") and len(trace.steps) > 5
    assert trace.token_ids[1:] == [token for step in trace.steps for token in step.committed]
    whole = path == FILES[0]  # the first one that a visitor sees has the paper's trees, the others what paid
    assert (max(len(step) for step in trace.steps) == 68) is whole and any(step.accepted_nodes for step in trace.steps)
    assert trace.speedup > 1, "what ships is not slower than plain decoding"
    assert trace.comparison.identical and trace.comparison.token_ids == trace.token_ids
    assert trace.speedup == pytest.approx(trace.comparison.seconds / trace.seconds)
    assert same.badge(trace).startswith('<p class="badge same">')
    named = {token for step in trace.steps for token in (*step.tokens, *step.committed)}
    assert named | {token for row in trace.table.rows for token in row.ids} <= set(trace.table.texts)
    written = gzip.decompress(path.read_bytes()).decode()
    for word in ("/home/", "/root/", "/tmp/", "/work/", "http://", "https://"):
        assert word not in written


def test_one_that_cannot_be_read_is_left_out_and_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    trace = synthetic.trace(random.Random(0), 2, 6)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(trace.to_json().encode()))
    (tmp_path / "a.json.gz").write_bytes(b"\x1f\x8b no gzip")
    (tmp_path / "c.json.gz").write_bytes(gzip.compress(b'{"version": 1}'))
    (tmp_path / "d.json").write_text(trace.to_json())
    with caplog.at_level(logging.ERROR):
        assert recordings.load(tmp_path) == [("recording-b", trace)]
    assert [record.getMessage().rpartition(" ")[2] for record in caplog.records] == ["a.json.gz", "c.json.gz"]
    assert recordings.load(tmp_path / "nowhere") == []
