"""recap.trace_json: exact round trips, and a sentence for everything else."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recap import trace_json
from recap.trace import VERSION, Comparison, Row, RowTable, Trace
from recap.trace_json import TraceError, dump, load

from .synthetic import trace as make_trace

# A lone surrogate is odd but possible; a pair of them is one character in JSON, so each text holds one at most.
ODD_TEXT = st.text() | st.sampled_from(["\ud800", "é\u202e\u0000\r\n", "🙂" * 3, "</script>", "\ufeff", '"\\'])
FINITE = st.floats(0, 1e12) | st.sampled_from([1e-300, 5e-324, 0.1 + 0.2, 1e12, 0.0])
SHARE = st.floats(0, 1) | st.sampled_from([1e-300, 5e-324, 0.1 + 0.2])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    rng = random.Random(draw(st.integers(0, 2**32)))
    trace = make_trace(rng, steps=draw(st.integers(0, 2)), nodes=draw(st.sampled_from([0, 1, 5, 20])))
    trace.table.texts.update(draw(st.dictionaries(st.integers(0, 2**40), ODD_TEXT, max_size=4)))
    trace.table.rows.append(Row((2**40,), (draw(SHARE),), draw(SHARE)))
    for step in trace.steps:
        step.scores = [draw(FINITE) for _ in step.scores]
        step.draft_ms, step.sizes = draw(FINITE), draw(st.dictionaries(ODD_TEXT, st.integers(0, 2**62), max_size=3))
    other = st.builds(Comparison, st.lists(st.integers(0, 9), max_size=3), ODD_TEXT, FINITE, FINITE, FINITE,
                      st.none() | st.integers(0, 5))  # fmt: skip
    return replace(
        trace, model=draw(ODD_TEXT), text=draw(ODD_TEXT), config=draw(st.dictionaries(ODD_TEXT, JSON, max_size=3)),
        pictures=draw(st.lists(st.dictionaries(ODD_TEXT, JSON, max_size=2), max_size=2)), exact=draw(st.booleans()),
        seed=draw(st.none() | st.integers(0, 2**63)), temperature=draw(FINITE), decode_seconds=draw(FINITE),
        comparison=draw(st.none() | other), finish_reason=draw(st.sampled_from(["", "stop", "length", "cancelled"])),
    )  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(traces())
def test_round_trip_is_exact(trace: Trace) -> None:
    text = dump(trace)
    back = load(text)
    assert back == trace
    assert all(type(score) is float for step in back.steps for score in step.scores)
    assert load(text.encode()) == trace and dump(back) == text
    assert all(step.table is back.table for step in back.steps)


def test_a_trace_that_does_not_tell_why_it_was_exact_is_read() -> None:
    trace = make_trace(random.Random(3), steps=2, nodes=5)
    old = {**json.loads(dump(trace)), "version": 1}
    del old["exactness"]
    assert load(json.dumps(old)) == replace(trace, exactness="")


def test_empty_trace_and_methods() -> None:
    empty = replace(make_trace(random.Random(0), steps=0, compared=False), table=RowTable(), token_ids=[], text="")
    assert Trace.from_json(empty.to_json()) == empty
    assert " " not in dump(empty).replace("[picture] What is it?", "")


def document() -> dict:
    return json.loads(dump(make_trace(random.Random(2), steps=2)))


def edit(path: str, value: object) -> str:
    """A valid trace with one value changed (or taken away, for `...`)."""
    root = place = document()
    *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in way:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(root)


@pytest.mark.parametrize(
    "path, value, says",
    [
        ("version", VERSION + 1, "newer version"),
        ("version", "1", "version must be a whole number"),
        ("version", True, "version must be a whole number"),
        ("version", 0, "version must be"),
        ("version", ..., "not a RECAP trace"),
        ("steps", {}, "steps must be a list"),
        ("steps/0", 7, "steps[0].tokens must be a list"),
        ("steps/0", None, "found null"),
        ("steps/0/tokens", [], "at least 1"),
        ("steps/0/tokens/1", -1, "steps[0].tokens[1] must be a whole number"),
        ("steps/0/tokens/1", 2.0, "whole number"),
        ("steps/1/scores/0", "1", "steps[1].scores[0] must be a number"),
        ("steps/1/scores/0", -0.5, "number of 0 or more"),
        ("steps/1/verify_ms", 1e308, "a number from 0 to 1000000000000"),
        ("steps/0/weights/0", [0, 0], "exactly 3"),
        ("steps/0/weights/1/0", 2, "number from 0 to 1"),
        ("steps/0/parents", [-1], "steps[0].parents must hold exactly"),
        ("steps/0/parents/0", 0, "does not come after a parent"),
        ("steps/0/parents/2", 2, "node 2 does not come after a parent"),
        ("steps/0/parents/1", 10**6, "whole number from -1"),
        ("steps/0/depths/1", 2, "node 1 has depth 2"),
        ("steps/0/origins/1", "guess", "must be one of 'root', 'memory', 'suffix'"),
        ("steps/0/origins/1", ["root"], "must be one of"),
        ("steps/0/origins/1", "root", "node 1"),
        ("steps/0/rows/1/0", 10**9, "steps[0].rows[1][0] must be a whole number from -1"),
        ("steps/0/fused/0", -2, "whole number from -1"),
        ("steps/0/target/0", -2, "whole number from -1"),
        ("steps/0/accepted/0", 1, "true or false"),
        ("steps/0/accepted/0", False, "committed tokens do not follow"),
        ("steps/0/committed", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "committed tokens do not follow"),
        ("steps/0/sizes", [1], "must be an object"),
        ("steps/0/draft_ms", ..., "steps[0] lacks draft_ms"),
        ("steps/0/colour", "red", "unknown field 'colour'"),
        ("table/rows/0", [[1], [0.5, 0.5], 0.5], "probabilities must hold exactly 1"),
        ("table/rows/0", [[], [], 0.5], "at least 1"),
        ("table/rows/0/2", None, "confidence must be a number"),
        ("table/texts/-1", "x", "no token id"),
        ("table/texts/+1", "x", "no token id"),
        ("table/texts/1", 5, "must be text"),
        ("comparison", {}, "comparison lacks token_ids"),
        ("comparison/first_difference", -1, "first_difference"),
        ("finish_reason", "bored", "must be one of"),
        ("messages/0/content", None, "must be text"),
        ("messages/0/content", ..., "messages[0] must have a role and a content"),
        ("steps/0/index", 3, "steps[0] calls itself step 3"),
        ("steps/0/tokens", [0] * (trace_json.MOST_NODES + 1), "a pass has at most"),
        ("config/many", [[]] * (trace_json.MAX_ITEMS + 1), "config holds more than"),
        ("config", {str(at): at for at in range(trace_json.MAX_ITEMS + 1)}, "config holds more than"),
        ("pictures", [{"at": [0] * 600}] * 40, "pictures holds more than"),
        ("versions", {str(at): "" for at in range(trace_json.MAX_ITEMS + 1)}, "versions holds more than"),
        ("messages", [{"role": "", "content": ""}] * trace_json.MAX_ITEMS, "messages holds more than"),
        ("decode_seconds", 10**400, "must be a number"),
        ("model", ..., "trace lacks model"),
    ],
)
def test_damage_is_named(path: str, value: object, says: str) -> None:
    with pytest.raises(TraceError) as caught:
        load(edit(path, value))
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "empty"), (b"", "empty"), (" \n", "empty"), ("{", "ends too early"), ("hello", "not JSON"),
        ("[]", "not a RECAP trace"), ("3", "not a RECAP trace"), ('{"version": 1}', "not a RECAP trace"),
        ('{"version": 99, "steps": 3}', "newer version"), (b"\x89PNG\r\n\x1a\n\xff", "UTF-8"),
        ("[" * 100_000, "nested too deeply"), ('{"a":' * 100_000, "nested too deeply"), ("9" * 5000, "number"),
        ('{"version": NaN}', "NaN"), ('{"version": -Infinity}', "-Infinity"), ('{"version": 1e999}', "too large"),
        ("\ufeff{}", "not a RECAP trace"), ("{}{}", "not JSON"),
    ],
)  # fmt: skip
def test_foreign_text_is_named(text: str | bytes, says: str) -> None:
    with pytest.raises(TraceError) as caught:
        load(text)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_every_truncation_is_a_sentence() -> None:
    text = dump(make_trace(random.Random(3), steps=1, nodes=3))
    for length in range(0, len(text), 37):
        with pytest.raises(TraceError):
            load(text[:length])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_value_anywhere_loads_or_is_refused(data: st.DataObject) -> None:
    root = place = json.loads(dump(make_trace(random.Random(4), steps=1, nodes=4)))
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)
    try:
        loaded = load(json.dumps(root))
    except TraceError:
        return
    assert load(dump(loaded)) == loaded


def test_nesting_and_size_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: object = 1
    for _ in range(trace_json.MAX_NESTING + 2):
        deep = [deep]
    with pytest.raises(TraceError, match="nested too deeply"):
        load(edit("config/deep", deep))
    text = dump(make_trace(random.Random(5)))
    monkeypatch.setattr(trace_json, "MAX_BYTES", len(text) - 1)
    with pytest.raises(TraceError, match="larger than"):
        load(text)


def test_dump_refuses_what_json_cannot_hold() -> None:
    for bad in (float("nan"), float("inf"), object()):
        with pytest.raises(TraceError, match="cannot be written"):
            dump(replace(make_trace(random.Random(6), steps=0), decode_seconds=bad))
