"""Questions about pictures with text: reading, tables, forms, posters and signs; prices are in `ask_items`."""

from __future__ import annotations

from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.rows import Table

from .ask import Asker, absent_words, joined
from .ask_items import ask_items, ask_sections, ask_total
from .scenes import Line, Scene
from .typed import typed

_READ = ("What does the sign say?", "Can you transcribe this?", "What text is there?", "Read this out.",
    "What is the text?", "Please read it.", "What does it all say?", "Give me the full text.",
    "What is written on it?", "What can you read?", "What does it say?", "Read the text.",
    "What is written here?", "Read it out line by line.",
"What does the text say?",
         "Can you read this for me?", "Transcribe the text.", "Write down all the text.", "Tell me all the words.",
         "What words are on it?", "Which text do you find?", "Copy the text.", "Read everything to me.",
         "What has been written on it?", *typed("read_all"))  # fmt: skip


def ask_text(asker: Asker, scene: Scene, evidence: Evidence) -> None:
    """Every turn that the scene as read gives rise to."""
    _reading(asker, evidence)
    facts = evidence.facts
    items = [line.cells for line in scene.said("item")]
    if facts.priced:
        known = {cells for cells in facts.priced}
        ask_items(asker, [cells for cells in items if cells in known], evidence)
    if facts.total:
        ask_total(asker, scene, evidence)
    if scene.kind == "menu":
        ask_sections(asker, scene)
    if facts.table is not None and scene.kind == "table":
        _table(asker, facts.table)
    _roles(asker, scene)


