"""The memory view in Chromium: U goes on from question to question, what a node's context retrieves, and forgetting."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from visual.text import quote

from .app_fixtures import SOON, again, answered, ask, downloaded, node, see

LINE = """(name) => (document.querySelector("#memory-growth .plot").data || []).find((one) => one.name === name)?.y"""


def rows(page: Page, name: str) -> list[int | None]:
    """Rows of a memory after every pass, as the plot has them; None between two questions."""
    return page.evaluate(LINE, name)


def grown(page: Page, passes: int) -> None:
    """Wait until the plot shows so many passes."""
    page.wait_for_function(f"(passes) => ({LINE})('U')?.length === passes", arg=passes, timeout=SOON)


def test_u_persists_and_g_and_c_begin_anew(page: Page) -> None:
    ask(page, "Name three colours.", tokens=16, nodes=8)
    answered(page)
    first = downloaded(page)
    see(page, "memory")
    grown(page, len(first.steps))
    assert rows(page, "U") == [step.sizes["U"] for step in first.steps]
    expect(page.locator("#memory-hits")).to_contain_text("lookups, one for every node of every tree")
    lookups = sum(len(step) for step in first.steps)
    expect(page.locator("#memory-hits")).to_contain_text(f"{lookups:,} lookups")
    see(page, "steps")
    again(page, "Name two animals.")
    answered(page)
    second = downloaded(page)
    see(page, "memory")
    grown(page, len(first.steps) + len(second.steps))
    sizes = [step.sizes for step in (*first.steps, *second.steps)]
    assert rows(page, "U") == [one["U"] for one in sizes]
    at = len(first.steps)
    assert sizes[at]["U"] > sizes[at - 1]["U"] and sizes[at]["G"] < sizes[at - 1]["G"]
    assert rows(page, "G") == [
        *(step.sizes["G"] for step in first.steps),
        None,
        *(step.sizes["G"] for step in second.steps),
    ]

    step = next(step for step in second.steps if len(step) > 2)
    see(page, "steps")
    page.locator("#step-slider input").fill(str(step.index + 1))
    expect(page.locator("#caption .facts")).to_contain_text(f"Pass {step.index + 1} of", timeout=SOON)
    node(page, step, 1).click()
    expect(page.locator("#inspector .story")).to_be_visible()
    see(page, "memory")
    expect(page.locator("#memory-found p").first).to_contain_text(
        f"{quote(step.text(0), 16)} {quote(step.text(1), 16)} memory holds"
    )
    expect(page.locator("#memory-found table th").first).to_be_visible()

    page.click("#forget")
    expect(page.locator("#notice")).to_contain_text("G, C and U are empty now.", timeout=SOON)
    expect(page.locator("#memory-growth")).to_contain_text("Ask something", timeout=SOON)
    see(page, "steps")
    again(page, "Name three colours.")
    answered(page)
    third = downloaded(page)
    see(page, "memory")
    grown(page, len(third.steps))
    assert third.steps[0].sizes["U"] < second.steps[-1].sizes["U"]
    assert page.locator("#chat .bot.message").count() == 3, "the chat stays"
