"""Logs for operators: JSON lines where asked for, and never a word of what somebody wrote."""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from collections.abc import Mapping
from datetime import datetime, timezone

FORMATS = ("text", "json")


class Lines(logging.Formatter):
    """One JSON object per line: time, level, logger, event, and the record's `facts`. Of an exception its type and where
    it came from; its message may quote a visitor, and stays out."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(), "logger": record.name, "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }  # fmt: skip
        if record.exc_info and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            line["exception"] = record.exc_info[0].__name__
            line["at"] = [f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(line, default=str)


def prepare(environment: Mapping[str, str] = os.environ) -> str:
    """Set up by $LOG_FORMAT (text | json) and $LOG_LEVEL (by default info for json, warning for text); the format.

    Raises ValueError with a sentence for anything else.
    """
    kind = environment.get("LOG_FORMAT", "").strip().lower() or "text"
    if kind not in FORMATS:
        raise ValueError(f"LOG_FORMAT must be one of {', '.join(FORMATS)}, got {kind[:40]!r}")
    level = environment.get("LOG_LEVEL", "").strip().upper() or ("INFO" if kind == "json" else "WARNING")
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ValueError(f"LOG_LEVEL must be debug, info, warning or error, got {level[:40]!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines() if kind == "json" else logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    if kind == "json":
        _take_over()
    for name in ("studio", "recap", "app"):
        logging.getLogger(name).setLevel(level)
    return kind


def _take_over() -> None:
    """Have the web server write its warnings as everybody does; it would set up handlers of its own when it starts."""
    from uvicorn.config import LOGGING_CONFIG

    LOGGING_CONFIG["handlers"].clear()
    for one in LOGGING_CONFIG["loggers"].values():
        one.update(handlers=[], propagate=True)
