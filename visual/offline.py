"""What a standalone page needs to draw without asking anybody for anything: plotly.js, and a policy that says so."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from plotly.offline import get_plotlyjs


@cache
def plotly() -> str:
    """The source of plotly.js, as the plotly package has it."""
    return get_plotlyjs()


def policy(scripts: Sequence[str]) -> str:
    """A content security policy under which nothing runs but these scripts, and nothing is fetched."""
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def held(value: Any) -> str:
    """JSON that may stand inside a script element, where only "</" and "<!--" would be read as HTML."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
