"""Builds the C extensions. Everything else about the package is in pyproject.toml."""

import os
from glob import glob

from setuptools import Extension, setup

# Both drafting backends must draft the same trees, and a token must have the same logits in every pass, so no compiler
# may fuse or reorder floating-point operations.
FLAGS = ["/O2", "/fp:precise"] if os.name == "nt" else ["-O3", "-ffp-contract=off", "-Wall", "-Wextra"]
MATH = [] if os.name == "nt" else ["m"]

drafter = Extension(
    "recap.drafter._core",
    sources=["recap/drafter/_core.c"],
    depends=sorted(glob("recap/drafter/*.h")),
    extra_compile_args=FLAGS,
    libraries=MATH,
    optional=True,  # without a compiler the Python twin does the work
)
passes = Extension(
    "recap.targets.cpu._passes",
    sources=["recap/targets/cpu/_passes.c"],
    depends=sorted(glob("recap/targets/cpu/*.h")),
    extra_compile_args=[*FLAGS, "-pthread"],
    extra_link_args=["-pthread"],
    libraries=MATH,
    optional=True,  # without it torch does the work
)

setup(ext_modules=[drafter] if os.name == "nt" else [drafter, passes])
