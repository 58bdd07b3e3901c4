"""Several replicas of the studio on this machine, one address before them.

    python -m deploy.ray_serve --replicas 2

Ray runs for as long as this does, keeps to this machine, reports to nobody and leaves nothing behind.
"""

from __future__ import annotations

import argparse
import logging
import os
import secrets
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from studio import choosing, uploads
from studio.leaving import at_once, on_signals

ROOT = Path(__file__).parents[1]
FRONT = "deploy.front.middlewares"
_STORE = 100 << 20
"""Bytes of Ray's object store, of which requests and answers hardly use any."""

log = logging.getLogger("studio.replicas")


def arguments() -> argparse.ArgumentParser:
    given = os.environ.get
    parser = argparse.ArgumentParser(
        prog="python -m deploy.ray_serve",
        description="Serve RECAP Studio from several replicas on this machine, with Ray Serve: each visitor stays with one "
        "replica, and one that dies is replaced. Without --threads the replicas share the cores. GRADIO_SERVER_NAME and "
        "GRADIO_SERVER_PORT set the address (127.0.0.1:7860). docs/replicas.md says more, docs/serving.md names the other "
        "variables.",
    )
    parser.add_argument("--replicas", type=int, default=given("REPLICAS") or 2, help="processes that answer, each with the "
                        "model in its memory (default: $REPLICAS, or 2)")  # fmt: skip
    parser.add_argument("--gpus", type=float, default=given("GPUS_PER_REPLICA") or 0, help="GPUs of a replica, in part or "
                        "whole (default: $GPUS_PER_REPLICA, or 0)")  # fmt: skip
    choosing.add(parser)
    return parser


def main() -> None:
    chosen = arguments().parse_args()
    try:
        log_format, limits, watched, port = choosing.settled(chosen)
        if not 1 <= chosen.replicas <= 256:
            raise ValueError(f"--replicas or REPLICAS must be from 1 to 256, got {chosen.replicas}")
        if not 0 <= chosen.gpus <= 64:
            raise ValueError(f"--gpus or GPUS_PER_REPLICA must be from 0 to 64, got {chosen.gpus:g}")
    except ValueError as error:
        raise SystemExit(str(error)) from None
    cores = os.cpu_count() or 1
    chosen.threads = chosen.threads or max(cores // chosen.replicas, 1)
    over, there = threading.Event(), threading.Event()

    def end(*_: Any) -> None:
        on_signals(at_once)  # whoever insists need not wait
        over.set()
        if not there.is_set():  # loading may take minutes
            raise SystemExit(0)

    on_signals(end)
    _alone()
    try:
        import ray
        from ray import serve

        from .replica import application
    except ImportError as error:
        raise SystemExit(f"Ray Serve is not installed ({error}): pip install -r requirements-ray.txt") from None
    uploads.prepare()  # one folder for all replicas: they inherit its variable
    session = Path(tempfile.mkdtemp(prefix="recap-ray-", dir=_short()))
    host, port = os.environ.get("GRADIO_SERVER_NAME") or "127.0.0.1", port or 7860
    quiet = {"encoding": log_format.upper(), "log_level": "INFO" if log_format == "json" else "WARNING", "enable_access_log": False}
    try:
        ray.init(
            "local", include_dashboard=False, num_cpus=chosen.replicas, object_store_memory=_STORE, _temp_dir=str(session),
            logging_level=logging.ERROR, configure_logging=True,
        )  # fmt: skip
        on_signals(end)  # Ray has put a handler of its own there
        serve.start(proxy_location="HeadOnly", http_options={"host": host, "port": port}, logging_config=quiet)
        print(f"{chosen.replicas} replicas load {chosen.model or 'the default model'}.", flush=True)
        serve.run(application(vars(chosen)), name="studio", route_prefix="/", logging_config=quiet)
        there.set()
        print(f"RECAP Studio is at http://{host}:{port}/ with {chosen.replicas} replicas. Ctrl-C ends it.", flush=True)
        log.info("started", extra={"facts": {"replicas": chosen.replicas, "model": chosen.model, **limits.described()}})
        over.wait()
        print("Closing, which takes some seconds.", flush=True)
        serve.shutdown()
    except (RuntimeError, OSError) as error:
        raise SystemExit(f"The replicas cannot start: {error}") from None
    finally:
        ray.shutdown()
        shutil.rmtree(session, ignore_errors=True)
        uploads.discard()


def _alone() -> None:
    """Settings of Ray's that are read when it is imported, here and by every process that it starts."""
    usual = {
        "RAY_USAGE_STATS_ENABLED": "0",  # it reports to its maker otherwise
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # a cluster of this machine alone, so that it listens on 127.0.0.1
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32),  # who has no token of this run is not heard
        "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": FRONT,
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # without --gpus nothing is said of them
        "RAY_worker_niceness": "0",  # Ray's workers stand back behind everything else otherwise
        "RAY_DEDUP_LOGS": "0",
    }  # fmt: skip
    os.environ.update(usual)
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    sys.path[:0] = [str(ROOT)]


def _short() -> str | None:
    """Where Ray's folder goes: sockets in it may have 107 characters with their path, of which Ray takes some 60."""
    usual = tempfile.gettempdir()
    return usual if len(usual) <= 30 or not os.path.isdir("/tmp") else "/tmp"


if __name__ == "__main__":
    main()
