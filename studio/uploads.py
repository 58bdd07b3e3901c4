"""The folder of uploaded files: this app's own, bounded in bytes, gone with the app."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "GRADIO_TEMP_DIR"
_made: list[Path] = []


def prepare() -> Path:
    """The folder that gradio is to use: the one that $GRADIO_TEMP_DIR names, else a fresh one that ends with the app."""
    if named := os.environ.get(VARIABLE):
        folder = Path(named)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if not _made:
        atexit.register(discard)
    _made.append(folder := Path(tempfile.mkdtemp(prefix="recap-studio-")))
    os.environ[VARIABLE] = str(folder)
    return folder


def discard() -> None:
    """Remove what `prepare` made."""
    while _made:
        shutil.rmtree(_made.pop(), ignore_errors=True)


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
