"""Tokens as people can read them, and text that no picture can take for markup."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

_BLANKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\x7f": "␡"}


@lru_cache(maxsize=4096)  # a tree of 60 nodes asks for its few dozen tokens again and again
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
        used += breadth(character)
        kept.append(character)
        if used > width:
            while kept and used > width - 1:
                used -= breadth(kept.pop())
            return "".join(kept) + "…"
    return text


@lru_cache(maxsize=1024)
def breadth(character: str) -> float:
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


def typed(text: str) -> str:
    """`literal`, with the blanks that Markdown would drop or take for the margin of a block of code."""
    return re.sub(r"(?m)^[ \t]+|(?<= )[ \t]+", lambda blanks: "&#160;" * len(blanks[0].expandtabs(4)), literal(text))


_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False, "breaks": True})
    .enable("table")
    .disable(["html_block", "html_inline", "image", "link", "autolink", "reference"])
)
_TAGS = frozenset(
    "p strong em ul ol li h1 h2 h3 h4 h5 h6 blockquote hr table thead tbody tr th td".split()
)  # fmt: skip


def answer(markdown: str) -> str:
    """A model's Markdown as one line of HTML: emphasis, headings, lists, tables and code, nothing else.

    Pictures, links and tags stay the text that they are. Every tag in the result is one of a fixed few (an ordered
    list may say where it starts), and every punctuation mark of the text is a character reference, so no reader of the
    result can find another tag, picture or link in it, whatever it takes for Markdown.
    """
    return "".join(_plain_html(_MARKDOWN.parse(markdown)))


def _plain_html(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield from _plain_html(token.children or [])
        elif token.type in ("softbreak", "hardbreak"):
            yield "<br>"
        elif token.type == "code_inline":
            yield f"<code>{_one_line(token.content)}</code>"
        elif token.type in ("fence", "code_block"):
            more = token.info if " " in token.info.strip() else ""  # text behind the fence, not a language's name
            code = f"{more}\n{token.content}" if more else token.content
            yield f"<pre><code>{_one_line(code.rstrip())}</code></pre>"
        elif token.tag not in _TAGS:
            yield _one_line(token.content)
        elif not token.hidden:
            start = f' start="{int(token.attrs["start"])}"' if token.tag == "ol" and "start" in token.attrs else ""
            yield f"</{token.tag}>" if token.nesting < 0 else f"<{token.tag}{start}>"


def _one_line(text: str) -> str:
    """`literal`, with line ends and tabs as references too: an empty line would end a block of HTML."""
    return "".join(f"&#{ord(one)};" if one in "\n\r\t" else one for one in literal(text))


def html(text: str) -> str:
    """Plain text for HTML."""
    return escape(text).replace('"', "&quot;").replace("'", "&#39;")
