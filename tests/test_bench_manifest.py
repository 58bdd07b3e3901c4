"""Manifests: what is read, what is left out and said, and which inputs are chosen."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from PIL import Image

from recap.bench import manifest
from recap.bench.manifest import Input, select


def test_prompts_turns_and_pictures(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "images").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "images" / "b.png")
    file = tmp_path / "x.jsonl"
    file.write_bytes(
        b"\xef\xbb\xbf"  # as some editors begin their files
        b'{"prompt": "One?", "category": "c", "answer": 3}\r\n\n'
        b'{"id": 7, "turns": ["A", "B"], "image": "a.png"}\n{"id": "z", "prompt": "\xc3\xa9", "images": ["a.png", "b.png"]}\n'
    )
    found = manifest.read(file)
    a, b = str(tmp_path / "a.png"), str(tmp_path / "images" / "b.png")
    assert found.problems == [] and found.path == file
    assert found.inputs == [
        Input("1", "c", ("One?",)), Input("7", "", ("A", "B"), (a,)), Input("z", "", ("é",), (a, b))
    ]  # fmt: skip


def test_mmspec_has_its_categories_under_topic_and_pictures_in_a_folder(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "images" / "mmspec_001.jpg")
    line = {"id": "mmspec_001", "image": "mmspec_001.jpg", "turns": ["Q"], "category": "default", "topic": "text vqa"}
    (tmp_path / "mmspec.jsonl").write_text(json.dumps(line) + "\n")
    (tmp_path / "other.jsonl").write_text("")
    found = manifest.read(tmp_path)
    assert found.inputs == [Input("mmspec_001", "text vqa", ("Q",), (str(tmp_path / "images" / "mmspec_001.jpg"),))]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "not JSON"),
        (b"[1]", "expected an object"),
        (b"{}", 'needs "prompt"'),
        (b'{"prompt": "  "}', "none of them empty"),
        (b'{"turns": ["a", 3]}', "a list of texts"),
        (b'{"prompt": "a", "id": [1]}', '"id" must be'),
        (b'{"prompt": "a", "category": 5}', '"category" must be'),
        (b'{"prompt": "a", "image": 5}', '"image" must be a path'),
        (b'{"prompt": "a", "image": "nowhere.png"}', "no picture 'nowhere.png'"),
        (b'{"prompt": "a", "id": "first"}', "has the id 'first' too"),
        (b'{"prompt": "\\ud800"}', "surrogate"),
        (b'{"prompt": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_line_is_a_sentence_and_the_rest_goes_on(line, words, tmp_path):
    file = tmp_path / "m.jsonl"
    file.write_bytes(b'{"prompt": "1", "id": "first"}\n' + line + b'\n{"prompt": "3"}\n')
    found = manifest.read(file)
    assert [one.id for one in found.inputs] == ["first", "3"]
    (problem,) = found.problems
    assert problem.startswith("m.jsonl, line 2 is left out: ") and words in problem and "\n" not in problem


def test_what_cannot_be_read_at_all_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no file or folder"):
        manifest.read(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no mmspec.jsonl or manifest.jsonl"):
        manifest.read(tmp_path)
    (tmp_path / "testmini").mkdir()
    (tmp_path / "testmini" / "mmspec.jsonl").write_text("")
    with pytest.raises(ValueError, match="may be meant: testmini"):
        manifest.read(tmp_path)
    (tmp_path / "a.jsonl").write_text("nothing\n")
    with pytest.raises(ValueError, match="holds no input.*line 1 is left out"):
        manifest.read(tmp_path)
    (tmp_path / "b.jsonl").write_text("")
    with pytest.raises(ValueError, match="2 JSONL files"):
        manifest.read(tmp_path)


def test_a_limit_takes_from_all_categories_in_turn():
    inputs = [
        Input(f"{category}{at}", category, ("?",))
        for category, count in (("a", 5), ("b", 1), ("c", 5))
        for at in range(count)
    ]
    assert [one.id for one in select(inputs, 5)] == ["a0", "a1", "b0", "c0", "c1"]
    assert select(inputs) == inputs == select(inputs, 99)
    shuffled = select(inputs, None, 3)
    assert shuffled == select(inputs, None, 3) != inputs and set(shuffled) == set(inputs)
    assert Counter(one.category for one in select(inputs, 7, 3)) == {"a": 3, "b": 1, "c": 3}


def test_the_fingerprint_changes_with_words_order_and_pictures(tmp_path):
    picture = tmp_path / "p.png"
    picture.write_bytes(b"one")
    inputs = [Input("1", "", ("a",), (str(picture),)), Input("2", "", ("b",))]
    known = manifest.fingerprint(inputs)
    assert known == manifest.fingerprint(list(inputs)) and len(known) == 12
    assert known != manifest.fingerprint(inputs[::-1]) != manifest.fingerprint(inputs[:1])
    picture.write_bytes(b"two")
    assert known != manifest.fingerprint(inputs)


def test_what_ships_is_complete():
    found = manifest.read(manifest.DEFAULT)
    assert found.problems == [] and len(found.inputs) == 30
    assert set(Counter(one.category for one in found.inputs).values()) == {5} and any(
        len(one.turns) > 1 for one in found.inputs
    )
    assert len({one.category for one in select(found.inputs, 6)}) == 6
