"""/healthz for whoever keeps the app alive, /metrics for whoever watches it."""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from recap import __version__

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from .metrics import Metrics
    from .visitors import Visitors
    from .worker import Worker


def state(worker: Worker) -> str:
    """loading | ready | failed (the next question tries to load again) | closing."""
    if worker.closing:
        return "closing"
    return "loading" if worker.loading else "ready" if worker.target is not None else "failed"


def wanted(environment: Mapping[str, str] = os.environ) -> bool | str:
    """Whether $METRICS asks for /metrics, or the token that $METRICS_TOKEN protects it with. Raises ValueError with a
    sentence for another word than on or off."""
    said, token = (environment.get(name, "").strip() for name in ("METRICS", "METRICS_TOKEN"))
    if said.lower() not in ("", "on", "off"):
        raise ValueError(f"METRICS must be on or off, got {said[:40]!r}")
    if token and said.lower() != "on":
        log.warning("METRICS_TOKEN is set, but /metrics is not served: METRICS=on does that")
    return (token or True) if said.lower() == "on" else False


def routes(worker: Worker, visitors: Visitors, metrics: Metrics, watched: bool | str = False) -> list[Route]:
    """/healthz: JSON, status 503 when the model could not be loaded or the app is closing. /metrics, if `watched`:
    Prometheus' text; where that is a token, for those who send it as "Authorization: Bearer ..."."""

    def healthz(_: Request) -> Response:
        now = state(worker)
        about: dict[str, Any] = worker.target.describe() if worker.target is not None else {}
        running, waiting = worker.counts
        found = {
            "status": now, "version": __version__, "running": running, "waiting": waiting, "visitors": len(visitors),
            "model": {name: about[name] for name in ("name", "device", "dtype", "exact", "passes") if name in about} or None,
            "doing": worker.doing if now == "loading" else "", "error": worker.error,
        }  # fmt: skip
        return JSONResponse(found, 200 if now in ("ready", "loading") else 503, {"cache-control": "no-store"})

    def shown(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if watched is not True and not hmac.compare_digest(given.encode(), f"Bearer {watched}".encode()):
            return PlainTextResponse("This needs the operator's token.", 401, {"www-authenticate": "Bearer"})
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    found = [Route("/healthz", healthz)]
    return [*found, Route("/metrics", shown)] if watched else found
