"""RECAP: training-free speculative decoding of vision-language models from recycled target predictions.

Names are loaded on first use, so that the drafting core can be imported without torch.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "RecapConfig": "config",
    "Drafter": "drafter",
    "Step": "trace",
    "Trace": "trace",
    "load_target": "targets",
    "wrap": "targets",
    "Session": "session",
    "WarmMemory": "warm",
    "generate": "generation",
    "stream": "generation",
    "Race": "race",
    "custom_generate": "custom",
    "METHODS": "methods",
}

__all__ = [*_HOMES, "drafter", "__version__"]


def __getattr__(name: str) -> Any:
    if name == "drafter":  # a package that can also be called: recap.drafter("pld")
        return import_module(".drafter", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'recap' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value
