"""`python -m tests.start_timing`: seconds from `python app.py` to a page that answers and a model that is ready.

Processor seconds are those of the app until then. The machine's load says how much of the wall time is other programs'.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from .app_fixtures import ROOT

PATIENCE = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.start_timing", description=__doc__)
    parser.add_argument("--turns", type=int, default=3, help="(default: %(default)s)")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n{'turn':>4s}{'page s':>9s}{'ready s':>9s}{'CPU s':>9s}")
    for turn in range(1, options.turns + 1):
        page, ready, cpu = started()
        print(f"{turn:4d}{page:9.1f}{ready:9.1f}{cpu:9.1f}", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def started() -> tuple[float, float, float]:
    """Seconds until /healthz answers and until it says ready, and the app's processor seconds until it was ended then."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "GRADIO_SERVER_PORT": str(port), "GRADIO_SERVER_NAME": "127.0.0.1"}
    before, begun, page = _children(), time.perf_counter(), 0.0
    app = subprocess.Popen([sys.executable, "app.py"], cwd=ROOT, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while (now := time.perf_counter() - begun) < PATIENCE and app.poll() is None:
            status = _status(port)
            page = page or (time.perf_counter() - begun if status else 0.0)
            if status == "ready":
                ready = time.perf_counter() - begun
                break
            time.sleep(0.05)
        else:
            raise SystemExit(f"the app was not ready after {now:.0f} s; run `python app.py` to see why")
    finally:
        app.kill()
        app.wait()
    return page, ready, _children() - before


def _status(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as reply:
            return json.load(reply)["status"]
    except (OSError, urllib.error.URLError):
        return ""


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
