"""One replica of the studio, an actor of Ray Serve's, and the application that consists of them."""

from __future__ import annotations

import argparse
import asyncio
import re
from typing import Any

import ray
from ray import serve
from starlette.responses import JSONResponse, Response

from studio import choosing

from .affinity import COOKIE, MARK, cookie, is_page, named

GONE = (
    "The copy of the studio that had this conversation has ended, and the conversation with it. Load the page again to go on."
)
_CALL = re.compile(r"/gradio_api/call/(v2/)?\w+/?")
_EVENT = re.compile(rb'("event_id":\s*")(\w+)')
_MOST_REQUESTS = 100_000
"""Open requests of a replica. A page keeps several open for as long as it is there; what bounds the work is `Limits`."""
_HEALTH_SECONDS = 2.0
_TRIES = 3
"""How often a replica may fail to load its model before Ray Serve gives up."""
_GOODBYE = 3.0
"""Seconds that a replica which is stopped gets for the answers it is at."""


class Replica:
    """Loads the model and becomes ready; a model that cannot be loaded is the error that Ray Serve shows."""

    async def __init__(self, chosen: dict[str, Any]) -> None:
        import app  # whoever deploys needs neither torch nor gradio for it
        from recap.targets.loading import default_model
        from studio.serving import mounted

        _stay_here()
        name = serve.get_replica_context().replica_id.unique_id
        settings = argparse.Namespace(**{**chosen, "model": chosen["model"] or default_model()})
        _, limits, watched, _ = choosing.settled(settings)
        page, self._worker, folder = app.opened(settings, limits, watched)
        while self._worker.loading:
            await asyncio.sleep(0.1)
        if self._worker.error:
            raise RuntimeError(self._worker.error)
        self._app = Named(mounted(page, folder), name)

    def __serve_build_asgi_app__(self) -> Any:
        return self._app

    def check_health(self) -> None:
        if self._worker.closing:
            raise RuntimeError("this replica is closing")

    async def __del__(self) -> None:
        if hasattr(self, "_worker"):
            from studio.serving import closing

            await asyncio.to_thread(closing, self._worker)


class Named:
    """ASGI middleware: says in a cookie which replica answers, and tells a page whose replica has ended.

    Programs ask for one answer at a time, so any replica serves them; a page shows what this replica knows nothing of.
    """

    def __init__(self, app: Any, name: str) -> None:
        self.app, self._name = app, name

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, known, receive = scope["path"], cookie(scope), _until_gone(receive)
        stale = known not in (None, self._name) and is_page(scope)
        lost = stale and path.startswith(("/config", "/gradio_api/"))
        renew = known != self._name and (path == "/" or not stale)  # a page that is lost stays so until it is loaded again
        calls = scope["method"] == "POST" and _CALL.fullmatch(path) is not None
        start: Any = None

        async def sending(message: Any) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                given = f"{COOKIE}={self._name}; Path=/; HttpOnly; SameSite=Lax".encode()
                more = [(MARK, self._name.encode()), *([(b"set-cookie", given)] if renew else [])]
                start = {**message, "headers": [*message["headers"], *more]}
                if calls:  # its length changes
                    return
            elif calls and message["type"] == "http.response.body" and not message.get("more_body"):
                body = _EVENT.sub(lambda found: found[1] + named(found[2].decode(), self._name).encode(), message["body"])
                kept = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
                await send({**start, "headers": [*kept, (b"content-length", str(len(body)).encode())]})
                message = {**message, "body": body}
            await send(start if message["type"] == "http.response.start" else message)

        if known is None and path.startswith("/gradio_api/app_id") and is_page(scope):  # whose page asks is not known, so nothing can be said
            await Response(status_code=204)(scope, receive, sending)
        elif lost:
            await JSONResponse({"detail": GONE}, 410, {"cache-control": "no-store"})(scope, receive, sending)
        else:
            await self.app(scope, receive, sending)


def _until_gone(receive: Any) -> Any:
    """What takes requests has ended, so whoever sent this one hears nothing more."""

    async def received() -> Any:
        try:
            return await receive()
        except ray.exceptions.RayActorError:
            return {"type": "http.disconnect"}

    return received


def application(arguments: dict[str, Any]) -> serve.Application:
    """For `serve run deploy.replica:application replicas=2 ...`: what `python -m deploy.ray_serve` takes, by the same names."""
    parser = argparse.ArgumentParser()
    choosing.add(parser)
    chosen = {**vars(parser.parse_args([])), **arguments}
    replicas, cpus, gpus = (float(chosen.pop(name, usual)) for name, usual in (("replicas", 2), ("cpus", 1), ("gpus", 0)))
    chosen["threads"] = int(chosen["threads"]) if chosen["threads"] else None
    deployment = serve.deployment(
        serve.ingress()(Replica), name="Replica", num_replicas=int(replicas), max_ongoing_requests=_MOST_REQUESTS,
        ray_actor_options={"num_cpus": cpus, "num_gpus": gpus}, health_check_period_s=_HEALTH_SECONDS,
        max_constructor_retry_count=_TRIES,
        graceful_shutdown_timeout_s=_GOODBYE, graceful_shutdown_wait_loop_s=0.5,
        request_router_config={"request_router_class": "deploy.router.ToItsReplica"},
        logging_config={"enable_access_log": False},  # it would name session hashes and files
    )  # fmt: skip
    return deployment.bind(chosen)


def _stay_here() -> None:
    """Where Ray keeps to this machine, so does the port on which a replica hears other replicas, which Ray opens to all."""
    from ray.serve._private import replica as rays

    opened = getattr(rays, "add_port_to_grpc_server", None)
    if opened is not None and ray.util.get_node_ip_address() == "127.0.0.1":
        rays.add_port_to_grpc_server = lambda server, _: opened(server, "127.0.0.1:0")
