"""Questions about receipts, menus, tables, forms, posters and signs."""

from __future__ import annotations

from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.numbers import read_number
from recap.targets.builtin.rows import Table

from .ask import Asker, absent_words, joined
from .scenes import Line, Scene

_READ = ("What does it say?", "Read the text.", "What is written here?", "Read it out line by line.",
"What does the text say?",
         "Can you read this for me?", "Transcribe the text.")  # fmt: skip


def ask_text(asker: Asker, scene: Scene, evidence: Evidence) -> None:
    """Every turn that the scene as read gives rise to."""
    _reading(asker, evidence)
    facts = evidence.facts
    items = [line.cells for line in scene.said("item")]
    if facts.priced:
        known = {cells for cells in facts.priced}
        _items(asker, [cells for cells in items if cells in known], evidence)
    if facts.total:
        _total(asker, scene, evidence)
    if scene.kind == "menu":
        _sections(asker, scene)
    if facts.table is not None and scene.kind == "table":
        _table(asker, facts.table)
    _roles(asker, scene)


def _reading(asker: Asker, evidence: Evidence) -> None:
    rows = evidence.rows
    lines = [" ".join(row.cells) for row in rows]
    if len(rows) <= 6 or (len(rows) <= 11 and asker.rng.random() < 0.25):
        asker.add(_READ, ("{t}", "It says:\n{t}",
        "The text reads:\n{t}") if len(lines) > 1 else ('It says "{t}".', "{t}"),
                  t="\n".join(lines))  # fmt: skip
    asker.add(("What is the first line?", "What does the top line say?", "What is written at the top?",
    "What is the heading?",
               "Read the title.", "Which words are at the very top?"),
              ('The first line says "{t}".', 'At the top it says "{t}".'), t=lines[0])  # fmt: skip
    if len(lines) > 1:
        asker.add(("What is the last line?", "What does it say at the bottom?", "What is written in the last line?"),
                  ('The last line says "{t}".', 'At the bottom it says "{t}".'), t=lines[-1])  # fmt: skip
        asker.add(("How many lines of text are there?", "Count the lines of text."),
                  ("There are {n} lines of text.", "I count {n} lines of text."), n=len(lines))  # fmt: skip
    if evidence.facts.kind:
        asker.add(("What kind of document is this?", "What kind of picture is it?",
        "Is this a receipt, a menu or a table?"),
                  ("It looks like {k}.", "This is {k}, by the look of it."), k=evidence.facts.kind)  # fmt: skip


