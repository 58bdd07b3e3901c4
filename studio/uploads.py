"""The folder of uploaded files: this app's own, bounded in bytes, gone with the app."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: what an app that was killed left stays there
    fcntl = None

VARIABLE = "GRADIO_TEMP_DIR"
_PREFIX, _LOCK = "recap-studio-", ".lock"
_made: list[Path] = []
_held: list[IO] = []
"""Open lock files beside the folders, which the system lets go of however this process ends."""


def prepare() -> Path:
    """The folder that gradio is to use: the one that $GRADIO_TEMP_DIR names, else a fresh one that ends with the app. Fresh
    ones of apps that were killed are removed: what visitors uploaded does not outlive the next start."""
    if named := os.environ.get(VARIABLE):
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if not _made:
        atexit.register(discard)
    _sweep()
    _made.append(folder := _fresh())
    os.environ[VARIABLE] = str(folder)
    return folder


def discard() -> None:
    """Remove what `prepare` made."""
    while _made:
        folder = _made.pop()
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_name(folder.name + _LOCK).unlink(missing_ok=True)
    while _held:
        _held.pop().close()


def _fresh() -> Path:
    """A folder whose lock this process has: another app that is starting may have swept away a first one."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        path = folder.with_name(folder.name + _LOCK)
        lock = open(path, "w")
        alone = _alone(lock)
        if alone is None or alone and folder.is_dir() and path.exists():
            _held.append(lock)
            return folder
        lock.close()


def _sweep() -> None:
    """Remove folders whose app is gone: nobody holds the lock beside them."""
    for lock in Path(tempfile.gettempdir()).glob(_PREFIX + "*" + _LOCK):
        try:
            with open(lock, "r+") as file:
                if not _alone(file):
                    continue
                shutil.rmtree(lock.with_name(lock.name.removesuffix(_LOCK)), ignore_errors=True)
                lock.unlink(missing_ok=True)
        except OSError:  # another user's, or gone meanwhile
            continue


def _alone(file: IO) -> bool | None:
    """Take the lock, unless another process has it; None where there are no locks, by this system or this file system."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def tidy(folder: Path, most_bytes: float) -> int:
    """Remove the oldest files until at most so many bytes are left; how many were removed."""
    files = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                about = path.stat()
                files.append((about.st_mtime, about.st_size, path))
        except OSError:  # gone meanwhile
            continue
    total, removed = sum(size for _, size, _ in files), 0
    for _, size, path in sorted(files):
        if total <= most_bytes:
            break
        path.unlink(missing_ok=True)
        total, removed = total - size, removed + 1
    return removed
