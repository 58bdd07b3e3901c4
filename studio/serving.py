"""How the page is served: what `launch` has to know, the same for the app and for whoever else opens it, and its life
from the first line in the log to a clean end."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fastapi import FastAPI
from gradio import mount_gradio_app
from gradio.routes import App
from starlette.middleware import Middleware

from .frames import Restful
from .gate import Gate
from .inputs import Checked
from .leaving import at_once, on_signals
from .limits import Limits
from .opening import long_lived
from .policy import OnlyThisServer
from .theme import look
from .uploads import discard, tidy
from .worker import Worker

log = logging.getLogger(__name__)

_TIDY_SECONDS = 10.0
_LOOK_SECONDS = 0.05
_PATIENCE = 3.0
"""Seconds that answers get to end with the pass that they are in."""
_LAST_WORDS = 0.5
"""Seconds in which pages are told that their answers have ended."""
_EVENTS, _PROGRESS = 0.02, 1.0
"""Seconds between two of gradio's looks for an event that waits, and for progress, which nothing here tells in its way.
By itself it looks 1,000 and 100 times a second, which takes 7 % of a core from the decoder whether anyone is there or not."""


def options(page: Checked) -> dict[str, Any]:
    """Arguments for `page.launch`: looks, nothing that gradio would add, no way out of this server. The page's queue learns to
    wait calmly: call it after `page.queue`."""
    limits = page.limits
    page._queue.sleep_when_free, page._queue.progress_update_sleep_when_free = _EVENTS, _PROGRESS
    gate = Middleware(Gate, limits=limits, refused=page.metrics.refused, beating=page.visitors.beating)
    return {
        **look(), "footer_links": [], "run_history": False, "quiet": True, "enable_monitoring": False,
        "ssr_mode": False, "pwa": False, "mcp_server": False, "share": False, "max_file_size": int(limits.upload_megabytes * 1e6),
        "prevent_thread_lock": True,
        # every answer in the making, and every page that waits for one, keeps a thread of gradio's
        "max_threads": limits.running + limits.waiting + 64,
        "app_kwargs": {"middleware": [Middleware(OnlyThisServer), gate, Middleware(Restful)], "routes": page.routes},
    }  # fmt: skip


@contextmanager
def unserved() -> Iterator[None]:
    """While a page is made, gradio makes a server for it three times over; `launch` and `mounted` make the one that serves."""
    with patch.object(App, "create_app", lambda *_, **__: None):
        yield


def mounted(page: Checked, folder: Path) -> FastAPI:
    """The page as an ASGI application, for a server other than gradio's, with all that `launch` would give it."""
    given = options(page)
    page.max_threads = page._queue.max_thread_count = given["max_threads"]
    taken = ("theme", "css", "css_paths", "footer_links", "run_history", "enable_monitoring", "ssr_mode", "pwa", "mcp_server",
             "max_file_size", "app_kwargs")  # fmt: skip

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        task = asyncio.create_task(_tidying(page, folder))
        yield
        task.cancel()

    outer = FastAPI(lifespan=living, docs_url=None, redoc_url=None, openapi_url=None)
    mount_gradio_app(outer, page, "/", show_error=False, **{name: given[name] for name in taken})
    page.has_launched = True  # without it gradio takes any file of this machine for an upload
    return outer


async def _tidying(page: Checked, folder: Path) -> None:
    while True:
        await asyncio.sleep(_TIDY_SECONDS)
        await asyncio.to_thread(_tidy, page, folder)


def _tidy(page: Checked, folder: Path) -> None:
    page.visitors.tidy()
    try:
        tidy(folder, page.limits.uploads_megabytes * 1e6)
    except OSError as error:  # others put things there and take them away meanwhile
        log.warning("uploads could not be tidied: %s", type(error).__name__)


def _prepare_drawing(worker: Worker, over: threading.Event) -> None:
    """Import what draws trees when the model is loaded, which it would delay: the first tree comes after a first pass."""
    while worker.loading and not over.wait(_LOOK_SECONDS):
        pass
    importlib.import_module("networkx")


def closing(worker: Worker) -> bool:
    """End answers with the pass that they are in, and let pages hear of it; whether all of them did."""
    whole = worker.close(_PATIENCE)
    time.sleep(_LAST_WORDS)
    return whole


def serve(page: Checked, worker: Worker, port: int | None, folder: Path, enabled: dict[str, Any]) -> None:
    """Serve the page until SIGTERM or Ctrl-C, and end the process: with 0, within some ten seconds. `folder` holds what was
    uploaded; `enabled` is told in the log."""
    over = threading.Event()

    def end(*_: Any) -> None:
        on_signals(at_once)  # whoever insists need not wait
        over.set()

    on_signals(end)
    try:
        # a port that was asked for is not quietly replaced by another
        _, address, _ = page.launch(**options(page), server_port=port)
    except OSError as error:
        raise SystemExit(f"RECAP Studio cannot start: {error}") from None
    long_lived()
    print(f"RECAP Studio is at {address} and loads {enabled['model']} meanwhile. Ctrl-C ends it.", flush=True)
    log.info("started", extra={"facts": enabled})
    if enabled["log"] == "text":
        usual = Limits().described()
        changed = ", ".join(f"{name}={value}" for name, value in enabled.items() if usual.get(name, value) != value)
        metrics = f"on, {enabled['metrics']}" if enabled["metrics"] else "off"
        print(f"Metrics: {metrics}. Limits: {changed or 'the defaults'} (docs/serving.md).", flush=True)
    threading.Thread(target=_prepare_drawing, args=(worker, over), name="drawing", daemon=True).start()
    while not over.wait(_TIDY_SECONDS):
        _tidy(page, folder)
    print("Closing, which takes some seconds while pages are open.", flush=True)
    whole = closing(worker)
    page.close(verbose=False)
    log.info("closed", extra={"facts": {"answers_ended": whole}})
    sys.stdout.flush()
    logging.shutdown()
    discard()
    # a model that is being fetched or loaded cannot be interrupted, and its thread would keep the process
    os._exit(0)
