"""The core benchmark runs, on both backends, and its synthetic language is what it says. No times are judged here."""

import argparse
import json

import numpy as np
import pytest

from recap.bench import core

from .test_drafter_rules import _built

BACKENDS = [pytest.param("c", marks=pytest.mark.skipif(not _built(), reason="no C core built")), "python"]


def test_rows_of_the_language():
    text = core.MarkovText(8, seed=1)
    last = np.arange(97)
    ids, logits = text.rows(np.roll(last, 3), last)
    assert ids.shape == logits.shape == (97, 8) and logits.dtype == np.float32
    assert all(len(set(row)) == 8 for row in ids.tolist()) and ids.min() >= 0 and ids.max() < 97
    again = core.MarkovText(8, seed=2).rows(np.roll(last, 3), last)
    assert np.array_equal(ids, again[0]) and np.array_equal(logits, again[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_small_stream(backend):
    result = core.time_passes(backend, "entropy", 15, requests=2, passes=6)
    assert result.backend == backend and result.passes == 12 and list(result.phases) == list(core.PHASES)
    assert 0 < result.nodes <= 19 and result.found["U"] == 1 > result.found["C"] > result.found["G"] > 0
    assert result.total_median > 0 and result.acceptance_length > 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_small_occupancy(backend):
    result = core.fill(backend, 1000, repeats=2, lookups=500)
    assert result.rows == 1000 and result.allocated_mib > 0 and (result.lookup_ns is None) == (backend == "python")


def test_the_table_and_the_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(core, "CAPS", (7, 63))
    monkeypatch.setattr(core, "OCCUPANCIES", (1000,))
    monkeypatch.setattr(core, "fill_apart", lambda backend, count: core.fill(backend, count, repeats=1, lookups=100))
    parser = argparse.ArgumentParser()
    core.add_arguments(parser)
    file = tmp_path / "core.json"
    arguments = ["--requests", "1", "--passes", "3", "--fusion", "prior", "--json", str(file)]
    assert core.run(parser.parse_args(arguments)) == 0
    out = capsys.readouterr().out
    assert "lookup, fusion, search" in out and "63 nodes, prior" in out and "1,000" in out
    numbers = json.loads(file.read_text())
    assert [item["max_nodes"] for item in numbers["passes"]] == [7, 63] and numbers["full"][0]["rows"] == 1000
