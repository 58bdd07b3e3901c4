"""How what a view found reaches the browser: as JSON in one go.

Left to FastAPI, a dict is copied value by value before it becomes JSON: 12 ms for a tree of 63 candidates, which takes 4
to make.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from starlette.responses import Response


def sent(view: Callable[[Any], dict[str, Any]]) -> Callable[[Any], Response]:
    """The same view, answering with a response. Halves of characters, which UTF-8 cannot hold, become "?"; numbers that
    JSON cannot hold (NaN, infinities) an error for the page."""

    @wraps(view)
    def answered(wish: Any) -> Response:
        try:
            text = _json(view(wish))
        except ValueError:
            text = _json({"error": "this cannot be shown: the trace holds something that is not a number"})
        return Response(text.encode("utf-8", "replace"), media_type="application/json")

    return answered


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
