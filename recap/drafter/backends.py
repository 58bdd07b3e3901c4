"""Which core does the work: the C extension or its Python twin."""

from __future__ import annotations

BACKENDS = ("auto", "c", "python")


def load_core(backend: str) -> type:
    """The core's class. Raises ValueError for a name that is not in BACKENDS, ImportError for "c" where it is not built."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend != "python":
        try:
            from .compiled import Core

            return Core
        except ImportError as error:
            if backend == "c":
                raise ImportError(
                    "the C core of recap.drafter is not built; install a C compiler and run `pip install -e .` "
                    f"(or `python setup.py build_ext --inplace`), or use backend='python' ({error})"
                ) from error
    from .reference import Core

    return Core
