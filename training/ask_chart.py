"""Questions about charts: kind, title, one value, extremes, order, sum, comparison."""

from __future__ import annotations

from recap.targets.builtin.chart import Mark
from recap.targets.builtin.evidence import Evidence
from recap.targets.builtin.numbers import plain

from .ask import Asker, absent_words, joined
from .typed import typed
from .words import DAYS, MONTHS


def ask_chart(asker: Asker, evidence: Evidence) -> None:
    """Every turn that the chart gives rise to. Estimates are answered with "about"."""
    chart = evidence.chart
    add = asker.add
    counted = {"line chart": "points", "pie chart": "slices"}.get(chart.kind, "bars")
    add(("What kind of chart is this?", "What type of diagram is it?", "Is this a bar chart or a pie chart?"),
        ("It is a {k}.", "This is a {k}."), k=chart.kind)  # fmt: skip
    if chart.title:
        add(("What is it titled?", "Chart title?", "What does this chart represent?", "Tell me the caption.",
            "What does the header say?", "What does the chart depict?", "What is the title?",
            "What is the chart about?", "What does the heading say?", "What is measured?",
        "What does it show?", "What stands above the chart?", "Read the title.", "What is the chart called?",
        "What topic does it cover?", "What is the name of the chart?",
        *typed("chart_title")),
            ('The title is "{t}".', 'It is about "{t}".'), t=chart.title)  # fmt: skip
    else:
        add(
            ("What is the title?", "What does the heading say?", *typed("chart_title")),
            ("I can't see a title in the picture.", "The chart has no title that I can see."),
        )
    for series in chart.series:
        marks = [mark for mark in series.marks if mark.value is not None]
        if len(marks) == len(series.marks) and len(marks) > 1:
            _values(asker, marks, counted, evidence)


