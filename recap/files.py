"""Writing files that are whole or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: str | Path, content: bytes) -> None:
    """Writes a file so that nobody ever sees half of it, and returns when it is on the disk. Raises OSError."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
