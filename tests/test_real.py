"""Real pictures out of packages: the manifest, the judging, the page, and what is refused. Nothing is downloaded."""

import io
import json
import subprocess
import tarfile
import zipfile

import pytest

from training import fetch, real
from training.real import BAD, GOOD, OPEN, Asked


def test_the_manifest_names_each_picture_once_and_asks_for_what_is_there_and_what_is_not():
    listed = real.entries()
    assert len(listed) >= 30 and len({entry.name for entry in listed}) == len(listed)
    asked = [one for entry in listed for one in entry.questions]
    assert {entry.kind for entry in listed} == set(real.KINDS)
    assert sum(one.unseen for one in asked) >= 10
    assert all(entry.licence and entry.shows for entry in listed) and all(one.text and one.true for one in asked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "film"}, "line 1: kind must be one of photo, scan, chart, not 'film'"),
        ({"from": "git"}, "from must be one of wheel, sdist, npm, not 'git'"),
        ({"objects": ["motorcycle"]}, "no name of the classifier's: motorcycle"),
        ({"questions": [{"ask": "What?", "true": "a cat"}]}, "'What\\?' needs one rule of .*, or judged; it has none"),
        ({"questions": [{"ask": "What?", "true": "3", "any": ["3"], "near": [3, 0]}]}, "it has any, near"),
        ({"questions": [{"ask": "What?", "true": "x", "judged": [{"answer": "a", "verdict": "so"}]}]}, "good or bad"),
        ({"version": None}, "line 1: no 'version'"),
    ],
)
def test_a_wrong_manifest_is_refused_with_its_line(tmp_path, change, message):
    line = {"package": "p", "version": "1", "from": "wheel", "path": "a/b.png", "licence": "MIT", "kind": "photo",
            "shows": "a cat", "questions": [{"ask": "What?", "true": "a cat", "any": ["cat"]}]}  # fmt: skip
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(line))
    assert real.entries(path)[0].name == "p: b.png"
    path.write_text(json.dumps({key: value for key, value in (line | change).items() if value is not None}))
    with pytest.raises(ValueError, match=message):
        real.entries(path)


@pytest.mark.parametrize(
    ("rule", "answer", "verdict"),
    [
        ({"any": ("cat",)}, "The picture shows a cat.", GOOD),
        ({"any": ("cat",)}, "Two Cats, perhaps.", GOOD),
        ({"any": ("cat",)}, "A caterpillar.", BAD),
        ({"any": ("cat",)}, "No, I can't see a cat.", BAD),
        ({"any": ("cat",)}, "I don’t see a cat.", BAD),
        ({"any": ("cat",)}, "There is no dog. It is a cat.", GOOD),
        ({"any": ("cat",)}, "A cat, no dog.", GOOD),
        ({"any": ("cat",)}, "I am not sure, perhaps a cat.", GOOD),
        ({"any": ("18,580",)}, "The total is 18580.", GOOD),
        ({"any": ("3",)}, "The total is 3.78.", BAD),
        ({"any": ("multipage tiff",)}, 'It says: "Multipage | TIFF".', GOOD),
        ({"any": ("tower",), "never": ("water tower",)}, "It is a water tower.", BAD),
        ({"near": (1.5, 0.1)}, "G is about 1.58.", GOOD),
        ({"near": (1.5, 0.1)}, "G is about 2.", BAD),
        ({"unseen": True}, "No, there is no boat in the picture.", GOOD),
        ({"unseen": True}, "The coffee is 29.01.", BAD),
        ({"judged": (("A bus.", GOOD), ("A cat.", BAD))}, "A cat.", BAD),
        ({"judged": (("A bus.", GOOD),)}, "A blue bus.", OPEN),
        ({"any": ("bus",), "judged": (("Text says bus.", BAD),)}, "Text says bus.", BAD),
        ({"any": ("bus",), "judged": (("Text says bus.", BAD),)}, "A bus.", GOOD),
    ],
)
def test_answers_are_judged_as_a_person_would(rule, answer, verdict):
    assert Asked("What?", "so", **rule).verdict(answer) == verdict


