"""The first seconds of the app: what was asked for is settled and the model begins to load, before gradio is imported.

Imports are one thread's work, so the packages that load the model come first, in the thread that imports gradio then;
reading weights beside it costs no time. Two threads that import packages with a common part would risk both. Nothing of
weight is imported before the command line and the environment are known to make sense.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import recap

from . import choosing
from .leaving import before_anything, on_signals
from .limits import Limits

if TYPE_CHECKING:
    from .metrics import Metrics
    from .worker import Worker

_USUAL_TURN = sys.getswitchinterval()
_SHORT_TURN = 0.0005
"""Seconds that an import keeps Python from the thread that loads the model. That thread asks for its turn after every
operation of torch, some thousand times: with the usual 5 ms, it had a third of a core."""


class Opening(NamedTuple):
    """What was asked for, and the worker whose model is loading."""

    chosen: argparse.Namespace
    log_format: str
    limits: Limits
    watched: bool | str
    port: int | None
    metrics: Metrics
    worker: Worker


def begin(arguments: Sequence[str] | None = None) -> Opening:
    """Read the command line and the environment, and begin to load. A mistake ends the program with a sentence."""
    parser = argparse.ArgumentParser(
        description="Open RECAP Studio in the browser. GRADIO_SERVER_NAME and GRADIO_SERVER_PORT set the address "
        "(127.0.0.1, and 7860 or the next free port); RECAP_READER=plain takes the built-in model as published; "
        "docs/serving.md names the other variables."
    )
    choosing.add(parser)
    chosen = parser.parse_args(arguments)
    try:
        log_format, limits, watched, port = choosing.settled(chosen)
        if not chosen.model:
            from recap.targets.loading import default_model

            chosen.model = default_model()
        return Opening(chosen, log_format, limits, watched, port, *loading(chosen, limits))
    except ValueError as error:
        raise SystemExit(str(error)) from None


def loading(chosen: argparse.Namespace, limits: Limits) -> tuple[Metrics, Worker]:
    """A worker that loads the model that was chosen. Raises ValueError for a file of warm rows that cannot be used."""
    from recap.targets.loading import import_for

    from .metrics import Metrics
    from .worker import Worker

    warm = _warm(chosen.warm)

    def load() -> Any:
        try:
            target = recap.load_target(
                chosen.model, device=chosen.device, dtype=chosen.dtype, threads=chosen.threads, progress=worker.tell
            )
            if warm is not None:
                warm.require(target.model, target.name, target.runtime.vocabulary)
                worker.warm = warm
            target.warm_up(worker.tell)
        finally:
            long_lived()
        return target

    metrics = Metrics()
    worker = Worker(load, limits, metrics.ended)
    import_for(chosen.model)
    worker.start()
    return metrics, worker


def _warm(path: str | None) -> recap.WarmMemory | None:
    """The operator's rows for every visitor. Raises ValueError with a sentence that names the variable."""
    if path is None:
        return None
    from .settings import DEFAULT

    try:
        memory = recap.WarmMemory.load(path)
        memory.require_rows(DEFAULT)
    except ValueError as error:
        raise ValueError(f"--warm or WARM_MEMORY: {error}") from None
    return memory


def long_lived() -> None:
    """What is loaded by now stays: the collector of garbage need not look through it again, which takes 0.4 s each time, in
    which no token comes and no view. If it rested (`hurried`), it works from now on."""
    gc.freeze()
    gc.enable()
    sys.setswitchinterval(_USUAL_TURN)


def hurried() -> None:
    """Start faster: no garbage is collected until `long_lived`, and gradio writes no stubs. A signal ends it meanwhile."""
    on_signals(before_anything)
    gc.disable()
    sys.setswitchinterval(_SHORT_TURN)
    sys.meta_path.insert(0, _WithoutStubs())


class _WithoutStubs(MetaPathFinder):
    """gradio parses its own sources and writes a stub for editors beside each component's file whenever it is imported,
    for two seconds, and replicas that share the files all at once. Here nobody edits."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "gradio.component_meta":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_without(module: ModuleType) -> None:
            run(module)
            module.create_or_modify_pyi = lambda *_: None

        spec.loader.exec_module = run_without
        return spec
