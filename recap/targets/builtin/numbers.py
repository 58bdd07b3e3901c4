"""Numbers as people print them: prices, percentages, thousands; and back."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NUMBER = re.compile(
    r"(?P<before>[£$€¥]|[A-Z]{3} ?)? ?(?P<sign>[-−–])?(?P<digits>\d{1,3}(?:[ ,]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)"
    r" ?(?P<after>%|[£$€¥]|[A-Z]{3}|k|K|m|M|bn|kg|km|g|°C?|h|min)?"
)


@dataclass(frozen=True)
class Number:
    """A printed number: its value and what surrounded it."""

    value: float
    decimals: int
    before: str = ""
    """Currency sign in front."""
    after: str = ""
    """Unit behind: "%", "€", "kg", ..."""

    @property
    def money(self) -> bool:
        """Whether it looks like a price: two decimals or a currency sign."""
        return self.decimals == 2 or bool(self.before) or self.after in ("£", "$", "€", "¥")

    def like(self, value: float) -> str:
        """Another value, written the same way."""
        return f"{self.before}{value:.{self.decimals}f}{self.after}"


def read_number(text: str) -> Number | None:
    """The number that `text` is, if it is nothing else. A comma before exactly three digits separates thousands."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    digits = match["digits"].replace(" ", "")
    if "." in digits or re.fullmatch(r"\d{1,3}(,\d{3})+", digits):
        digits = digits.replace(",", "")
    digits = digits.replace(",", ".")
    decimals = len(digits.partition(".")[2])
    value = float(digits) * (-1 if match["sign"] else 1)
    return Number(value, decimals, (match["before"] or "").strip(), match["after"] or "")


def plain(value: float, decimals: int = 3) -> str:
    """Shortest decimal form: 12, 12.5, 0.125."""
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