def _values(asker: Asker, marks: list[Mark], counted: str, evidence: Evidence) -> None:
    rng, add = asker.rng, asker.add

    def value(mark: Mark) -> str:
        return mark.shown if mark.printed else f"about {mark.shown}"

    for mark in rng.sample(marks, min(3, len(marks))):
        add(("What is {n}'s value?", "{n} value?", "How much did {n} get?", "Value of {n}, please.",
            "What does {n} show?", "Read off {n}.", "What number does {n} have?",
            "Can you give me the number of {n}?", "What is the reading for {n}?", "Roughly how much is {n}?",
            "What is the value for {n}?", "How much is {n}?", "What value does {n} have?", "How high is {n}?",
        "Tell me the number for {n}.", "Where does {n} stand?", "And {n}?", "{n}?", "What is {n} at?",
        "Which value belongs to {n}?", "How many for {n}?", "I need the figure for {n}.", "How far up does {n} go?",
        "What number stands for {n}?", "How did {n} do?", "What about {n}?",
        *_fitting("value", counted, name="{n}")),
            ("{n} is {v}.", "The value for {n} is {v}.", "It is {v} for {n}."), n=mark.name, v=value(mark))  # fmt: skip
    order = sorted(marks, key=lambda mark: -mark.value)
    for _ in range(2):  # the commonest question about a chart
        add(
            (
                "Which has the highest value?",
                "What is the most popular one?",
                "Max?",
                "Which got the most?",
                "Who is the leader?",
                "Which {c} is the biggest?",
                "What is the top category?",
                "Which is the best?",
                "What ranks first?",
                "Which has the greatest value?",
                "Who scored highest?",
                "What is at the peak?",
                "Which is the largest?",
                "Which one is highest?",
                "What is the maximum?",
                "Which has the most?",
                "Who is ahead?",
                "Tell me the top one.",
                "Which one wins?",
                "Who is in front?",
                "Name the biggest.",
                "What is the biggest {c}?",
                "Which of them leads?",
                "Who takes first place?",
                "What is number one?",
                "Which is ahead of all the others?",
                "Who did best?",
                "What is the strongest of them?",
                "Which {c} is the tallest?" if counted == "bars" else "Which beats all the rest?",
                "What tops the ranking?",
                "Name the winner.",
                "Which is the champion?",
                "Who heads the list?",
                "Which stands out as the largest?",
                "What comes first in the ranking?",
                "Name the front-runner.",
                "When was it highest?" if counted == "points" else "Which is on top?",
                *_fitting("largest", counted),
            ),
            ("The largest is {n} with {v}.", "{n} is the highest: {v}."),
            n=order[0].name,
            v=value(order[0]),
            c=counted.rstrip("s"),
        )
        add(("Which has the lowest value?", "What is the least popular one?", "Min?", "Which got the least?",
            "Which {c} is the smallest?", "Which is the worst?", "Which has the smallest value?",
            "Who scored lowest?", "Which category is lowest?", "Which comes last in value?",
            "Which one is the minimum?", "Who came last?", "What is the lowest one?", "Which is the smallest?",
            "Which one is lowest?", "What is the minimum?", "Which has the least?",
        "Who is behind?", "Tell me the bottom one.", "Which one loses?", "What has the lowest value of all?",
        "Name the smallest.", "Which is the weakest of them?", "Who did worst?", "Which trails all the others?",
        "Who takes the last place?", "What ranks lowest?", "Name the loser.", "What is at the bottom of the ranking?",
        "Which {c} is the shortest?" if counted == "bars" else "Which is behind all the rest?",
        "Who finishes last?", "Which is the tiniest?", "What ends up last in the ranking?", "Who brings up the rear?",
        *_fitting("smallest", counted)),
            ("The smallest is {n} with {v}.", "{n} is the lowest: {v}."), n=order[-1].name,
            v=value(order[-1]), c=counted.rstrip("s"))  # fmt: skip
    told = ", ".join(f"{mark.name} {value(mark)}" for mark in marks)
    add(
        ("List the values.", "What are all the values?", "Read the values.", "Make a list of the numbers."),
        ("{t}.", "The values are {t}."),
        t=told,
    )
    add(("How many categories are there?", "How many things are compared?", "How many {c} can you count?",
        "How many different {c} are in the chart?", "What is the number of {c}?",
        "How many entries does the chart have?", "How many {c} are there?", "Count the {c}.",
        "How many {c} does it have?", "Number of {c}?",
        "How many values are shown?", *_fitting("bars_count", counted, parts="{c}")), ("There are {n} {c}.",
    "I count {n} {c}."),
        c=counted, n=len(marks))  # fmt: skip
    add(("What is compared?", "Which categories are there?", "What are the labels?"), ("It compares {t}.",
    "The labels are {t}."),
        t=joined([mark.name for mark in marks]))  # fmt: skip
    if len(marks) > 2:
        add(("Sort them from largest to smallest.", "What is the order from highest to lowest?", "Rank them."),
            ("From largest to smallest: {t}.",), t=", ".join(mark.name for mark in order))  # fmt: skip
        add(("Which is the second largest?", "What comes second?",
             "Who is the runner-up?"), ("{n} comes second with {v}.",
        "The second largest is {n}."),
            n=order[1].name, v=value(order[1]))  # fmt: skip
    one, two = rng.sample(marks, 2)
    if one.value != two.value:
        more, less = (one, two) if one.value > two.value else (two, one)
        add(("Which is larger, {p} or {q}?", "Is {p} or {q} higher?", "Compare {p} and {q}."),
            ("{a} is larger: {x} against {y}.", "{a} with {x}; {b} has {y}."),
            p=one.name, q=two.name, a=more.name, b=less.name, x=value(more), y=value(less))  # fmt: skip
        add(("Is {p} larger than {q}?", "Is {p} more than {q}?"),
            ("Yes, {p} is {x} and {q} is {y}.",) if one is more else ("No, {p} is {x} and {q} is {y}.",),
            p=one.name, q=two.name, x=value(one), y=value(two))  # fmt: skip
    if counted != "slices":
        printed = all(mark.printed for mark in marks)
        summed = plain(sum(mark.value for mark in marks), 2)
        add(("What is the sum?", "What do they add up to?", "What is the total of all values?"),
            ("The sum is {s}.", "All together it is {s}."), s=summed if printed else f"about {summed}")  # fmt: skip
    if counted == "points":
        trend = next((said for said in evidence.chart.statements() if "From first to last it " in said), "")
        if trend:
            add(("What is the trend?", "Does it rise or fall?", "How does it develop?"),
            ("From first to last it {t}.", "It {t}."),
                t=trend.split("From first to last it ")[1].rstrip("."))  # fmt: skip
    absent = absent_words(rng, evidence, ("regions", "products", "causes", "sports", "names", "goods"), 2)
    said = evidence.to_text()
    others = [word for word in (str(rng.randint(1900, 2040)), *MONTHS, *DAYS) if word not in said and word[:3] not in said]
    for missing in (*absent, rng.choice(others)):
        add(
            (
                "What is the value for {n}?",
                "How much is {n}?",
                "How high is {n}?",
                "Tell me the number for {n}.",
                "And {n}?",
                "What is {n} at?",
                "How many for {n}?",
                "{n}?",
                "Which value belongs to {n}?",
                "I need the figure for {n}.",
                "What about {n}?",
                "How did {n} do?",
                *_fitting("value", counted, name="{n}"),
            ),
            ("I can't see {n} in the picture.", "{n} is not in the chart.", "I don't see {n} in the chart."),
            n=missing,
        )


_SHAPES = {"bars": ("bar",), "points": ("point", "line", "curve"), "slices": ("slice", "pie", "share", "portion", "section")}


def _fitting(kind: str, counted: str, **slots: str) -> tuple[str, ...]:
    """The wordings of a kind that name no other shape of chart."""
    others = [word for shape, words in _SHAPES.items() if shape != counted for word in words]
    return tuple(asked for asked in typed(kind, **slots) if not any(word in asked.lower() for word in others))
