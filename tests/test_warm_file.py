"""The file of a warm U: what comes back, and what is refused in a sentence. No model is needed."""

from __future__ import annotations

import json
import os
import pickle

import numpy as np
import pytest
from safetensors.numpy import save

import recap
from recap.drafter import Base
from recap.warm import WarmMemory, given
from recap.warm.file import Origin, read, write

TOKENS = np.array([7, 3, 5], np.int32)
IDS = np.array([[1, 2], [9, 0], [4, 8]], np.int32)
PROBS = np.array([[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]], np.float32)
ORIGIN = Origin("tiny", "0123456789ab", 10, 2, 4, 60, ("aa", "bb"), {"top_k": 2}, "2026-11-30", {"recap": "0.1.0"})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "warm.safetensors"
    write(path, TOKENS, IDS, PROBS, ORIGIN)
    return path


def test_what_is_written_comes_back_sorted_by_token(file):
    arrays, origin = read(file)
    assert origin == ORIGIN
    assert arrays["token_ids"].tolist() == [3, 5, 7] and arrays["ids"].tolist() == [[9, 0], [4, 8], [1, 2]]
    assert arrays["probs"].tolist() == [[0.5, 0.5], [1.0, 0.0], [0.75, 0.25]]
    memory = WarmMemory.load(file)
    assert isinstance(memory.base, Base) and (memory.base.rows, memory.base.top_k) == (3, 2) and memory.base.bytes > 0
    assert memory.digest == WarmMemory.load(file).digest and memory.digest in repr(memory)
    other = file.with_name("other")
    write(other, TOKENS, IDS, np.array([[0.5, 0.5]] * 3, np.float32), ORIGIN)
    assert WarmMemory.load(other).digest != memory.digest


def test_what_warm_takes(file):
    memory = WarmMemory.load(file)
    assert given(None) is None and given(memory) is memory
    assert given(file).digest == given(str(file)).digest == memory.digest
    with pytest.raises(TypeError, match="warm must be a recap.WarmMemory or the path of its file, not int"):
        given(5)
    assert recap.WarmMemory is WarmMemory


def test_rows_of_another_length_are_refused(file):
    memory = WarmMemory.load(file)
    memory.require_rows(recap.RecapConfig(top_k=2, width=2, fusion="uniform", memories="U", persistent=False))
    with pytest.raises(ValueError, match="rows of 2 ids, and top_k is 8: take top_k=2, or build one with --set top_k=8"):
        memory.require_rows(recap.RecapConfig())


def header(**changes):
    values = {
        "format": 1, "model": "tiny", "weights": "0123456789ab", "vocabulary": 10, "top_k": 2, "inputs": 4, "tokens": 60,
        "sources": [], "config": {}, "created": "", "versions": {},
    }  # fmt: skip
    return {"recap.warm": json.dumps(values | changes)}


ARRAYS = {"token_ids": TOKENS, "ids": IDS, "probs": PROBS}


@pytest.mark.parametrize(
    "arrays, metadata, words",
    [
        (ARRAYS, None, "its header lacks 'recap.warm'"),
        (ARRAYS, {"recap.warm": "{"}, "its header lacks"),
        (ARRAYS, {"recap.warm": "[" * 100_000}, "its header lacks"),
        (ARRAYS, {"recap.warm": "[]"}, "its header lacks"),
        (ARRAYS, {"recap.warm": "{}"}, "its header lacks"),
        (ARRAYS, header(format=2), "it has another format than 1"),
        (ARRAYS, header(top_k=0), '"top_k" must be a whole number of at most 64'),
        (ARRAYS, header(top_k=65), '"top_k" must be'),
        (ARRAYS, header(top_k=True), '"top_k" must be'),
        (ARRAYS, header(vocabulary="10"), '"vocabulary" must be'),
        (ARRAYS, header(vocabulary=2), "it has 3 rows, more than one for each of 2 tokens"),
        (ARRAYS, header(vocabulary=9), "token_ids|ids must lie between 0 and 8"),
        (ARRAYS, header(inputs=-1), '"inputs" must be'),
        (ARRAYS, header(model=5), '"model", "weights" and "created" must be short texts'),
        (ARRAYS, header(weights="x" * 2000), "must be short texts"),
        (ARRAYS, header(sources="abc"), '"sources" must be a list of texts'),
        (ARRAYS, header(sources=[1]), '"sources" must be a list of texts'),
        (ARRAYS, header(config=[]), '"config" and "versions" must be objects'),
        (ARRAYS, header(top_k=3), r'"ids" and "probs" must have shape \(3, 3\)'),
        (ARRAYS | {"more": TOKENS}, header(), "it must hold token_ids, ids, probs and nothing else"),
        ({"ids": IDS, "probs": PROBS}, header(), "it must hold"),
        (ARRAYS | {"ids": IDS.astype(np.int64)}, header(), '"ids" must have 2 dimensions of I32'),
        (ARRAYS | {"probs": PROBS.astype(np.float64)}, header(), '"probs" must have 2 dimensions of F32'),
        (ARRAYS | {"token_ids": TOKENS[:, None]}, header(), '"token_ids" must have 1 dimension of I32'),
        (ARRAYS | {"ids": IDS[:2]}, header(), "must have shape"),
        (ARRAYS | {"token_ids": TOKENS - 9}, header(), "token_ids must lie between 0 and 9"),
        (ARRAYS | {"ids": IDS + 9}, header(), "ids must lie between 0 and 9"),
        (ARRAYS | {"token_ids": TOKENS * 0}, header(), "token_ids must differ; row 1"),
        (ARRAYS | {"ids": IDS * 0}, header(), "ids must differ within a row; row 0"),
        (ARRAYS | {"probs": PROBS * np.nan}, header(), "probs must fall .* row 0"),
        (ARRAYS | {"probs": PROBS[:, ::-1].copy()}, header(), "probs must fall .* row 0"),
    ],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path, arrays, metadata, words):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(save(arrays, metadata))
    with pytest.raises(ValueError, match=words) as refused:
        WarmMemory.load(path)
    said = str(refused.value)
    assert "'bad.safetensors' is no warm memory" in said and "python -m recap memory build" in said and "\n" not in said


class Trap:
    def __reduce__(self):
        return os.mkdir, ("was-run",)


@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\xff" * 64, pickle.dumps(Trap()), b"{}", b"\x08" + b"\0" * 7 + b"{}      "])
def test_no_content_runs_or_breaks_anything(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(ValueError, match="is no warm memory"):
        WarmMemory.load("bad")
    assert not (tmp_path / "was-run").exists()


def test_every_cut_and_a_missing_file_are_refused(file, tmp_path):
    whole = file.read_bytes()
    for length in range(0, len(whole), 37):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is no warm memory"):
            WarmMemory.load(file)
    for missing in (tmp_path / "none", tmp_path):
        with pytest.raises(ValueError, match="there is no warm memory .*memory build"):
            WarmMemory.load(missing)
