"""A visitor's own benchmark: a JSONL manifest, or a ZIP of one and its pictures, unpacked into a folder of its own."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from recap.bench import manifest
from recap.bench.manifest import Manifest

from . import inputs
from .limits import Limits

MOST_FILES = 500
MOST_EXPANSION = 4
"""How many times the bytes that may be uploaded the files of a ZIP may have together."""


def read(path: str | None, folder: Path, limits: Limits) -> Manifest:
    """The inputs of an uploaded file, all of them; pictures lie in `folder`, which is empty and stays while they are used.

    Lines that cannot be used are told in `problems`. Raises ValueError with a sentence for a file with nothing to use.
    """
    if path is None:
        raise ValueError("Choose a file first: a JSONL manifest, or a ZIP of one with its pictures.")
    try:
        if zipfile.is_zipfile(path):
            _unpack(path, folder, MOST_EXPANSION * 1e6 * limits.upload_megabytes)
        else:
            shutil.copyfile(path, folder / "manifest.jsonl")
        found = manifest.read(_place(folder), inside=folder)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # encrypted or oddly packed ZIPs too
        raise ValueError(f"This file cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except ValueError as error:
        named = str(error).replace(repr(str(folder)), "This ZIP").replace(f"{folder}/", "")  # no path of this server
        raise ValueError(named) from None
    kept, problems = [], list(found.problems)
    for one in found.inputs:
        try:
            for turn in one.turns:
                inputs.question(turn, limits.characters)
            for image in one.images:
                inputs.picture(image, limits.megapixels)
            kept.append(one)
        except ValueError as error:
            problems.append(f"{one.id} is left out: {error}")
    if not kept:
        raise ValueError(f"This file holds nothing that can be asked here: {problems[0]}")
    return Manifest(Path("own manifest"), kept, problems)


def _unpack(path: str, folder: Path, most_bytes: float) -> None:
    """Raises ValueError for a ZIP with too much in it, or with names that lead elsewhere."""
    with zipfile.ZipFile(path) as archive:
        files = [one for one in archive.infolist() if not one.is_dir()]
        if len(files) > MOST_FILES:
            raise ValueError(f"This ZIP holds {len(files):,} files; here it may hold {MOST_FILES}.")
        left = int(most_bytes)
        for one in files:
            parts = PurePosixPath(one.filename).parts
            if not parts or one.filename.startswith("/") or any(part in ("..", "") or "\\" in part or "\0" in part for part in parts):
                raise ValueError(f"This ZIP holds a file with a name that leads elsewhere: {one.filename[:60]!r}.")
            place = folder.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(one) as source, place.open("xb") as kept:
                while part := source.read(1 << 20):  # what a ZIP says of its sizes need not be true
                    left -= len(part)
                    if left < 0:
                        raise ValueError(f"This ZIP holds more than {most_bytes / 1e6:,.0f} MB; take fewer or smaller pictures.")
                    kept.write(part)


def _place(folder: Path) -> Path:
    """The folder that holds the manifest: most ZIPs begin with one folder of everything."""
    inside: list[Any] = [one for one in folder.iterdir() if not one.name.startswith((".", "__MACOSX"))]
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder
