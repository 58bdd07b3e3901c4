"""Questions about prices: single items, extremes, totals, sections of a menu."""

from __future__ import annotations

from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.numbers import read_number

from .ask import Asker, absent_words, joined
from .scenes import Scene
from .typed import typed


def ask_items(asker: Asker, items: list, evidence: Evidence) -> None:
    """Turns about `items`, (name, price) each, two or more; none for fewer."""
    rng, add, facts = asker.rng, asker.add, evidence.facts
    if len(items) < 2:
        return
    price = ("What is the price for {n}?", "{n} price?", "How much did the {n} cost?",
        "What did they charge for the {n}?", "How expensive is the {n}?", "What is the cost of {n}?",
        "How much do you pay for {n}?", "Can you find the price of {n}?", "What is the {n} going for?",
        "How much is the {n}?", "What does {n} cost?", "What is the price of {n}?", "How much does the {n} cost?",
             "Price of {n}?", "Tell me the price of {n}.", "{n}, how much?", "And the {n}?",
             "How much for {n}?", "I'd like {n}. How much is that?", "What would {n} set me back?",
             "If I take {n}, what does it cost me?", "What stands beside {n}?", "Which price belongs to {n}?",
             "One {n}, please. How much?", "What was paid for {n}?", "What do they ask for {n}?", *typed("item_price", name="{n}"))  # fmt: skip
    for name, cost in rng.sample(items, min(3, len(items))):
        add(price, ("{n} costs {c}.", "The price of {n} is {c}.", "{n} is {c}.", "It costs {c}."), n=name, c=cost)
    name, cost = rng.choice(items)
    add(("Is there {n} on it?", "Do they have {n}?", "Is {n} listed?", "Is {n} on the list?"),
        ("Yes, {n} is listed at {c}.", "Yes, {n} for {c}."), n=name, c=cost)  # fmt: skip
    for missing in absent_words(rng, evidence, ("goods", "dishes"), 2):
        add(
            (
                "How much is the {n}?", "Is there {n} on it?", "Do they have {n}?", "What does the {n} cost?",
                "Price of {n}?", "What do I pay for {n}?", "Tell me the price of {n}.", "And {n}?",
                "I'd like {n}. How much is that?", "Which price belongs to {n}?", "{n}, how much?",
                "What would {n} set me back?", "How much are the {n} here?", "What was paid for {n}?",
                *typed("item_price", name="{n}"),
            ),
            ("I can't see {n} in the picture.", "No, {n} is not listed.", "I don't see any {n} there."),
            n=missing,
        )  # fmt: skip
    cost = rng.choice(items)[1]
    names = [name for name, other in items if other == cost]
    add(("What costs {c}?", "Which item costs {c}?"), ("{n} costs {c}.",), n=joined(names), c=cost)
    values = [read_number(cost).value for _, cost in facts.priced]
    high, low = facts.priced[values.index(max(values))], facts.priced[values.index(min(values))]
    add(
        (
            "Which item has the highest price?",
            "Priciest thing?",
            "What is the priciest item here?",
            "What was the most costly?",
            "Which one is the most pricey?",
            "Most expensive?",
            "What is the most expensive item?",
            "Which item costs the most?",
            "What is the dearest thing?",
            "Which is most expensive?",
            "Show me the highest price.",
            "Which price is at the top end?",
            "What would cost me most?",
            "Name the most expensive.",
            "Which thing costs a lot?",
            "Which item is the costliest?",
            "What was the biggest expense?",
            "On what was most money spent?",
            "Name the dearest one.",
            *typed("dearest"),
        ),
        ("The most expensive is {n} at {c}.", "{n} costs the most: {c}."),
        n=high[0],
        c=high[1],
    )
    add(("Cheapest thing?", "Which item has the lowest price?", "What is the least expensive?",
        "What was the cheapest?", "What is the lowest-priced item?", "What could I get for the least money?",
        "Which is the most affordable?", "What is the cheapest item?", "Which one is cheapest?",
        "What costs the least?", "Which has the lowest price?",
         "Show me the lowest price.", "Which price is at the bottom end?", "What is the best bargain?",
         "Name the cheapest.", "What can I get for little money?", "Name the item with the smallest price.",
         "I have little money. What should I take?", "On what was least money spent?", "Which is the budget choice?", *typed("cheapest")),
        ("The cheapest is {n} at {c}.", "{n} costs the least: {c}."), n=low[0], c=low[1])  # fmt: skip
    add(("How many products are there?", "How many dishes are on it?", "What is the number of items?",
        "How many different items do you see?", "How many entries are on the list?",
        "How many things can I order?", "How many articles are listed?", "How many items are there?",
        "How many things have a price?", "How many items are listed?",
         "Count the items.", "Number of things on it?", "How many are on the list?",
         "How many different things can I choose from?", "How many prices are there?",
         *typed("item_count")),
        ("There are {n} items.", "{n} items are listed with a price."), n=len(facts.priced))  # fmt: skip
    if len(items) <= 10 or rng.random() < 0.3:
        told = ", ".join(f"{name} {cost}" for name, cost in facts.priced)
        add(
            (
                "List the items with their prices.",
                "What was bought?",
                "List everything.",
                "List the dishes on the menu.",
                "List all dishes with their prices.",
                "Which dishes are there?",
                "List the items on the receipt.",
                "Which items are there?",
                "What is on it?",
            ),
            ("{t}.", "The items are {t}.", "It lists {t}."),
            t=told,
        )
    (a, x), (b, y) = rng.sample(items, 2)
    one, two = read_number(x).value, read_number(y).value
    if one != two:
        (a, x), (b, y), order = ((a, x), (b, y), (a, b)) if one > two else ((b, y), (a, x), (a, b))
        add(
            ("Which costs more, {p} or {q}?", "What is more expensive, the {p} or the {q}?"),
            ("{a} costs more: {x} against {y}.", "{a} at {x}; {b} is {y}."),
            p=order[0],
            q=order[1],
            a=a,
            b=b,
            x=x,
            y=y,
        )
    if not facts.total:
        summed = next(said for said in facts.statements if said.startswith("All prices together"))
        add(
            (
                "What do all of them cost together?",
                "What is the sum of the prices?",
                "How much is everything together?",
            ),
            ("All together they cost {s}.", "The prices add up to {s}."),
            s=summed.split(": ")[1].rstrip("."),
        )


