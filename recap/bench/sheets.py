"""A table to print and to write."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass


@dataclass
class Table:
    """A table to print and to write."""

    name: str
    """Of its file."""
    title: str
    columns: list[str]
    rows: list[list[str | int | float | None]]
    """The first entry names the row. Floats are shown with `digits` decimals, None as a dash."""
    digits: int = 2

    def text(self) -> str:
        """Title and columns side by side."""
        shown = [self.columns, *([_shown(value, self.digits) for value in row] for row in self.rows)]
        widths = [max(len(row[at]) for row in shown) for at in range(len(self.columns))]
        lines = [
            "  ".join(value.rjust(width) if at else value.ljust(width) for at, (value, width) in enumerate(zip(row, widths)))
            for row in shown
        ]
        return "\n".join([self.title, *lines])

    def csv(self) -> str:
        """Columns and rows, numbers in full."""
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([self.columns, *self.rows])
        return file.getvalue()


def _shown(value: str | int | float | None, digits: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}f}" if isinstance(value, float) else str(value)