def _reading(asker: Asker, evidence: Evidence) -> None:
    rows = evidence.rows
    lines = [" ".join(row.cells) for row in rows]
    for _ in range(2 if len(rows) <= 7 else asker.rng.random() < 0.25 and len(rows) <= 11):
        asker.add(_READ, ("{t}", "It says:\n{t}",
        "The text reads:\n{t}") if len(lines) > 1 else ('It says "{t}".', "{t}"),
                  t="\n".join(lines))  # fmt: skip
    asker.add(("What is the headline?", "What is the main text?", "What is written in big letters?",
        "What is the title?", "What is the largest text?", "What are the first words?",
        "What does the heading say?", "What stands out in the text?", "What is the first line?",
        "What does the top line say?", "What is written at the top?",
    "What is the heading?",
               "Read the title.", "Which words are at the very top?", "What does it say first?",
               "Read me the top line.", "What is the biggest text?", "How does it begin?",
               "What do the large letters say?", *typed("first_line"), *typed("doc_title")),
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


def _table(asker: Asker, table: Table) -> None:
    rng, add = asker.rng, asker.add
    add(
        ("What columns does the table have?", "What are the column names?"),
        ("The columns are {c}.",),
        c=joined(list(table.head)),
    )
    add(("How many rows are there?", "How many people are listed?", "How many lines does the table have?",
        "What is the number of entries?", "How many items does the table list?", "How many records are there?",
        "How many rows are in the table?", "How many rows does the table have?", "How many entries are there?",
    "Count the rows.", "How many names are in the table?", "How long is the table?", "Count the lines of the table.",
    "Number of rows?", *typed("rows_count")),
        ("There are {n} rows below the head.", "The table has {n} rows."), n=len(table.body))  # fmt: skip
    for missing in absent_words(rng, None, ("names", "products", "regions"), 1, " ".join(row[0] for row in table.body)):
        add(
            ("Is {n} in the table?", *typed("cell", row="{n}", column="{h}")),
            ("I can't see {n} in the table.", "{n} is not in the table."),
            n=missing,
            h=table.head[-1].lower(),
        )
    for _ in range(7):
        row, column = rng.choice(table.body), rng.randrange(1, len(table.head))
        name, head, cell = row[0], table.head[column], row[column]
        add(("What is {n}'s {h}?", "{h} of {n}?", "{h} for {n}?", "Look up the {h} of {n}.",
            "What is the {h} for {n}?", "Which {h} is listed for {n}?",
            "What does the table say for {n} under {h}?", "Can you tell me {n}'s {h}?", "What is the {h} of {n}?",
            "What {h} does {n} have?", "{n}: {h}?", "Tell me the {h} for {n}.",
        "And {h} for {n}?", "Which {h} belongs to {n}?", "Find the {h} of {n}.", "What stands under {h} for {n}?",
        "In the row {n}, what is the {h}?", "Check {n}: what {h}?", "I need {n}'s {h}.",
        *typed("cell", row="{n}", column="{h}")),
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
                "Who has the highest {h}?",
                "Which has the biggest {h}?",
                "Highest {h}?",
                "Whose {h} is the highest?",
                "Who has the most {h}?",
                "Which one is best in {h}?",
                "What has the largest {h}?",
                "Which row has the highest {h}?",
                "Who got the top {h}?",
                "Who or what has the highest {h}?",
                "Which one has the largest {h}?",
                "What is the highest {h}?",
                "Which has the most {h}?",
                "Who leads in {h}?",
                "Who is first by {h}?",
                "Which is top for {h}?",
                "Maximum {h}?",
                "In {h}, which is ahead?",
                "Who has the best {h}?",
                *typed("greatest", column="{h}"),
            ),
            ("{n} has the highest {h}: {v}.", "The highest {h} is {v}, for {n}."),
            h=head,
            n=top,
            v=high.like(high.value),
        )
        add(
            (
                "Who has the lowest {h}?",
                "Lowest {h}?",
                "Whose {h} is the smallest?",
                "Which row has the lowest {h}?",
                "Which has the smallest {h}?",
                "Who has the least {h}?",
                "Which one has the lowest {h}?",
                "What is the smallest {h}?",
                "Which has the least {h}?",
                "Who is behind in {h}?",
                "Minimum {h}?",
                "Which is lowest in {h}?",
                "Who has the fewest {h}?",
            ),
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
            add(("Which store is this receipt from?", "What store is this?", "Name of the shop?",
                "Where is this receipt from?", "Which store issued this?", "Where did I shop?",
                "What is the store called?", "What is the name of the store?", "Which business is it?",
                "Which shop is it from?", "Where was this bought?", "What is the name of the shop?",
            "Who issued it?", "Which shop was it?", "Who sold this?", "Where did they buy it?", *typed("shop")) if receipt
                else ("What is the name of the restaurant?", "Which place is this menu from?",
                    "Name of the restaurant?", "What restaurant is this?", "Which cafe is it?",
                    "Where is this menu from?", "What is the restaurant called?", "Whose menu is it?",
                    "What is the name of the place?",
                      "Which restaurant is it?", "Where would I eat this?", "Who offers this menu?",
                      *(asked for asked in typed("shop") if "menu" in asked or "restaurant" in asked)),
                ("It is from {t}.",) if receipt else ("It is {t}.", "The menu is from {t}."), t=text)  # fmt: skip
        elif line.role == "title" and scene.kind == "poster":
            add(("What event is it?", "Which event is on the poster?", "What is the name of the event?",
                "What is going on?", "What is the event?", "What is it about?", "What is being announced?",
                "What is the poster for?",
            "What can I go to?", "What takes place?", *typed("doc_title")),
                ("It announces {t}.", "The event is {t}.", "It is about {t}."), t=text)  # fmt: skip
        elif line.role == "date":
            add(("What is the date on it?", "When does it take place?", "When is it happening?",
                "What date is given?", "Which date is it?", "On what date was it?", "What day was it?",
                "When was this?", "Can you find the date?", "When is it?", "What is the date?", "On which day?",
                "What date does it show?", "When was it?",
            "Date?", "Tell me the day.", "What day is it on?", "Which day does it say?", "When did that happen?",
            "Which date is printed?", *typed("date")),
                ("The date is {t}.", "{t}."), t=line.cells[0])  # fmt: skip
            if len(line.cells) == 2:
                add(("At what time?", "What time does it show?", *typed("time")), ("The time is {t}.", "At {t}."), t=line.cells[1])
        elif line.role == "time":
            add(
                (
                    "What time does it start?",
                    "Starting time?",
                    "Time?",
                    "When does it start?",
                    "What time is given?",
                    "From when on?",
                    "At what time does it start?",
                    "What time is it?",
                    "When does it begin?",
                    "What time should I be there?",
                    "Which time is printed?",
                    "What is the hour?",
                    *typed("time"),
                ),
                ("The time given is {t}.", "{t}."),
                t=text,
            )
        elif line.role == "place":
            add(
                (
                    "Where is it happening?",
                    "Venue?",
                    "Location?",
                    "What is the location?",
                    "Where is the event?",
                    "Which venue is it?",
                    "What place is given?",
                    "Where is it?",
                    "Where does it take place?",
                    "What is the place?",
                    "Tell me where.",
                    "Which place is named?",
                    "Where do I have to go?",
                    "Name the place.",
                    "What is the venue?",
                    "In which place is it?",
                    "Where is it held?",
                    "Say where it is.",
                    *typed("place"),
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
            add(
                (
                    "What is the price?",
                    "How much is a ticket?",
                    "What does entry cost?",
                    "Price?",
                    "What do tickets cost?",
                    "How much is it?",
                    "What does it cost?",
                    "What is the entry fee?",
                    "What do I pay to get in?",
                ),
                ("It says {t}.", "{t}."),
                t=text,
            )
        elif line.role == "field":
            _field(asker, line)
    if scene.kind == "poster":
        for role, thing, questions in (("price", "a price", ("How much is it?", "What does a ticket cost?",
                                       "What do I pay to get in?", "How much is a ticket?", "What is the price?")),
                                       ("place", "a place", ("Where is it?", *typed("place"))),
                                       ("time", "a time", ("At what time does it start?", *typed("time")))):  # fmt: skip
            if not scene.said(role):
                add(questions, ("I can't see {t} in the picture.", "The picture doesn't say."), t=thing)
    if scene.kind == "form":
        add(("What is the title of the form?", "Which form do I see?", "What is this form about?", "Form title?",
            "What does the form say at the top?", "What type of form is it?", "What form is it?",
            "What kind of form do I have here?", "What is the form for?",
             "What is the form called?", *typed("doc_title")),
            ('It is headed "{t}".', "{t}.", "The form is: {t}."), t=scene.lines[0].text)  # fmt: skip
        filled = " ".join(line.text for line in scene.lines).lower()
        for field in ("phone", "email", "city", "signature", "age", "nationality"):
            if field not in filled:
                add(
                    (
                        "What is their {f}?",
                        "Does it give the {f}?",
                        "Is there a {f} on it?",
                        "Can you find the {f}?",
                        "What {f} did they put?",
                        "Tell me the {f}.",
                        "What does it say under {f}?",
                        "What is the {f}?",
                        "Which {f} is given?",
                        "{f}?",
                        "What did they enter as {f}?",
                        "What does the field {f} hold?",
                        "And the {f}?",
                        *typed("form_field", key="{f}"),
                    ),
                    ("I can't see {f} in the form.", "No {f} is given."),
                    f=field,
                )


def _field(asker: Asker, line: Line) -> None:
    key, _, value = " ".join(line.cells).partition(":")
    if value.strip():
        asker.add(("What is the {k} on the form?", "Which {k} did they write?", "What {k} did they put?",
            "Can you find the {k}?", "What is entered for {k}?", "What does it say under {k}?",
            "What is filled in for {k}?", "{k}, please.", "What is the {k}?", "Which {k} is given?",
            "What does it say for {k}?", "{k}?",
        "Tell me the {k}.", "What was written as {k}?", "What did they enter as {k}?", "And the {k}?",
        "What does the field {k} hold?", *typed("form_field", key="{k}")),
                  ("The {k} is {v}.", "{v}.", "It says {v}."), k=key.strip().lower(), v=value.strip())  # fmt: skip
