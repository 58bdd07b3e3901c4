"""The C core compiled with warnings as errors, and run under the address and undefined-behaviour sanitizers,
with random streams, hostile calls and every allocation failing in turn."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "recap" / "drafter" / "_core.c"
STRICT = ["-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-fPIC", "-shared"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1"]
FAULTS = ["-include", str(Path(__file__).parent / "sanitize" / "fault.h")]


def build(compiler: str, flags: list[str], folder: Path) -> subprocess.CompletedProcess:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    headers = sysconfig.get_paths()["include"]
    if not Path(headers, "Python.h").exists():
        pytest.skip("this Python has no C headers")
    command = [compiler, *STRICT, *flags, f"-I{headers}", str(SOURCE), "-lm", "-o", str(folder / "_core.so")]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler, tmp_path):
    done = build(compiler, ["-O3", "-Wshadow", "-Wstrict-prototypes", "-Wundef"], tmp_path)
    assert done.returncode == 0, done.stderr


def test_random_streams_under_sanitizers(tmp_path):
    done = build("gcc", SANITIZERS + FAULTS, tmp_path)
    if "unrecognized" in done.stderr or "cannot find" in done.stderr:
        pytest.skip(f"gcc has no sanitizers: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    if not all(Path(library).is_absolute() for library in libraries):
        pytest.skip(f"gcc has no sanitizer libraries: {libraries}")
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",  # the interpreter keeps memory on purpose
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # so that overruns of Python's own buffers are seen
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "tests.sanitize.stream", str(tmp_path / "_core.so"), "0", "60"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("60 streams, ")
