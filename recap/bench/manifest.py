"""A benchmark's inputs: a JSONL manifest, or a folder as MMSpec has it (mmspec.jsonl and images/).

A line holds "prompt", or "turns" that are asked one after another, and may hold "id", "category" and pictures under
"image" (a path) or "images" (a list of paths). Paths are beside the file or in images/ there. MMSpec names its six
categories "topic", which is taken first; other keys, such as answers, are of no interest here.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

DEFAULT = Path(__file__).parents[2] / "assets" / "bench" / "manifest.jsonl"
"""The inputs that come with the project."""
NAMES = ("mmspec.jsonl", "manifest.jsonl")
"""What a folder's manifest is called."""


@dataclass(frozen=True)
class Input:
    """What is asked of every method: `turns` in one conversation, the pictures with the first of them."""

    id: str
    category: str
    turns: tuple[str, ...]
    images: tuple[str, ...] = ()
    """Paths."""


class Manifest(NamedTuple):
    """`inputs` with different ids, in the order of the file, and a sentence for every line that gave none."""

    path: Path
    inputs: list[Input]
    problems: list[str]


def read(path: str | Path, inside: Path | None = None) -> Manifest:
    """A manifest, or the one inside a folder. A line that cannot be used is left out and told in `problems`. `inside`: the
    folder that pictures must be in, for manifests that strangers wrote.

    Raises ValueError with a sentence when there is no such file, or nothing in it can be used.
    """
    path = locate(Path(path))
    inputs: dict[str, Input] = {}
    problems: list[str] = []
    for number, line in enumerate(path.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            one = _input(json.loads(line), number, path.parent, inside)
            if one.id in inputs:
                raise ValueError(f"another line before it has the id {one.id!r} too; give each input an id of its own")
            inputs[one.id] = one
        except (ValueError, RecursionError) as error:
            problems.append(f"{path.name}, line {number} is left out: {_sentence(error)}")
    if not inputs:
        first = f" ({problems[0]})" if problems else ""
        raise ValueError(
            f'{str(path)!r} holds no input; a line is {{"prompt": text}} or {{"turns": [text, ...]}}{first}'
        )
    return Manifest(path, list(inputs.values()), problems)


def locate(path: Path) -> Path:
    """The file that is meant. Raises ValueError when there is none, or more than one could be."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise ValueError(f"there is no file or folder {str(path)!r}")
    for name in NAMES:
        if (path / name).is_file():
            return path / name
    found = sorted(path.glob("*.jsonl"))
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{str(path)!r} holds {len(found)} JSONL files; name one of them, such as {found[0].name}")
    below = sorted(one.parent.name for name in NAMES for one in path.glob(f"*/{name}"))
    hint = f"; one of its folders may be meant: {', '.join(below)}" if below else ""
    raise ValueError(f"{str(path)!r} holds no {' or '.join(NAMES)}{hint}")


def select(inputs: Sequence[Input], limit: int | None = None, seed: int | None = None) -> list[Input]:
    """At most `limit` inputs, as evenly over the categories as they allow, in the order of the file; shuffled first
    with a seed."""
    chosen = list(inputs)
    if seed is not None:
        Random(seed).shuffle(chosen)
    if limit is None or limit >= len(chosen):
        return chosen
    groups: dict[str, list[Input]] = defaultdict(list)
    for one in chosen:
        groups[one.category].append(one)
    in_turn = [one for row in zip_longest(*groups.values()) for one in row if one is not None]
    kept = {one.id for one in in_turn[:limit]}
    return [one for one in chosen if one.id in kept]


def fingerprint(inputs: Iterable[Input]) -> str:
    """Twelve hex digits that change with any text, order, category or picture file of these inputs."""
    whole = hashlib.sha256()
    seen: dict[str, str] = {}
    for one in inputs:
        for name in one.images:
            if name not in seen:
                seen[name] = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        whole.update(json.dumps([one.id, one.category, one.turns, [seen[name] for name in one.images]]).encode())
    return whole.hexdigest()[:12]


def marks(one: Input) -> set[str]:
    """By which an input is known again without its words: a hash of each picture, or of the words where there is none."""
    if one.images:
        return {hashlib.sha256(Path(name).read_bytes()).hexdigest()[:16] for name in one.images}
    return {hashlib.sha256(json.dumps(one.turns).encode()).hexdigest()[:16]}


def _input(raw: Any, number: int, folder: Path, inside: Path | None) -> Input:
    """Raises ValueError with what is wrong."""
    if not isinstance(raw, dict):
        raise ValueError(f'expected an object such as {{"prompt": "..."}}, got {str(raw)[:40]}')
    turns = raw["turns"] if raw.get("turns") else raw.get("prompt")
    turns = [turns] if isinstance(turns, str) else turns
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) and turn.strip() for turn in turns):
        raise ValueError('it needs "prompt", a text, or "turns", a list of texts, and none of them empty')
    name = raw.get("id", number)
    if not isinstance(name, (str, int)) or isinstance(name, bool) or not str(name).strip():
        raise ValueError(f'"id" must be a text or a number, got {str(name)[:40]}')
    category = raw.get("topic") or raw.get("category") or ""
    if not isinstance(category, str):
        raise ValueError(f'"category" must be a text, got {str(category)[:40]}')
    given = raw.get("images", raw.get("image"))
    given = [] if given is None or given == "" else [given] if isinstance(given, str) else given
    if not isinstance(given, list) or not all(
        isinstance(image, str) and image and "\0" not in image for image in given
    ):
        raise ValueError('"image" must be a path, "images" a list of paths')
    try:
        "".join([*turns, str(name), category, *given]).encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half of a surrogate pair, which is no Unicode text") from None
    return Input(str(name), category, tuple(turns), tuple(_picture(folder, image, inside) for image in given))


def _picture(folder: Path, name: str, inside: Path | None) -> str:
    for place in (folder / name, folder / "images" / name):
        try:
            if (inside is None or place.resolve().is_relative_to(inside.resolve())) and place.is_file():
                return str(place)
        except OSError:  # a name that no file can have
            continue
    raise ValueError(f"there is no picture {name!r} beside the file or in images/")


def _sentence(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON ({error.msg} at character {error.colno})"
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
