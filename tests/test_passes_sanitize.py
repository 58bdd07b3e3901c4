"""The compiled passes with warnings as errors; under the address, undefined-behaviour, leak and thread sanitizers, with
random models, hostile calls and every allocation failing in turn."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "recap" / "targets" / "cpu"
HARNESS = ROOT / "tests" / "sanitize"
STRICT = ["-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-pthread"]
CHECKED = ["-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1"]
FAULTS = ["-include", str(HARNESS / "fault.h")]
NEEDS = ("x86_64", "aarch64", "arm64")


def compile_with(compiler: str, *arguments: object) -> None:
    """Skips where the compiler or its sanitizers are missing; a warning is a failure."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    done = subprocess.run([compiler, *STRICT, *map(str, arguments), "-lm"], capture_output=True, text=True)
    if "unrecognized" in done.stderr or "cannot find" in done.stderr:
        pytest.skip(f"{compiler} has no sanitizers: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr


def headers() -> str:
    folder = sysconfig.get_paths()["include"]
    if not Path(folder, "Python.h").exists():
        pytest.skip("this Python has no C headers")
    return f"-I{folder}"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler, tmp_path):
    flags = ["-O3", "-Wshadow", "-Wstrict-prototypes", "-Wundef", "-fPIC", "-shared", headers()]
    compile_with(compiler, *flags, FOLDER / "_passes.c", "-o", tmp_path / "_passes.so")


def test_wide_vectors_without_their_instructions(tmp_path):
    """The layout of 16 lanes, as AVX-512 has it, on any machine: the same harness, the same bits in every pass."""
    flags = ["-O2", "-Wno-psabi", "-DPORTABLE_LANES=16", f"-I{FOLDER}"]
    compile_with("gcc", *flags, HARNESS / "passes.c", "-o", tmp_path / "passes")
    assert run([tmp_path / "passes"]) == "48 trees\n"


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_kernels_under_sanitizers(sanitizer, tmp_path):
    """Leaks included: without an interpreter around, nothing may be left."""
    flags = [f"-fsanitize={sanitizer}", *CHECKED, f"-I{FOLDER}"]
    compile_with("gcc", *flags, HARNESS / "passes.c", "-o", tmp_path / "passes")
    assert run([tmp_path / "passes"]) == "48 trees\n"


def test_python_under_sanitizers(tmp_path):
    flags = ["-fsanitize=address,undefined", *CHECKED, *FAULTS, "-fPIC", "-shared", headers()]
    compile_with("gcc", *flags, FOLDER / "_passes.c", "-o", tmp_path / "_passes.so")
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    if not all(Path(library).is_absolute() for library in libraries):
        pytest.skip(f"gcc has no sanitizer libraries: {libraries}")
    said = run(
        [sys.executable, "-m", "tests.sanitize.passes_stream", tmp_path / "_passes.so", "4"],
        LD_PRELOAD=" ".join(libraries),
        ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0",  # the interpreter keeps memory on purpose
        PYTHONMALLOC="malloc",  # so that overruns of Python's own buffers are seen
        OPENBLAS_NUM_THREADS="1",
    )
    assert said.startswith("4 models, ")


def run(command: list, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
