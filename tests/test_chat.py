"""Chats as people pass them."""

from __future__ import annotations

import pytest

from recap.chat import read_chat


def test_a_string_is_one_user_message_with_its_pictures_in_front():
    messages, pictures = read_chat("What is this?", ["a", "b"])
    assert [(m.role, m.parts) for m in messages] == [("user", (0, 1, "What is this?"))]
    assert pictures == ["a", "b"]
    assert messages[0].text == "[picture]\n[picture]\nWhat is this?"


@pytest.mark.parametrize(("images", "pictures"), [("a.png", ["a.png"]), (b"bytes", [b"bytes"]), (None, []), ((), [])])
def test_one_picture_needs_no_list(images, pictures):
    assert read_chat("What is this?", images)[1] == pictures


def test_parts_consume_pictures_in_order():
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "One"}]},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": [{"type": "text", "text": "Two"}, {"type": "image", "image": "own"}, {"type": "image"}]},
    ]
    messages, pictures = read_chat(chat, ["first", "second"])
    assert pictures == ["first", "own", "second"]
    assert [m.parts for m in messages] == [("Be brief.",), (0, "One"), ("Yes.",), ("Two", 1, 2)]


def test_pictures_without_parts_join_the_last_user_message():
    messages, pictures = read_chat([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}], ["x"])
    assert [m.parts for m in messages] == [("a",), (0, "b")] and pictures == ["x"]


@pytest.mark.parametrize(
    ("chat", "images", "words"),
    [
        ([], [], "end with a user message"),
        ([{"role": "assistant", "content": "a"}], [], "end with a user message"),
        ([{"role": "judge", "content": "a"}], [], "role"),
        ([{"role": "user"}], [], "message 1"),
        ([{"role": "user", "content": 3}], [], "content"),
        ([{"role": "user", "content": [{"type": "video"}]}], [], "part"),
        ([{"role": "user", "content": [{"type": "image"}]}], [], "no picture is left"),
        ([{"role": "user", "content": [{"type": "image"}]}], ["a", "b"], "room for 1"),
        (7, [], "string or a list"),
        ("half \ud800", [], "not Unicode text"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(chat, images, words):
    with pytest.raises((TypeError, ValueError), match=words):
        read_chat(chat, images)
