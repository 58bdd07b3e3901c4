"""Fixtures shared by all tests, and a guard: nothing here may reach beyond this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["RECAP_LEARN"] = "off"  # what a test measures is not for this machine's later answers

import pytest

from .app_fixtures import address, browser, contexts, page, picture, visit  # noqa: F401

_LOCAL = ("127.", "localhost", "::1", "0.0.0.0")


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Any:
    """Connections of this process to anything but localhost fail."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, to: Any) -> Any:
        if isinstance(to, tuple) and not str(to[0]).startswith(_LOCAL):
            raise OSError(f"a test tried to reach {to[0]}: tests must not need a network")
        return connect(self, to)

    socket.socket.connect = guarded
    yield
    socket.socket.connect = connect


@pytest.fixture(autouse=True)
def one_thread(request: pytest.FixtureRequest) -> Any:
    """Tiny models run on one thread: sharing matrices this small takes longer than multiplying them."""
    if not {"target", "reference", "tiny_folder"} & set(request.fixturenames):
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`tiny_folder(family, **options)`: a tiny model's folder, written once per session."""
    from . import tiny

    written: dict[Any, Path] = {}

    def folder(family: str, **options: Any) -> Path:
        key = (family, *sorted(options.items()))
        if key not in written:
            written[key] = tiny.write(family, tmp_path_factory.mktemp(family) / "model", **options)
        return written[key]

    return folder


@pytest.fixture(scope="session")
def target(tiny_folder: Callable[..., Path]) -> Callable[..., Any]:
    """`target(family, **options)`: the loaded target, float32 on the CPU. Nodes are said to cost next to nothing, so
    that drafts are large on any machine."""
    import recap
    from recap.budget import Learned, PassCosts

    loaded: dict[Any, Any] = {}

    def load(family: str, **options: Any) -> Any:
        key = (family, *sorted(options.items()))
        if key not in loaded:
            loaded[key] = recap.load_target(tiny_folder(family, **options), device="cpu", dtype="float32")
            loaded[key].learned = Learned(PassCosts([1, 96], [1.0, 1.01]), 1e-4)
        return loaded[key]

    return load


@pytest.fixture(scope="session")
def reference(tiny_folder: Callable[..., Path]) -> Callable[..., Any]:
    """`reference(family, **options)`: transformers' own side of the comparison, on its own copy of the model."""
    from .tiny_reference import Reference

    loaded: dict[Any, Any] = {}

    def load(family: str, **options: Any) -> Any:
        key = (family, *sorted(options.items()))
        if key not in loaded:
            loaded[key] = Reference(tiny_folder(family, **options))
        return loaded[key]

    return load
