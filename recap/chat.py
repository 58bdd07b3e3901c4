"""Chats as people pass them: a string, or a list of {"role", "content"} with text and picture parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class Message:
    """One turn. `parts` holds text (str) and pictures (int, an index into the request's pictures)."""

    role: str
    parts: tuple[str | int, ...]

    @property
    def text(self) -> str:
        """All text of the message, pictures shown as "[picture]"."""
        return "\n".join(part if isinstance(part, str) else "[picture]" for part in self.parts)


def read_chat(prompt: str | Sequence[dict[str, Any]], images: Sequence[Any] = ()) -> tuple[list[Message], list[Any]]:
    """Messages and their pictures in order of appearance.

    Picture parts ({"type": "image"}) consume `images` in order, or carry their own picture under "image". Without any
    picture part, `images` are placed before the text of the last user message. One picture may come without a list.
    Raises TypeError or ValueError, naming the message, for anything that is not such a chat.
    """
    if not isinstance(images, (list, tuple)):
        images = [] if images is None else [images]
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    if not isinstance(prompt, Sequence):
        raise TypeError(f"prompt must be a string or a list of messages, not {type(prompt).__name__}")
    waiting = list(images)
    pictures: list[Any] = []
    messages = [_read_message(number, raw, waiting, pictures) for number, raw in enumerate(prompt, start=1)]
    if not messages or messages[-1].role != "user":
        raise ValueError("the chat must end with a user message: that is the one to be answered")
    if waiting and pictures:
        raise ValueError(
            f"the chat has room for {len(pictures)} pictures but {len(pictures) + len(waiting)} were given: "
            'add a {"type": "image"} part for each picture, or leave all such parts out'
        )
    if waiting:
        last = messages[-1]
        messages[-1] = Message(last.role, (*range(len(waiting)), *last.parts))
        pictures = waiting
    return messages, pictures


def _read_message(number: int, raw: Any, waiting: list[Any], pictures: list[Any]) -> Message:
    if not isinstance(raw, dict) or "role" not in raw or "content" not in raw:
        raise ValueError(f'message {number} must be a dict with "role" and "content", got {str(raw)[:80]!r}')
    if raw["role"] not in ROLES:
        raise ValueError(f"message {number} has the role {raw['role']!r}; the roles are {', '.join(ROLES)}")
    content = raw["content"]
    if isinstance(content, str):
        return Message(raw["role"], (_whole(number, content),))
    if not isinstance(content, Sequence):
        raise ValueError(f"message {number}: content must be text or a list of parts, not {type(content).__name__}")
    parts: list[str | int] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            parts.append(_whole(number, part["text"]))
        elif kind == "image":
            if part.get("image") is None and not waiting:
                raise ValueError(f"message {number} has a picture part, but no picture is left in images")
            pictures.append(part["image"] if part.get("image") is not None else waiting.pop(0))
            parts.append(len(pictures) - 1)
        else:
            raise ValueError(f'message {number}: a part must be {{"type": "text", "text": ...}} or {{"type": "image"}}')
    return Message(raw["role"], tuple(parts))


def _whole(number: int, text: str) -> str:
    """Half of a surrogate pair is no character: it comes from text that was read in the wrong encoding."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"message {number} holds something that is not Unicode text ({error.reason})") from None
    return text
