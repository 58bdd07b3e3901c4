"""Builds the C core of the drafter. Everything else about the package is in pyproject.toml."""

import os
from glob import glob

from setuptools import Extension, setup

# Both backends must draft the same trees, so no compiler may fuse or reorder floating-point operations.
FLAGS = ["/O2", "/fp:precise"] if os.name == "nt" else ["-O3", "-ffp-contract=off", "-Wall", "-Wextra"]

setup(
    ext_modules=[
        Extension(
            "recap.drafter._core",
            sources=["recap/drafter/_core.c"],
            depends=sorted(glob("recap/drafter/*.h")),
            extra_compile_args=FLAGS,
            libraries=[] if os.name == "nt" else ["m"],
            optional=True,  # without a compiler the Python twin does the work
        )
    ]
)