def ask_total(asker: Asker, scene: Scene, evidence: Evidence) -> None:
    """Turns about the printed total, how it was paid, and whether the items add up to it."""
    add, facts = asker.add, evidence.facts
    total = facts.total[1]
    add(("How much was the bill?", "What is the grand total?", "Total amount?", "What did I spend?",
        "How much did it all cost?", "What was the final amount?", "How much was spent?",
        "What is the sum on the receipt?", "How much is due?", "What do I owe?", "What was the total price?",
        "What is the total?", "How much was it in total?", "What is the total amount?", "How much do I have to pay?",
         "How much was paid in all?", "What does it come to?", "Total?", "Tell me the sum at the end.",
         "What did the whole thing cost?", "Read me the sum.", "How much is to be paid?",
         "What does everything cost together?", "What was the whole amount?", "How much did they pay?",
         *typed("total")),
        ("The total is {t}.", "It comes to {t}.", "The total amount is {t}."), t=total)  # fmt: skip
    check = next((said for said in facts.statements if said.startswith("Printed total")), "")
    if check:
        summed = check.split("add up to ")[1].split(", ")[0]
        same = check.endswith(", the same.")
        add(("Do the items add up to the total?", "Is the total correct?", "Does the sum match the printed total?"),
            ("Yes, the items add up to {s}, the same as the total.",) if same
            else ("No, the items add up to {s}, but the total says {t}.",), s=summed, t=total)  # fmt: skip
    value = read_number(total).value
    for limit in asker.rng.sample((5, 10, 20, 30, 50), 2):
        more = value > limit
        add(("Is the total more than {l}?", "Is it over {l}?", "Did it cost more than {l}?"),
            ("Yes, the total is {t}, more than {l}.",) if more else ("No, the total is {t}, less than {l}.",),
            l=limit, t=total)  # fmt: skip
    for role, questions, answers in (
        (
            "cash",
            ("How much cash was given?", "How much was paid in cash?"),
            ("{v} was paid in cash.", "The cash given was {v}."),
        ),
        (
            "change",
            (
                "How much change was returned?",
                "Change?",
                "What did they get back?",
                "How much money came back?",
                "How much change was due?",
                "What change was given?",
                "How much change was there?",
                "What was the change?",
                "How much was given back?",
                "How much change did they get?",
            ),
            ("The change was {v}.", "{v} was given back."),
        ),
        ("card", ("How was it paid?", "Was it paid by card?"), ("It was paid by card: {v}.", "By card, {v}.")),
    ):
        for line in scene.said(role):
            add(questions, answers, v=line.cells[-1])


def ask_sections(asker: Asker, scene: Scene) -> None:
    """Turns about what stands under each heading of a menu."""
    heads = [n for n, line in enumerate(scene.lines) if line.role == "head"]
    for n, start in enumerate(heads):
        end = heads[n + 1] if n + 1 < len(heads) else len(scene.lines)
        dishes = [line.cells[0] for line in scene.lines[start + 1 : end] if line.role == "item"]
        if dishes:
            asker.add(("What {h} are there?", "Which {h} do they offer?", "List the {h}."), ("The {h} are {d}.",
            "{d}."),
                      h=scene.lines[start].cells[0].lower(), d=joined(dishes))  # fmt: skip