def _record(picture="p: a.png", **change):
    return {"picture": picture, "kind": "photo", "licence": "MIT", "shows": "a cat", "question": "What?", "true": "cat",
            "unseen": False, "answer": "a cat", "verdict": GOOD, "guess": ["tabby cat", 0.6], "by_hand": False,
            "accepted": ["tabby cat"], "evidence": "", "found": ""} | change  # fmt: skip


def test_confidence_is_counted_once_a_photo_and_by_band():
    records = [_record(), _record(question="Again?"), _record("p: b.png", guess=["lion", 0.2]),
               _record("p: c.png", guess=["tabby cat", 0.09]), _record("p: d.png", kind="scan")]  # fmt: skip
    assert [row[1:] for row in real.calibration(records)] == [(1, 1), (1, 0), (0, 0), (1, 1)]


def test_the_page_keeps_what_a_person_wrote_and_escapes_what_a_model_said(tmp_path):
    listed = real.entries()[:1]
    record = _record(answer="<b>x</b> | [y](z)")
    text = real.page([record], listed, "python -m training.real", "2026-01-01", f"{real.BY_HAND}\n\nMine.\n")
    assert "\\<b\\>x\\</b\\> \\| \\[y\\](z)" in text and text.endswith("Mine.\n")
    assert "| photos | 1 | 1 | 1 | 0 | 0 |" in text and "| 50 % and more | 1 | 1 |" in text


def test_files_are_read_out_of_wheels_tars_and_pdfs(tmp_path):
    jpeg = b"\xff\xd8\xff jpeg"
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("x/a.png", b"png")
        wheel.writestr("x/a.pdf", b"%PDF stream\n" + jpeg + b"endstream")
        wheel.writestr("x/none.pdf", b"%PDF")
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as tar:
        info = tarfile.TarInfo("package/a.png")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"tar"))
    assert fetch.file_in(tmp_path / "a.whl", "x/a.png") == b"png"
    assert fetch.file_in(tmp_path / "a.whl", "x/a.pdf") == jpeg
    assert fetch.file_in(tmp_path / "a.tgz", "package/a.png") == b"tar"
    for name, file in (("a.whl", "x/b.png"), ("a.tgz", "package/b.png")):
        with pytest.raises(fetch.FetchError, match="holds no file .*b.png; correct the path"):
            fetch.file_in(tmp_path / name, file)
    with pytest.raises(fetch.FetchError, match="holds no JPEG"):
        fetch.file_in(tmp_path / "a.whl", "x/none.pdf")
    (tmp_path / "b.whl").write_bytes(b"cut")
    with pytest.raises(fetch.FetchError, match="cannot be unpacked"):
        fetch.file_in(tmp_path / "b.whl", "x/a.png")


def test_a_package_is_fetched_once_and_a_registry_out_of_reach_is_said_plainly(tmp_path, monkeypatch):
    calls = []

    def run(command, cwd, **_):
        calls.append(command)
        if "gone==1" in command:
            said = "ERROR: Could not find it at https://me:secret@index/simple"
            return subprocess.CompletedProcess(command, 1, "", said)
        if command[0] == "npm":
            raise FileNotFoundError("npm")
        (cwd / "there-1-py3-none-any.whl").write_bytes(b"x")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(fetch.subprocess, "run", run)
    kept = fetch.archive("there", "1", "wheel", tmp_path)
    assert kept.read_bytes() == b"x" and fetch.archive("there", "1", "wheel", tmp_path) == kept and len(calls) == 1
    assert "--no-deps" in calls[0]
    with pytest.raises(fetch.FetchError, match="pip could not download gone 1. Is its registry reachable") as error:
        fetch.archive("gone", "1", "sdist", tmp_path)
    assert "secret" not in str(error.value) and calls[-1][-2:] == ["--no-binary", "gone"]
    with pytest.raises(fetch.FetchError, match="there is no npm here"):
        fetch.archive("@scope/thing", "1", "npm", tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["there-1"]
    with pytest.raises(ValueError, match="source must be one of"):
        fetch.archive("there", "1", "git", tmp_path)
