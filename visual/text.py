"""Tokens as people can read them, and text that no picture can take for markup."""

from __future__ import annotations

import re
import textwrap
import unicodedata

_BLANKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\x7f": "␡"}


def visible(token: str) -> str:
    """A token with its blanks, control characters and invisible marks shown; "(empty)" for no text at all."""
    return "".join(map(_show, token)) or "(empty)"


def _show(character: str) -> str:
    if character in _BLANKS:
        return _BLANKS[character]
    if character < " ":
        return chr(0x2400 + ord(character))
    if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Cn") and character != "\u200d":
        return f"⟨{ord(character):04x}⟩"
    return character


def shorten(text: str, width: float) -> str:
    """At most about `width` average letters wide, the last one "…" where something was cut."""
    used, kept = 0.0, []
    for character in text:
        used += _width(character)
        kept.append(character)
        if used > width:
            while kept and used > width - 1:
                used -= _width(kept.pop())
            return "".join(kept) + "…"
    return text


def _width(character: str) -> float:
    """In average letters of a proportional font, roughly."""
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.9
    if character in "iljtfrI.,:;'!|()[] ":
        return 0.65
    return 1.45 if character in "mwMW%@⟨⟩" else 1.2 if character.isupper() else 1.0


def label(token: str, width: float = 9.5) -> str:
    """A token for a node: visible, cut, and escaped for Plotly."""
    return escape(shorten(visible(token), width))


def quote(token: str, width: float = 40) -> str:
    """A token inside a sentence, as plain text: visible and cut, in “”."""
    return f"“{shorten(visible(token), width)}”"


def escape(text: str) -> str:
    """For any Plotly text. Plotly reads a subset of HTML there and knows no entity for quotes, which need none."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def lines(text: str, width: int = 46) -> str:
    """Plain text, wrapped and escaped for a Plotly hover or annotation."""
    return "<br>".join(escape(line) for line in textwrap.wrap(text, width, break_on_hyphens=False))


def literal(text: str) -> str:
    """A person's text for a Markdown view that must show it as typed: no tag, no emphasis, no link."""
    marks = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    return "".join(f"&#{ord(character)};" if character in marks else character for character in text)


def answer(markdown: str) -> str:
    """A model's Markdown without raw HTML and without pictures, which could name any address. Code stays as it is."""
    parts = re.split(r"(```.*?(?:```|\Z)|`[^`\n]+`)", markdown, flags=re.DOTALL)
    parts[::2] = [part.replace("<", "&lt;").replace("![", "!&#91;") for part in parts[::2]]
    return "".join(parts)


def html(text: str) -> str:
    """Plain text for HTML."""
    return escape(text).replace('"', "&quot;").replace("'", "&#39;")
