"""Traces as JSON: an exact round trip, and one sentence for anything that is not a whole trace.

A loaded trace can be trusted: every index points somewhere, lists that belong together are equally long, parents come
before children, and every number is finite. The pictures rely on that.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zlib
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from .config import MAX_NODES, SUFFIX_REACH
from .trace import MEMORY, ROOT, SUFFIX, VERSION, Comparison, Lens, Row, RowTable, Step, Trace

MAX_BYTES = 64 * 2**20
"""Size of the largest trace that `load` accepts."""
MAX_NESTING = 32
"""How deep the free-form parts (config, what a front end saw) may be nested."""
MAX_ITEMS = 20_000
"""How many values one free-form part may hold."""
MOST_NODES = 1 + MAX_NODES + SUFFIX_REACH
"""Nodes of the largest pass that any configuration allows."""

Check = Callable[[Any, str], Any]
"""Takes a JSON value and its place in the file; gives the checked value back or raises TraceError."""


class TraceError(ValueError):
    """The text is not a whole trace of a version this program reads. The message is one sentence fit to be shown."""


def dump(trace: Trace) -> str:
    """One compact line of JSON, ASCII only. Raises TraceError for NaN and for what JSON has no word for."""
    table = trace.table
    document = {
        **_plain(trace, skip=("table", "steps", "comparison", "lens")),
        "table": {
            "rows": [[row.ids, row.probs, row.confidence] for row in table.rows],
            "texts": {str(token): text for token, text in table.texts.items()},
        },
        "steps": [_plain(step, skip=("table",)) for step in trace.steps],
        "comparison": None if trace.comparison is None else _plain(trace.comparison),
        "lens": None if trace.lens is None else _plain(trace.lens),
    }
    try:
        return json.dumps(document, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise TraceError(f"this trace cannot be written as JSON: {error}") from None


def load(text: str | bytes) -> Trace:
    """The inverse of `dump`: `load(dump(trace)) == trace`. All steps share the trace's row table.

    Raises TraceError, and nothing else, for any text or bytes that are not a trace this version reads.
    """
    document = _parse(text)
    if not isinstance(document, dict) or "version" not in document or "steps" not in document:
        raise TraceError("this JSON is not a RECAP trace: it has no version and no steps")
    version = _integer(1)(document["version"], "version")
    if version > VERSION:
        raise TraceError(
            f"this trace was written by a newer version of RECAP (format {version}; this program reads up to {VERSION})"
        )
    if version < VERSION:
        document = _upgrade(document)
    values = _TRACE(document, "trace")
    rows = values["table"].rows
    steps = [_step(step, f"steps[{at}]", values["table"], len(rows)) for at, step in enumerate(values["steps"])]
    if values["lens"] is not None:
        values["lens"] = _lens(values["lens"], len(values["token_ids"]))
    return Trace(**{**values, "steps": steps})


def read_trace(path: str | Path) -> Trace:
    """The trace in a file, JSON or gzip of it, told by its first bytes. Never unpacks more than `MAX_BYTES`.

    Raises TraceError for content that is no trace, OSError for a file that cannot be read.
    """
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            content = (gzip.GzipFile(fileobj=file) if packed else file).read(MAX_BYTES + 1)
        except (gzip.BadGzipFile, zlib.error):
            raise TraceError("this gzip file is damaged, so no trace can be read from it") from None
        except EOFError:
            raise TraceError("this gzip file ends too early; it was probably cut off") from None
    return load(content)


def _upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """Version 1 told nothing of what a budget expected, nor of seeding, nor why an answer was exact or not; version 2
    nothing of which tokens need the picture."""
    untold = dict.fromkeys(("expected_tokens", "expected_ms", "plain_ms"))
    steps = document["steps"]
    if isinstance(steps, list):
        steps = [{**untold, **step} if isinstance(step, dict) else step for step in steps]
    return {"seeded_rows": None, "exactness": "", "lens": None, **document, "steps": steps, "version": VERSION}


def _plain(record: Any, skip: tuple[str, ...] = ()) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name not in skip}


def _parse(text: str | bytes) -> Any:
    if len(text) > MAX_BYTES:
        raise TraceError(f"this file is larger than {MAX_BYTES // 2**20} MiB, the most a trace may have")
    try:
        if not isinstance(text, str):
            text = bytes(text).decode("utf-8")
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_no_constant, parse_float=_finite)
    except TraceError:
        raise
    except UnicodeDecodeError:
        raise TraceError("this file is not text in UTF-8, so it is not a trace") from None
    except RecursionError:
        raise TraceError("this JSON is nested too deeply to be a trace") from None
    except json.JSONDecodeError as error:
        if not text.strip():
            raise TraceError("this file is empty; a trace is one JSON object") from None
        if error.pos >= len(text.rstrip()) or "Unterminated" in error.msg:
            raise TraceError("this JSON ends too early; the file was probably cut off") from None
        raise TraceError(f"this is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:  # a whole number of thousands of digits
        raise TraceError(f"this JSON holds a number that no trace can hold: {error}") from None


def _no_constant(name: str) -> float:
    raise TraceError(f"this JSON holds {name}; every number of a trace is finite")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise TraceError(f"this JSON holds {digits[:20]}, which is too large; every number of a trace is finite")
    return value


# The schema: each function below makes a Check.


def _wrong(where: str, expected: str, value: Any) -> TraceError:
    found = {dict: "an object", list: "a list", type(None): "null"}.get(type(value)) or json.dumps(value)
    return TraceError(f"this trace is damaged: {where} must be {expected}, found {found[:40]}")


def _integer(low: int, high: int = 2**63 - 1) -> Check:
    def check(value: Any, where: str) -> int:
        if type(value) is not int or not low <= value <= high:
            limits = f"from {low} to {high}" if high < 2**63 - 1 else f"of at least {low}"
            raise _wrong(where, f"a whole number {limits}", value)
        return value

    return check


_MOST = 1e12
"""Times, scores, weights: nothing real comes near it, and more could not be drawn."""


def _number(low: float = 0.0, high: float = _MOST) -> Check:
    def check(value: Any, where: str) -> float:
        if type(value) is int and abs(value) < 2**53:
            value = float(value)
        if type(value) is not float or not low <= value <= high:
            beyond = type(value) is float and value > high
            limits = "of 0 or more" if high == _MOST and not beyond else f"from {low:g} to {high:.0f}"
            raise _wrong(where, f"a number {limits}", value)
        return value

    return check


def _is(kind: type, expected: str) -> Check:
    def check(value: Any, where: str) -> Any:
        if type(value) is not kind:
            raise _wrong(where, expected, value)
        return value

    return check


def _one_of(*choices: str) -> Check:
    def check(value: Any, where: str) -> str:
        if value not in choices:
            raise _wrong(where, "one of " + ", ".join(repr(choice) for choice in choices), value)
        return value

    return check


def _optional(inner: Check) -> Check:
    return lambda value, where: None if value is None else inner(value, where)


def _list(inner: Check, length: int | None = None, least: int = 0) -> Check:
    def check(value: Any, where: str) -> list:
        if type(value) is not list:
            raise _wrong(where, "a list", value)
        if len(value) < least or (length is not None and len(value) != length):
            wanted = f"exactly {length}" if length is not None else f"at least {least}"
            raise TraceError(f"this trace is damaged: {where} must hold {wanted} entries, found {len(value)}")
        return [inner(item, f"{where}[{at}]") for at, item in enumerate(value)]

    return check


def _mapping(inner: Check) -> Check:
    def check(value: Any, where: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise _wrong(where, "an object", value)
        return {key: inner(item, f"{where}.{key[:40]}") for key, item in value.items()}

    return check


def _object(**schema: Check) -> Check:
    def check(value: Any, where: str) -> dict[str, Any]:
        if type(value) is not dict:
            raise _wrong(where, "an object", value)
        missing = [name for name in schema if name not in value]
        unknown = [name for name in value if name not in schema]
        if missing:
            raise TraceError(f"this trace is damaged: {where} lacks {', '.join(missing)}")
        if unknown:
            raise TraceError(f"this is no trace of version {VERSION}: {where} has an unknown field {unknown[0][:40]!r}")
        prefix = "" if where == "trace" else f"{where}."
        return {name: inner(value[name], prefix + name) for name, inner in schema.items()}

    return check


def _later(value: Any, where: str) -> Any:
    """What another check looks at, once more is known."""
    return value


def _bounded(inner: Check) -> Check:
    """A free-form part, neither nested deeply nor large: it is kept as it is, whatever it says."""

    def check(value: Any, where: str) -> Any:
        level, held = [value], 0
        for _ in range(MAX_NESTING + 2):
            level = [
                item
                for one in level
                if isinstance(one, (dict, list))
                for item in (one.values() if isinstance(one, dict) else one)
            ]
            held += len(level)
            if held > MAX_ITEMS:
                raise TraceError(f"this trace is damaged: {where} holds more than {MAX_ITEMS} values")
            if not level:
                return inner(value, where)
        raise TraceError(f"this trace is damaged: {where} is nested too deeply")

    return check


def _row(value: Any, where: str) -> Row:
    ids, probs, confidence = _list(_later, 3)(value, where)
    ids = _list(_token, least=1)(ids, f"{where} ids")
    probs = _list(_share, len(ids))(probs, f"{where} probabilities")
    return Row(tuple(ids), tuple(probs), _share(confidence, f"{where} confidence"))


def _table(value: Any, where: str) -> RowTable:
    table = _object(rows=_list(_row), texts=_mapping(_text))(value, where)
    for key in table["texts"]:
        if not re.fullmatch(r"0|[1-9][0-9]{0,17}", key):
            raise TraceError(f"this trace is damaged: {where}.texts has the key {key[:40]!r}, which is no token id")
    return RowTable(table["rows"], {int(key): text for key, text in table["texts"].items()})


def _message(value: Any, where: str) -> dict[str, str]:
    message = _mapping(_text)(value, where)
    if not {"role", "content"} <= message.keys():
        raise TraceError(f"this trace is damaged: {where} must have a role and a content")
    return message


_token = _integer(0)
_share = _number(0.0, 1.0 + 1e-6)
_positive = _number()
_text = _is(str, "text")
_flag = _is(bool, "true or false")
_triple = _list(_share, 3)

_TRACE = _object(
    model=_text,
    device=_text,
    dtype=_text,
    exact=_flag,
    backend=_text,
    method=_text,
    config=_bounded(_mapping(_later)),
    messages=_bounded(_list(_message)),
    pictures=_bounded(_list(_mapping(_later))),
    prompt_tokens=_integer(0),
    cached_tokens=_integer(0),
    max_new_tokens=_integer(0),
    temperature=_positive,
    seed=_optional(_integer(-(2**63), 2**64)),
    created=_text,
    versions=_bounded(_mapping(_text)),
    table=_table,
    steps=_list(_later),
    token_ids=_list(_token),
    text=_text,
    finish_reason=_one_of("", "stop", "length", "cancelled"),
    encode_seconds=_positive,
    prefill_seconds=_positive,
    decode_seconds=_positive,
    seeded_rows=_optional(_integer(0)),
    exactness=_text,
    comparison=_optional(
        lambda value, where: Comparison(
            **_object(
                token_ids=_list(_token),
                text=_text,
                encode_seconds=_positive,
                prefill_seconds=_positive,
                decode_seconds=_positive,
                first_difference=_optional(_integer(0)),
            )(value, where)
        )
    ),
    lens=_optional(_later),
    version=_integer(1, VERSION),
)


def _lens(value: Any, tokens: int) -> Lens:
    """Every list as long as the answer, one of them per control."""
    names = _list(_one_of("mean", "other"), least=1)
    controls = names(value.get("controls") if isinstance(value, dict) else value, "lens.controls")
    some, probs = _list(_token, tokens), _list(_share, tokens)
    swapped, shares = _list(some, len(controls)), _list(probs, len(controls))
    return Lens(
        **_object(
            controls=names, choices=some, probs=probs, swapped=swapped, kept=shares,
            taken=shares,
        )(value, "lens")
    )


def _step(value: Any, where: str, table: RowTable, rows: int) -> Step:
    n = len(_list(_later, least=1)(value.get("tokens") if isinstance(value, dict) else value, f"{where}.tokens"))
    if n > MOST_NODES:
        raise TraceError(f"this trace is damaged: {where} has {n} nodes; a pass has at most {MOST_NODES}")
    row_or_none = _integer(-1, rows - 1)
    checked = _object(
        index=_integer(0),
        prefix_length=_integer(0),
        max_nodes=_integer(0),
        suffix_tokens=_integer(0),
        tokens=_list(_token, n),
        parents=_list(_integer(-1, n - 1), n),
        depths=_list(_integer(0, n - 1), n),
        scores=_list(_positive, n),
        origins=_list(_one_of(ROOT, MEMORY, SUFFIX), n),
        weights=_list(_triple, n),
        shares=_list(_triple, n),
        rows=_list(_list(row_or_none, 3), n),
        fused=_list(row_or_none, n),
        target=_list(row_or_none, n),
        choices=_list(_integer(-1), n),
        accepted=_list(_flag, n),
        committed=_list(_token),
        draft_ms=_positive,
        verify_ms=_positive,
        update_ms=_positive,
        sizes=_mapping(_integer(0)),
        expected_tokens=_optional(_positive),
        expected_ms=_optional(_positive),
        plain_ms=_optional(_positive),
    )(value, where)
    step = Step(**checked, table=table)
    if where != f"steps[{step.index}]":
        raise TraceError(f"this trace is damaged: {where} calls itself step {step.index}")
    _check_tree(step, where)
    return step


def _check_tree(step: Step, where: str) -> None:
    """What the pictures rely on: a tree in pack order, one accepted path from the root, and commits that follow it."""
    end = 0
    for node, parent in enumerate(step.parents):
        is_root = node == 0
        if (parent == -1) != is_root or parent >= node or (step.origins[node] == ROOT) != is_root:
            raise TraceError(f"this trace is damaged: in {where} node {node} does not come after a parent")
        if step.depths[node] != (0 if is_root else step.depths[parent] + 1):
            raise TraceError(f"this trace is damaged: in {where} node {node} has depth {step.depths[node]}")
        if step.accepted[node] and not is_root:
            if parent != end:
                raise TraceError(f"this trace is damaged: in {where} the accepted nodes are not one path")
            end = node
    path = [step.tokens[node] for node in step.accepted_nodes]
    if not step.accepted[0] or step.committed[: len(path)] != path or len(step.committed) > len(path) + 1:
        raise TraceError(f"this trace is damaged: in {where} the committed tokens do not follow the accepted path")
