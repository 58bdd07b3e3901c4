"""The folder of a run: run.json says what was run and where, records.jsonl grows by the records of one input at a time.

A run that was killed goes on with the same configuration: whole inputs are kept, what was written of another is cut off
and asked again, so that no record is lost or doubled.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..files import write

RUN, RECORDS = "run.json", "records.jsonl"
VERSION = 1


class RunFolder:
    """A folder that one process writes at a time. Use it as a context, `open` first.

    Raises ValueError with a sentence when the folder holds a run of another configuration, or something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = FileLock(self.path / ".lock")
        self.run: dict[str, Any] = {}
        self.records: list[dict[str, Any]] = []
        """Those found here, whole inputs only."""

    def __enter__(self) -> RunFolder:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise ValueError(
                f"another process is writing to {str(self.path)!r}; wait for it or choose another --out"
            ) from None
        except OSError as error:
            raise ValueError(f"--out: {str(self.path)!r} cannot be used as a folder ({error.strerror})") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def open(self, configuration: dict[str, Any], about: dict[str, Any], names: Sequence[str]) -> set[tuple[int, str]]:
        """Begin a run, or go on with it: the (repetition, input) pairs that are complete.

        `configuration`: what must be the same, JSON types; `about`: machine, versions, model and whatever else is worth
        keeping; `names`: whose records an input has when it is complete.
        """
        if (self.path / RUN).is_file():
            self.run, records = read(self.path)
            _check_same(self.path, self.run["configuration"], json.loads(json.dumps(configuration)))
            self.records = _whole(records, names)
            write(self.path / RECORDS, "".join(map(_line, self.records)).encode())
            if self.run["ended"] is None:
                again = {"at": _now(), "complete": len(_keys(self.records)), **about}
                self.run["resumed"].append(again)
        elif [one for one in os.listdir(self.path) if one != ".lock"]:
            raise ValueError(f"{str(self.path)!r} holds other files and no run; choose an empty or a new folder")
        else:
            self.run = begun(configuration, about)
            write(self.path / RECORDS, b"")
        self._keep_run()
        return _keys(self.records)

    def append(self, records: Sequence[dict[str, Any]]) -> None:
        """Write the records of one input, and return when they are on the disk."""
        handle = os.open(self.path / RECORDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        with os.fdopen(handle, "wb") as file:
            file.write("".join(map(_line, records)).encode())
            file.flush()
            os.fsync(file.fileno())
        self.records += records

    def end(self, **about: Any) -> None:
        """The run is complete."""
        if self.run["ended"] is None:
            self.run |= ended(about)
            self._keep_run()

    def _keep_run(self) -> None:
        write(self.path / RUN, (json.dumps(self.run, indent=1, ensure_ascii=False) + "\n").encode())


def begun(configuration: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """run.json of a run that begins now."""
    return {"version": VERSION, "configuration": configuration, **about, "started": _now(), "ended": None, "resumed": []}


def ended(about: dict[str, Any]) -> dict[str, Any]:
    """What run.json gets when the run is complete."""
    return {"ended": _now(), **about}


def read(path: str | Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """run.json and all records of a folder; a last line that was cut off is left out.

    Raises ValueError with a sentence for a folder that holds no run, or a damaged one.
    """
    path = Path(path)
    if not (path / RUN).is_file():
        raise ValueError(f"{str(path)!r} holds no {RUN}; name a folder that `bench run` wrote")
    try:
        run = json.loads((path / RUN).read_bytes())
        version = run["version"]
        run["configuration"]["names"], run["ended"], run["resumed"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{str(path / RUN)!r} is damaged, or nothing that `bench run` wrote") from None
    if version != VERSION:
        raise ValueError(f"{str(path)!r} was written by another version ({version}, this one reads {VERSION})")
    lines = (path / RECORDS).read_bytes().split(b"\n") if (path / RECORDS).is_file() else []
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            if line:
                record = json.loads(line)
                record["repeat"], record["id"], record["name"]
                records.append(record)
        except (ValueError, KeyError, TypeError):
            if number < len(lines):  # every whole line ends in "\n", so the last piece is empty or cut off
                raise ValueError(f"{str(path / RECORDS)!r}, line {number} is damaged; remove that line") from None
    return run, records


def _whole(records: list[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Records of inputs of which all are there, or that could not be asked."""
    groups: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record["repeat"], record["id"]].append(record)
    complete = [group for group in groups.values() if not group[0]["name"] or {r["name"] for r in group} >= set(names)]
    return [record for group in complete for record in group]


def _keys(records: Sequence[dict[str, Any]]) -> set[tuple[int, str]]:
    return {(record["repeat"], record["id"]) for record in records}


def _check_same(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    ours, theirs = _flat(here), _flat(there)
    differing = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    if differing:
        name = differing[0]
        raise ValueError(
            f"{str(path)!r} holds a run with another configuration: {name} is {_short(theirs.get(name))} there and "
            f"{_short(ours.get(name))} now; run it as it was, or choose another --out"
        )


def _flat(values: dict[str, Any], above: str = "") -> dict[str, Any]:
    """Nested values under names such as "model dtype"."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{above}{name} ") if isinstance(value, dict) else {above + name: value}
    return flat


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:99] + "…"


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