def _items(asker: Asker, items: list, evidence: Evidence) -> None:
    rng, add, facts = asker.rng, asker.add, evidence.facts
    if len(items) < 2:
        return
    price = ("How much is the {n}?", "What does {n} cost?", "What is the price of {n}?", "How much does the {n} cost?",
             "Price of {n}?", "Tell me the price of {n}.", "{n}, how much?", "And the {n}?",
             "How much for {n}?")  # fmt: skip
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
            "What is the most expensive item?",
            "Which item costs the most?",
            "What is the dearest thing?",
            "Which is most expensive?",
            "Show me the highest price.",
            "Which price is at the top end?",
            "What would cost me most?",
            "Name the most expensive.",
            "Which thing costs a lot?",
        ),
        ("The most expensive is {n} at {c}.", "{n} costs the most: {c}."),
        n=high[0],
        c=high[1],
    )
    add(("What is the cheapest item?", "Which one is cheapest?", "What costs the least?", "Which has the lowest price?",
         "Show me the lowest price.", "Which price is at the bottom end?", "What is the best bargain?",
         "Name the cheapest.", "What can I get for little money?"),
        ("The cheapest is {n} at {c}.", "{n} costs the least: {c}."), n=low[0], c=low[1])  # fmt: skip
    add(("How many items are there?", "How many things have a price?", "How many items are listed?",
         "Count the items.", "Number of things on it?"),
        ("There are {n} items.", "{n} items are listed with a price."), n=len(facts.priced))  # fmt: skip
    if len(items) <= 6 or rng.random() < 0.3:
        told = ", ".join(f"{name} {cost}" for name, cost in facts.priced)
        add(
            (
                "List the items with their prices.",
                "What was bought?",
                "List everything.",
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


def _total(asker: Asker, scene: Scene, evidence: Evidence) -> None:
    add, facts = asker.add, evidence.facts
    total = facts.total[1]
    add(("What is the total?", "How much was it in total?", "What is the total amount?", "How much do I have to pay?",
         "How much was paid in all?", "What does it come to?", "Total?", "Tell me the sum at the end.",
         "What is the bill?"),
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
            ("How much change was there?", "What was the change?"),
            ("The change was {v}.", "{v} was given back."),
        ),
        ("card", ("How was it paid?", "Was it paid by card?"), ("It was paid by card: {v}.", "By card, {v}.")),
    ):
        for line in scene.said(role):
            add(questions, answers, v=line.cells[-1])


def _sections(asker: Asker, scene: Scene) -> None:
    heads = [n for n, line in enumerate(scene.lines) if line.role == "head"]
    for n, start in enumerate(heads):
        end = heads[n + 1] if n + 1 < len(heads) else len(scene.lines)
        dishes = [line.cells[0] for line in scene.lines[start + 1 : end] if line.role == "item"]
        if dishes:
            asker.add(("What {h} are there?", "Which {h} do they offer?", "List the {h}."), ("The {h} are {d}.",
            "{d}."),
                      h=scene.lines[start].cells[0].lower(), d=joined(dishes))  # fmt: skip


def _table(asker: Asker, table: Table) -> None:
    rng, add = asker.rng, asker.add
    add(
        ("What columns does the table have?", "What are the column names?"),
        ("The columns are {c}.",),
        c=joined(list(table.head)),
    )
    add(("How many rows are in the table?", "How many rows does the table have?", "How many entries are there?",
    "Count the rows."),
        ("There are {n} rows below the head.", "The table has {n} rows."), n=len(table.body))  # fmt: skip
    for missing in absent_words(rng, None, ("names", "products", "regions"), 1, " ".join(row[0] for row in table.body)):
        add(
            ("What is the {h} of {n}?", "{n}: {h}?", "Tell me the {h} for {n}.", "Is {n} in the table?"),
            ("I can't see {n} in the table.", "{n} is not in the table."),
            n=missing,
            h=table.head[-1].lower(),
        )
    for _ in range(6):
        row, column = rng.choice(table.body), rng.randrange(1, len(table.head))
        name, head, cell = row[0], table.head[column], row[column]
        add(("What is the {h} of {n}?", "What {h} does {n} have?", "{n}: {h}?", "Tell me the {h} for {n}.",
        "And {h} for {n}?"),
            ("The {h} of {n} is {v}.", "{n} has {v} for {h}.", "{n}: {v}."), h=head.lower(),
            n=name, v=cell)  # fmt: skip
    row = rng.choice(table.body)
    add(("What does the row for {n} say?", "Give me everything about {n}.", "Tell me about {n}."), ("{t}.",), n=row[0],
        t=f"{row[0]}: " + ", ".join(f"{head} {cell}" for head, cell in zip(table.head[1:], row[1:])))  # fmt: skip
    add(("List the names in the first column.", "Which names are listed?", "Who or what is in the table?"), ("{t}.",),
        t=joined([row[0] for row in table.body]))  # fmt: skip
    for index in range(1, len(table.head)):
        column = table.column(index)
        if len(column) < max(2, len(table.body) - 1):
            continue
        values = [number.value for _, number in column]
        head = table.head[index].lower()
        (top, high), (low_name, low) = column[values.index(max(values))], column[values.index(min(values))]
        add(
            (
                "Who or what has the highest {h}?",
                "Which one has the largest {h}?",
                "What is the highest {h}?",
                "Which has the most {h}?",
            ),
            ("{n} has the highest {h}: {v}.", "The highest {h} is {v}, for {n}."),
            h=head,
            n=top,
            v=high.like(high.value),
        )
        add(
            ("Which one has the lowest {h}?", "What is the smallest {h}?", "Which has the least {h}?"),
            ("{n} has the lowest {h}: {v}.", "The lowest {h} is {v}, for {n}."),
            h=head,
            n=low_name,
            v=low.like(low.value),
        )
        summed = high.like(sum(round(value * 1000) for value in values) / 1000)
        add(("What is the sum of {h}?", "What is the total {h}?", "How much {h} in all?"),
        ("The sum of {h} is {s}.", "In all it is {s}."),
            h=head, s=summed)  # fmt: skip


def _roles(asker: Asker, scene: Scene) -> None:
    """When, where, what for, how much: by what a line is there for."""
    add = asker.add
    receipt = scene.kind == "receipt"
    for line in scene.lines:
        text = " ".join(line.cells)
        if line.role == "title" and scene.kind in ("receipt", "menu"):
            add(("Which shop is it from?", "Where was this bought?", "What is the name of the shop?",
            "Who issued it?") if receipt
                else ("What is the restaurant called?", "Whose menu is it?", "What is the name of the place?"),
                ("It is from {t}.",) if receipt else ("It is {t}.", "The menu is from {t}."), t=text)  # fmt: skip
        elif line.role == "title" and scene.kind == "poster":
            add(("What is the event?", "What is it about?", "What is being announced?", "What is the poster for?"),
                ("It announces {t}.", "The event is {t}.", "It is about {t}."), t=text)  # fmt: skip
        elif line.role == "date":
            add(("When is it?", "What is the date?", "On which day?", "What date does it show?", "When was it?",
            "Date?", "Tell me the day."),
                ("The date is {t}.", "{t}."), t=line.cells[0])  # fmt: skip
            if len(line.cells) == 2:
                add(("At what time?", "What time does it show?"), ("The time is {t}.", "At {t}."), t=line.cells[1])
        elif line.role == "time":
            add(
                ("At what time does it start?", "What time is it?", "When does it begin?"),
                ("The time given is {t}.", "{t}."),
                t=text,
            )
        elif line.role == "place":
            add(
                (
                    "Where is it?",
                    "Where does it take place?",
                    "What is the place?",
                    "Tell me where.",
                    "Which place is named?",
                ),
                ("It says {t}.", "The place is {t}."),
                t=text,
            )
        elif line.role == "address":
            add(
                ("What is the address?", "Where is the shop?", "Where is it?"),
                ("The address is {t}.", "It is at {t}."),
                t=text,
            )
        elif line.role == "price":
            add(("How much is it?", "What does it cost?", "What is the entry fee?"), ("It says {t}.", "{t}."), t=text)
        elif line.role == "field":
            _field(asker, line)
    if scene.kind == "poster":
        for role, thing, questions in (("price", "a price", ("How much is it?", "What does a ticket cost?")),
                                       ("place", "a place", ("Where is it?", "Where does it take place?")),
                                       ("time", "a time", ("At what time does it start?",))):  # fmt: skip
            if not scene.said(role):
                add(questions, ("I can't see {t} in the picture.", "The picture doesn't say."), t=thing)
    if scene.kind == "form":
        filled = " ".join(line.text for line in scene.lines).lower()
        for field in ("phone", "email", "city", "signature", "age", "nationality"):
            if field not in filled:
                add(
                    ("What is the {f}?", "Which {f} is given?"),
                    ("I can't see {f} in the form.", "No {f} is given."),
                    f=field,
                )


def _field(asker: Asker, line: Line) -> None:
    key, _, value = " ".join(line.cells).partition(":")
    if value.strip():
        asker.add(("What is the {k}?", "Which {k} is given?", "What does it say for {k}?", "{k}?",
        "Tell me the {k}.", "What was written as {k}?"),
                  ("The {k} is {v}.", "{v}.", "It says {v}."), k=key.strip().lower(), v=value.strip())  # fmt: skip
