"""Small JSON files in the user's cache folder: what was measured and learned of a model, for the next run.

Nothing depends on them. A file that is missing, damaged or made for something else is as good as none, and a folder that
cannot be written is left alone. `RECAP_LEARN=off` switches reading and writing off.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from ..folders import cache_folder

FORMAT = 1


def enabled() -> bool:
    """Whether anything is kept from run to run."""
    return os.environ.get("RECAP_LEARN", "").lower() not in ("off", "0", "no", "false")


def place(kind: str, key: dict[str, Any]) -> Path:
    """The file for a kind of knowledge about what `key` describes."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
    return cache_folder() / "budget" / f"{kind}-{digest}.json"


def read(kind: str, key: dict[str, Any]) -> dict[str, Any] | None:
    """The values kept for this key, None if there are none that can be trusted."""
    if not enabled():
        return None
    try:
        document = json.loads(place(kind, key).read_text("utf-8"))
        whole = document["format"] == FORMAT and document["key"] == key and isinstance(document["values"], dict)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return document["values"] if whole else None


def write(kind: str, key: dict[str, Any], values: dict[str, Any]) -> bool:
    """Keep values, all or nothing: a reader never sees half a file. Whether they could be kept."""
    if not enabled():
        return False
    path = place(kind, key)
    text = json.dumps({"format": FORMAT, "key": key, "values": values})
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", dir=path.parent)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        return False
    return True
