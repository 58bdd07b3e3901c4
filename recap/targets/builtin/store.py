"""Where fetched files live, and how they get there whole: lock, room, temporary folder, manifest, one rename."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from ...folders import cache_folder  # noqa: F401

MANIFEST = "manifest.json"
_SMALL = 8_000_000  # files up to this many bytes are hashed at every check: milliseconds
_PARTIAL = ".partial-"
_PART = 1 << 24

Progress = Callable[[str, "float | None"], None]
"""Called with what is being done and the fraction finished (None: unknown)."""


class AssetError(RuntimeError):
    """The built-in model's files could not be had; the message says why and what to do."""


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    state = hashlib.sha256()
    with path.open("rb") as stream:
        # in large parts: after each of them the thread waits for its turn, which while others import is long
        while block := stream.read(_PART):
            state.update(block)
    return state.hexdigest()


def fault(folder: Path, full: bool = False) -> str | None:
    """What is wrong with a stored folder, None if nothing is. Sizes are always compared; hashes of small files too,
    of all files where `full`."""
    try:
        files = json.loads((folder / MANIFEST).read_text("utf-8"))["files"]
        for name, (size, digest) in files.items():
            path = folder / name
            found = path.stat().st_size
            if found != size:
                return f"{name} has {found:,} bytes instead of {size:,}"
            if (full or size <= _SMALL) and sha256(path) != digest:
                return f"the content of {name} has changed (sha256)"
    except FileNotFoundError as error:
        return f"{Path(error.filename).name} is missing"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return f"it could not be read ({error})"
    return None


@contextmanager
def locked(cache: Path, progress: Progress) -> Iterator[None]:
    """One process at a time may write to the cache; the others wait and say so. Removes what killed ones left."""
    with explained(cache):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=cache):
            pass  # where nothing can be written, a lock would be waited for without end
        lock = FileLock(cache / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress(f"Waiting for another process that is filling {cache}", None)
            lock.acquire()
    try:
        for leftover in cache.glob(_PARTIAL + "*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        lock.release()


@contextmanager
def workplace(cache: Path) -> Iterator[Path]:
    """A temporary folder in the cache's own file system, so that a rename moves the result; removed at the end."""
    with explained(cache):
        folder = Path(tempfile.mkdtemp(prefix=_PARTIAL, dir=cache))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def require_room(cache: Path, needed: int) -> None:
    """Raises AssetError unless `needed` bytes are free."""
    free = shutil.disk_usage(cache).free
    if free < needed:
        raise AssetError(
            f"The disk of {cache} has {free / 1e6:,.0f} MB free and {needed / 1e6:,.0f} MB are needed. "
            "Free some space, or set RECAP_CACHE to a folder on a larger disk, and try again."
        )


def publish(folder: Path, place: Path) -> None:
    """Write the manifest, force everything to the disk, and put `folder` where `place` is, replacing what is there."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    listing = {path.relative_to(folder).as_posix(): (path.stat().st_size, sha256(path)) for path in files}
    manifest = folder / MANIFEST
    manifest.write_text(json.dumps({"files": listing}, indent=1), "utf-8")
    for path in (*files, manifest):
        path.chmod(manifest.stat().st_mode)  # safetensors writes for its owner alone; a shared cache is read by others
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
    if place.exists():
        os.replace(place, folder.parent / "replaced")
    os.replace(folder, place)


@contextmanager
def explained(cache: Path) -> Iterator[None]:
    """Turn a full disk or a forbidden folder into a sentence."""
    try:
        yield
    except AssetError:
        raise
    except Exception as error:  # safetensors wraps the system's error in one of its own
        code = getattr(error, "errno", None)
        if code in (errno.ENOSPC, errno.EDQUOT) or disk_full(str(error)):
            raise AssetError(
                f"The disk of {cache} is full. Free some space, or set RECAP_CACHE to a folder on a larger disk, "
                "and try again; nothing half-written was kept."
            ) from error
        if code in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST):
            raise AssetError(
                f"{cache} cannot be written ({error}). Set RECAP_CACHE to a folder of your own and try again."
            ) from error
        raise


def disk_full(text: str) -> bool:
    """Whether a message of another program speaks of a full disk."""
    signs = ("no space left", "os error 28", "errno 28", "disk quota exceeded", "os error 112")
    return any(sign in text.lower() for sign in signs)
