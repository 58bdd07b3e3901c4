"""What gradio keeps of a visitor."""

from __future__ import annotations

import pytest
from gradio.state_holder import SessionState

from app import build
from studio.worker import Worker


def test_a_visitor_costs_no_description_of_the_page_and_the_page_keeps_its_own() -> None:
    page = build(Worker(lambda: None))
    described = {one["id"] for one in page.get_config_file()["components"]}
    state = SessionState(page)
    assert described <= set(state.config_values) and not any(state.config_values.values())
    some = next(iter(described))
    state[some] = page.blocks[some]
    state._update_config(some)
    state._update_value_in_config(some, "anything")
    assert state.config_values[some] == {} and list(state.components) == []
    assert state.blocks_config.blocks == page.default_config.blocks and state.blocks_config.fns == page.fns
    assert all(one["props"] for one in page.get_config_file()["components"] if one["type"] == "button")


def test_no_table_of_all_events_is_made_after_each(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = build(Worker(lambda: None)).queue()._queue
    monkeypatch.setattr(queue, "_get_df", lambda records: pytest.fail("nobody reads it"))
    for _ in range(3):
        queue.events_recorded += 100
        queue.compute_analytics_summary([{"status": "success", "process_time": 1.0, "function": "chat"}] * 5)
