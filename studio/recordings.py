"""Recorded answers that ship with the studio, so that the page is alive before the first question."""

from __future__ import annotations

import logging
from pathlib import Path

from recap.trace import Trace
from recap.trace_json import TraceError, read_trace

log = logging.getLogger(__name__)


def load(folder: Path) -> list[tuple[str, Trace]]:
    """(id, trace) of every recording in a folder, in the order of their file names. One that cannot be read is left out."""
    found = []
    for path in sorted(folder.glob("*.json.gz")):
        try:
            found.append((f"recording-{path.name.removesuffix('.json.gz')}", read_trace(path)))
        except (TraceError, OSError):
            log.exception("a recording cannot be read: %s", path.name)
    return found
