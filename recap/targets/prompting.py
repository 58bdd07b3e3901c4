"""From chat to token ids, so that text typed by a person never becomes a control token.

The template's own control tokens are tokenised as such. A control token spelled out in a person's text is cut after its
first character before the chat is rendered, and the rendered chat is tokenised piece by piece at the cuts: the
characters stay, the token cannot form. Chats without such text take the tokenizer's ordinary way and give its
ordinary ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from jinja2 import TemplateError

from ..chat import Message

_PRIVATE_USE = [chr(code) for code in range(0xE000, 0xF8FF)]


class PromptTokenizer:
    """Renders chats with a template and tokenises them safely.

    `render(messages)` turns template messages into text; `holds_parts` says whether content is a list of parts (picture
    templates) or a plain string.
    """

    def __init__(self, tokenizer: Any, render: Callable[[list[dict]], str], holds_parts: bool) -> None:
        self.tokenizer = tokenizer
        self._render = render
        self._holds_parts = holds_parts
        control = [
            str(token)
            for token in tokenizer.added_tokens_decoder.values()
            if len(str(token).strip()) > 1 and (token.special or re.fullmatch(r"[<\[].*[>\]]", str(token)))
        ]
        longest_first = sorted(control, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self._newline = self._encode("\n")

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Ids of the whole chat with the generation prompt; pictures are one placeholder each, not yet expanded."""
        cut, _ = self._marks(messages)
        return self._encode_pieces(self._rendered(messages, cut).split(cut), opening=True)

    def encode_turn(self, history: Sequence[Message], messages: Sequence[Message]) -> list[int]:
        """Ids that follow the last assistant answer of `history`, whose own ids are already known.

        The answer is rendered as a mark and everything after the mark is tokenised, so that the ids of earlier turns
        stay exactly those that the model saw and produced.
        """
        cut, answer = self._marks([*history, *messages])
        known = [*history[:-1], Message("assistant", (answer,))]
        rendered = self._rendered([*known, *messages], cut)
        head, mark, tail = rendered.rpartition(answer)
        if not mark:
            raise ValueError("this model's chat template drops earlier answers, so a conversation cannot be continued")
        return self._encode_pieces(tail.split(cut), opening=False)

    def encode_text(self, text: str) -> list[int]:
        """Ids of a person's text by itself: no control token, no special tokens added."""
        cut, _ = self._marks([Message("user", (text,))])
        return self._encode_pieces(self._cut(text, cut).split(cut), opening=False)

    def _marks(self, messages: Sequence[Message]) -> tuple[str, str]:
        """Two characters that occur in none of the messages."""
        used = set().union(*(set(part) for message in messages for part in message.parts if isinstance(part, str)))
        free = (char for char in _PRIVATE_USE if char not in used)
        try:
            return next(free), next(free)
        except StopIteration:
            raise ValueError("the text uses every private-use character of Unicode; remove some of them") from None

    def _cut(self, text: str, cut: str) -> str:
        """Break every control token after its first character; the rest of it may begin another one."""
        pieces, begin = [], 0
        while match := self._control.search(text, begin):
            pieces.append(text[begin : match.start() + 1])
            begin = match.start() + 1
        return cut.join([*pieces, text[begin:]])

    def _rendered(self, messages: Sequence[Message], cut: str) -> str:
        try:
            return self._render(self._templated(messages, cut))
        except TemplateError as error:
            raise ValueError(f"this model's chat template does not take such a chat: {error}") from error

    def _templated(self, messages: Sequence[Message], cut: str) -> list[dict]:
        rendered = []
        for message in messages:
            parts = [self._cut(part, cut) if isinstance(part, str) else part for part in message.parts]
            if self._holds_parts:
                content: Any = [
                    {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in parts
                ]
            else:
                content = "\n".join(part for part in parts if isinstance(part, str))
            rendered.append({"role": message.role, "content": content})
        return rendered

    def _encode_pieces(self, pieces: list[str], opening: bool) -> list[int]:
        ids = self._encode(pieces[0], self._adds_bos(pieces[0])) if opening else self._encode_after(pieces[0])
        for piece in pieces[1:]:
            ids += self._encode_after(piece)
        return ids

    def _adds_bos(self, text: str) -> bool:
        bos = self.tokenizer.bos_token
        return not (bos and text.startswith(bos))

    def _encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=add_special_tokens)["input_ids"])

    def _encode_after(self, piece: str) -> list[int]:
        """Ids of text in the middle of a chat, without the space that some tokenizers put before an opening word."""
        if not piece:
            return []
        ids = self._encode("\n" + piece)
        if self._newline and ids[: len(self._newline)] == self._newline:
            return ids[len(self._newline) :]
        return self._encode(piece)
