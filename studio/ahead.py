"""torch's largest library, loaded into the process on another core while the first imports go on."""

from __future__ import annotations

import ctypes
import importlib.util
import threading
from pathlib import Path

_NOW = 2
"""dlopen's RTLD_NOW, without RTLD_GLOBAL: `import torch` itself decides what others see of it."""


def load_torch_library() -> threading.Thread | None:
    """Begin to load libtorch_cpu, whose 400 MB take a fifth of torch's import to be put in place. `import torch` finds it there,
    or waits for it.

    By the C library's own dlopen, which leaves Python to the other threads; an extension's import and ctypes.CDLL keep it.
    None, with nothing begun, where there is no such library or dlopen, and for torch with CUDA, whose import looks for
    libraries of other packages first.
    """
    spec = importlib.util.find_spec("torch")
    places = spec.submodule_search_locations if spec is not None else None
    folder = Path(places[0], "lib") if places else Path()
    library = folder / "libtorch_cpu.so"
    if not library.is_file() or any((folder / f"libtorch_{kind}.so").is_file() for kind in ("cuda", "hip", "xpu")):
        return None
    try:
        dlopen = ctypes.CDLL(None).dlopen
    except (OSError, AttributeError, TypeError):
        return None
    dlopen.argtypes, dlopen.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
    thread = threading.Thread(target=dlopen, args=(bytes(library), _NOW), name="torch library", daemon=True)
    thread.start()
    return thread
