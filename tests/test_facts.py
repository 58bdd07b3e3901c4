"""Rows and columns from pieces of text, and what is computed from them."""

import pytest

from recap.targets.builtin.evidence import Evidence, TextLine
from recap.targets.builtin.facts import facts_of
from recap.targets.builtin.numbers import Number, plain, read_number
from recap.targets.builtin.rows import rows_of, table_of


def lines(*rows, right=0.9):
    """Text lines of a page: each row is a tuple of cells; a single cell is centred, several are spread out."""
    found = []
    for number, cells in enumerate(rows):
        step = right / len(cells)
        for column, cell in enumerate(cells):
            left = 0.05 + column * step if len(cells) > 1 else 0.3
            top = 0.05 + 0.9 * number / len(rows)
            found.append(TextLine(cell, 0.99, (left, top, left + 0.6 * step, top + 0.03), number))
    return tuple(found)


RECEIPT = lines(("GREEN LEAF",), ("12 May 2025", "18:42"), ("Apples", "2.40"), ("Milk", "1.15"), ("Bread", "3.20"),
                ("TOTAL", "6.75"), ("Cash", "10.00"), ("Change", "3.25"))  # fmt: skip


@pytest.mark.parametrize(
    "text, value, decimals",
    [("17.90", 17.9, 2), ("£3.50", 3.5, 2), ("3,50 €", 3.5, 2), ("1,200", 1200, 0), ("1,234.5", 1234.5, 1),
     ("40%", 40, 0), ("-2.5", -2.5, 1), ("250 g", 250, 0), ("2019", 2019, 0), ("12 345", 12345, 0)],
)  # fmt: skip
def test_numbers_as_people_print_them(text, value, decimals):
    number = read_number(text)
    assert (number.value, number.decimals) == (value, decimals)


@pytest.mark.parametrize("text", ["", "Total", "3 apples", "12/05", "18:42", "a1", "1.2.3"])
def test_what_is_no_number(text):
    assert read_number(text) is None


def test_numbers_are_written_as_their_like():
    assert read_number("£3.50").like(12) == "£12.00" and read_number("40%").like(7.4) == "7%"
    assert plain(12.0) == "12" and plain(0.125) == "0.125" and Number(1, 2).money and not Number(1, 0).money


def test_cells_are_split_at_leaders_and_before_a_price():
    rows = rows_of(
        lines(("Tomato soup ........ 5.50",), ("Lemon tart 6.00",), ("Open 9.30 to 12.15 daily",), ("Room 12",))
    )
    assert [row.cells for row in rows] == [
        ("Tomato soup", "5.50"), ("Lemon tart", "6.00"), ("Open 9.30 to 12.15 daily",), ("Room 12",),
    ]  # fmt: skip
    assert rows[0].text == "Tomato soup | 5.50" and rows[0].label == "Tomato soup" and rows[0].number.value == 5.5


def test_a_receipt_is_added_up():
    facts = facts_of(rows_of(RECEIPT))
    assert facts.kind == "a receipt or bill" and facts.total == ("TOTAL", "6.75")
    assert facts.priced == (("Apples", "2.40"), ("Milk", "1.15"), ("Bread", "3.20"))
    said = " ".join(facts.statements)
    assert "Most expensive: Bread 3.20." in said and "Cheapest: Milk 1.15." in said
    assert "The items add up to 6.75, the same." in said and "Date: 12 May 2025. Time: 18:42." in said


def test_a_total_that_is_not_the_sum_is_said_to_differ():
    facts = facts_of(rows_of(lines(("Apples", "2.40"), ("Milk", "1.15"), ("TOTAL", "9.99"))))
    assert "The items add up to 3.55, not the same." in " ".join(facts.statements)


def test_a_menu_has_no_total_and_sorted_prices_are_noticed():
    facts = facts_of(rows_of(lines(("Menu",), ("Soup", "€4.00"), ("Pasta", "€9.50"), ("Steak", "€21.00"))))
    assert facts.kind == "a menu or price list" and facts.total is None
    assert (
        "All prices together: €34.50." in facts.statements and "Prices are sorted from low to high." in facts.statements
    )


def test_a_table_keeps_its_columns_and_misses_no_more_than_a_cell():
    rows = rows_of(
        lines(("Scores",), ("Name", "Age", "Points"), ("Anna", "31", "90"), ("Ben", "45", "72"), ("Eve", "28", "81"))
    )
    table = table_of(rows)
    assert table.head == ("Name", "Age", "Points") and table.body[1] == ("Ben", "45", "72") and table.first == 1
    facts = facts_of(rows)
    assert facts.kind == "a table" and "Points: largest Anna 90, smallest Ben 72, sum 243." in facts.statements
    holed = [
        line
        for line in lines(("Name", "Age", "Points"), ("Anna", "31", "90"), ("Ben", "45", "72"))
        if line.text != "31"
    ]
    assert table_of(rows_of(holed)).body[0] == ("Anna", "-", "90")


def test_plain_text_has_no_kind_and_no_sums():
    facts = facts_of(rows_of(lines(("Summer Concert",), ("Saturday, 14 June",), ("7:30 pm",), ("Town Hall",))))
    assert facts.kind == "" and facts.statements == ("Date: 14 June. Day: Saturday. Time: 7:30 pm.",)
    assert facts_of([]).statements == () and facts_of([]).rows == 0


def test_rows_tell_their_place_and_size_where_that_says_something():
    words = Evidence((500, 400), (("x", 0.01),), (
        TextLine("SALE", 0.9, (0.2, 0.05, 0.8, 0.25), 0), TextLine("ends soon", 0.9, (0.3, 0.5, 0.7, 0.55), 1),
        TextLine("terms apply", 0.9, (0.7, 0.9, 0.95, 0.95), 2),
    ), (("red", 1.0),)).to_text()  # fmt: skip
    assert "SALE (top, large)" in words and "terms apply (bottom right)" in words and "3 lines of text." in words
    receipt = Evidence((500, 800), (("web page", 0.9),), RECEIPT, (("white", 1.0),)).to_text()
    assert "Apples | 2.40\n" in receipt and receipt.startswith("This looks like a receipt or bill.")
