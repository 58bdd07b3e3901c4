"""A visitor's own manifest: what is read of a JSONL file or a ZIP, and what leads nowhere."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from studio import manifests
from studio.limits import Limits

from . import tiny

LIMITS = Limits(characters=100, upload_megabytes=1, megapixels=1)


def zipped(path: Path, files: dict[str, bytes]) -> str:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return str(path)


def lines(*inputs: dict) -> bytes:
    return "\n".join(json.dumps(one) for one in inputs).encode()


@pytest.fixture
def room(tmp_path: Path) -> Path:
    made = tmp_path / "unpacked"
    made.mkdir()
    return made


@pytest.fixture
def png(tmp_path: Path) -> bytes:
    tiny.picture(1).save(tmp_path / "one.png")
    return (tmp_path / "one.png").read_bytes()


@pytest.mark.parametrize("above", ["", "bench/", "bench/images/"])
def test_a_zip_of_a_manifest_and_its_pictures(tmp_path: Path, room: Path, png: bytes, above: str) -> None:
    top = above.split("/")[0] and "bench/"
    listed = lines({"prompt": "What is it?", "image": "a.png", "category": "x"}, {"turns": ["One?", "Two?"]})
    path = zipped(tmp_path / "z.zip", {f"{top}manifest.jsonl": listed, f"{above}a.png": png, "__MACOSX/x": b"?"})
    found = manifests.read(path, room, LIMITS)
    assert [(one.id, one.category, len(one.turns), len(one.images)) for one in found.inputs] == [("1", "x", 1, 1), ("2", "", 2, 0)]
    assert found.problems == [] and found.path.name == "own manifest"
    assert Path(found.inputs[0].images[0]).read_bytes() == png


def test_a_jsonl_file_reaches_no_picture_of_this_server(tmp_path: Path, room: Path, png: bytes) -> None:
    (tmp_path / "secret.png").write_bytes(png)
    path = tmp_path / "m.jsonl"
    away = ["../secret.png", str(tmp_path / "secret.png"), "/etc/passwd", "x" * 5000, "http://127.0.0.1/a.png", "."]
    path.write_bytes(lines(*({"prompt": "?", "image": image} for image in away), {"prompt": "Fine."}, {"prompt": "y" * 101}))
    found = manifests.read(str(path), room, LIMITS)
    assert [one.turns for one in found.inputs] == [("Fine.",)]
    assert len(found.problems) == len(away) + 1 and "101 characters" in found.problems[-1]
    assert all("there is no picture" in problem for problem in found.problems[:-1])


def test_links_in_a_zip_are_files_that_say_where(tmp_path: Path, room: Path) -> None:
    """A symbolic link is unpacked as the text it holds, so it cannot lead anywhere."""
    link = zipfile.ZipInfo("a.png")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("manifest.jsonl", lines({"prompt": "?", "image": "a.png"}))
    found = manifests.read(str(tmp_path / "z.zip"), room, LIMITS)
    assert Path(found.inputs[0].images[0]).read_text() == "/etc/passwd"
    assert not Path(found.inputs[0].images[0]).is_symlink()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"../manifest.jsonl": b"{}"}, "leads elsewhere"), ({"/etc/x": b"{}"}, "leads elsewhere"),
        ({"a/../../x": b"{}"}, "leads elsewhere"), ({"manifest.jsonl": b"nothing"}, "holds no input"),
        ({}, "holds no mmspec.jsonl or manifest.jsonl"), ({"a.jsonl": b"{}", "b.jsonl": b"{}"}, "name one of them"),
        ({"manifest.jsonl": b'{"prompt": "?"}', "big": bytes(5_000_000)}, "more than 4 MB"),
        ({f"{number}": b"" for number in range(501)}, "501 files"),
        ({"manifest.jsonl": lines({"prompt": "z" * 101})}, "nothing that can be asked"),
    ],
)  # fmt: skip
def test_zips_that_cannot_be_used(tmp_path: Path, room: Path, files: dict[str, bytes], words: str) -> None:
    with pytest.raises(ValueError, match=words) as told:
        manifests.read(zipped(tmp_path / "z.zip", files), room, LIMITS)
    assert str(tmp_path) not in str(told.value)


def test_other_files(tmp_path: Path, room: Path) -> None:
    with pytest.raises(ValueError, match="Choose a file first"):
        manifests.read(None, room, LIMITS)
    (tmp_path / "x.jsonl").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(ValueError, match="holds no input"):
        manifests.read(str(tmp_path / "x.jsonl"), room, LIMITS)
    path = Path(zipped(tmp_path / "z.zip", {"manifest.jsonl": lines({"prompt": "?"}) * 1000}))
    whole = path.read_bytes()
    path.write_bytes(whole[:40] + bytes(20) + whole[60:])
    with pytest.raises(ValueError) as told:
        manifests.read(str(path), tmp_path / "unpacked", LIMITS)
    assert str(tmp_path) not in str(told.value)
