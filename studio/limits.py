"""What an operator may set: how many share the device, and how much one visitor may ask of it. Read from the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


def _of(variable: str, default: float, least: float, most: float, meaning: str) -> Any:
    return field(default=default, metadata={"variable": variable, "least": least, "most": most, "meaning": meaning})


@dataclass(frozen=True)
class Limits:
    """Each with its environment variable. `Limits.read()` raises ValueError with a sentence that names the variable."""

    running: int = _of("MAX_RUNNING", 16, 1, 256, "answers and races that share the device at a time")
    waiting: int = _of("MAX_WAITING", 64, 0, 10_000, "further ones that may wait for their turn")
    sessions: int = _of("MAX_SESSIONS", 32, 1, 10_000, "visitors whose cache and memories are kept between answers")
    visitors: int = _of("MAX_VISITORS", 1000, 1, 100_000, "pages that may be open")
    idle_minutes: float = _of("IDLE_MINUTES", 30, 0.1, 10_000, "minutes after which a quiet visitor's cache and memories go")
    tokens: int = _of("MAX_TOKENS", 1024, 1, 1_000_000, "tokens of an answer")
    characters: int = _of("MAX_PROMPT_CHARS", 32_000, 100, 10_000_000, "characters of a question")
    megapixels: float = _of("MAX_MEGAPIXELS", 110, 0.1, 150, "millions of pixels of a picture")
    upload_megabytes: float = _of("MAX_UPLOAD_MB", 64, 0.1, 1024, "megabytes of an uploaded file")
    uploads: int = _of("UPLOADS_PER_MINUTE", 60, 1, 100_000, "files that one address may upload in a minute")
    uploads_megabytes: float = _of("UPLOADS_MB", 2048, 1, 1_000_000, "megabytes of uploaded files kept, the newest of all visitors")
    proxies: int = _of("TRUSTED_PROXIES", 0, 0, 10, "proxies in front whose X-Forwarded-For is believed")
    memory_megabytes: float = _of("MAX_MEMORY_MB", 64, 1, 100_000, "megabytes that one visitor's memories (G, C, U) may take")
    caches_megabytes: float = _of("CACHES_MB", 4096, 1, 10_000_000, "megabytes of key-value caches kept between answers")
    traces_megabytes: float = _of("TRACES_MB", 256, 1, 100_000, "megabytes of traces kept for looking at, all visitors together")

    @classmethod
    def read(cls, environment: Mapping[str, str] = os.environ) -> Limits:
        """From environment variables; one that is absent or empty leaves the default."""
        given: dict[str, Any] = {}
        for one in fields(cls):
            text = environment.get(one.metadata["variable"], "").strip()
            if text:
                given[one.name] = _number(text, one.metadata, whole=isinstance(one.default, int) and one.type == "int")
        return cls(**given)

    def described(self) -> dict[str, float]:
        """Values by the names of their variables."""
        return {one.metadata["variable"]: getattr(self, one.name) for one in fields(self)}


def table() -> list[tuple[str, float, str]]:
    """Variable, default and meaning of every limit, for people to read."""
    return [(one.metadata["variable"], one.default, one.metadata["meaning"]) for one in fields(Limits)]


def _number(text: str, meta: Mapping[str, Any], whole: bool) -> float:
    least, most = meta["least"], meta["most"]
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"{meta['variable']} ({meta['meaning']}) must be {kind} from {least:,} to {most:,}, got {text[:40]!r}")
    return value
