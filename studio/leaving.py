"""How the process ends when it is told to: at once until the page is served, from then on as `studio.serving` has it, and
at once again for whoever insists."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from .uploads import discard

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def on_signals(handler: Callable[[int, Any], Any]) -> None:
    """Have both signals call the handler. On the main thread."""
    for number in SIGNALS:
        signal.signal(number, handler)


def at_once(number: int, _: Any) -> None:
    """End with 128 and the signal's number; nothing of what was uploaded stays."""
    discard()
    os._exit(128 + number)


def before_anything(number: int, _: Any) -> None:
    """End well: nobody was served yet."""
    discard()
    os._exit(0)
