"""A pass of any method is recorded, raced and drawn, though no memory of RECAP's stands behind its candidates."""

from __future__ import annotations

import pytest

import recap
from visual import inspector, ribbon, tree

from .test_lossless import FIXED, RIVALS


@pytest.mark.parametrize("method", RIVALS)
def test_a_rivals_answer_is_shown(target, method):
    settings = {"max_new_tokens": 50, "config": FIXED}
    with recap.Race(target("llava"), "What is the woman carrying?", methods=(method, "ar"), **settings) as race:
        for _ in race:
            pass
    trace = race.traces[0]
    assert race.identical and trace.comparison.identical and trace.method == method
    assert recap.Trace.from_json(trace.to_json()) == trace
    kinds = {kind for step in trace.steps for kind in step.origins}
    chain = method in ("pld", "sam", "sam_viskip")
    assert kinds == {"root", "suffix" if chain else "memory"}
    story = "it followed when the text last ended like this" if chain else "Proposed by the method's draft"
    assert story in ribbon.html(trace).replace("&#x27;", "'")
    step = max(trace.steps, key=len)
    assert len(step) > 2 and tree.figure(step).data
    for node in range(1, len(step), 9):
        assert "What" in inspector.html(step, node, trace.config)
