"""How the page is served: what `launch` has to know, the same for the app and for whoever else opens it."""

from __future__ import annotations

from typing import Any

from starlette.middleware import Middleware

from .frames import Restful
from .inputs import Checked
from .policy import OnlyThisServer
from .theme import look


def options(page: Checked) -> dict[str, Any]:
    """Arguments for `page.launch`: looks, nothing that gradio would add, no way out of this server."""
    return {
        **look(), "footer_links": [], "run_history": False, "quiet": True, "enable_monitoring": False,
        "ssr_mode": False, "pwa": False, "mcp_server": False, "share": False, "max_file_size": "64mb",
        "prevent_thread_lock": True,
        "app_kwargs": {"middleware": [Middleware(OnlyThisServer), Middleware(Restful)], "routes": page.routes},
    }  # fmt: skip
