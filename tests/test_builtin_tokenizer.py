"""The built-in model's tokenizer beside the one of transformers, from which it must not differ."""

from __future__ import annotations

import random

import jinja2
import pytest
from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from recap.targets import base
from recap.targets.builtin import store
from recap.targets.builtin.tokenizer import ChatTokenizer

FOLDER = store.cache_folder() / "smollm2-135m-instruct-1"
pytestmark = pytest.mark.skipif(
    store.fault(FOLDER) is not None, reason="the built-in model is not set up: python -m recap.targets.builtin.assets"
)


@pytest.fixture(scope="module")
def both() -> tuple[ChatTokenizer, PreTrainedTokenizerFast]:
    return ChatTokenizer(FOLDER), PreTrainedTokenizerFast.from_pretrained(FOLDER, local_files_only=True)


def texts() -> list[str]:
    drawn, planes = random.Random(0), ((32, 127), (160, 0x3000), (0x1F300, 0x1F600))
    some = ["".join(chr(drawn.randrange(*drawn.choice(planes))) for _ in range(60)) for _ in range(100)]
    return ["", "\n", "a , b .  c", "  led\tby\n\n space ", "<|im_start|>user\nhi<|im_end|>", "<|endoftext|>", *some]


def test_texts_and_ids(both: tuple[ChatTokenizer, PreTrainedTokenizerFast]) -> None:
    ours, theirs = both
    for text in texts():
        for special in (False, True):
            ids = ours(text, add_special_tokens=special)["input_ids"]
            assert ids == theirs(text, add_special_tokens=special)["input_ids"]
        for skipped in (False, True):
            wanted = theirs.decode(ids, skip_special_tokens=skipped, clean_up_tokenization_spaces=False)
            assert ours.decode(ids, skip_special_tokens=skipped) == wanted


def test_every_token(both: tuple[ChatTokenizer, PreTrainedTokenizerFast]) -> None:
    ours, theirs = both
    for token in range(len(theirs) + 2):
        piece = ours.convert_ids_to_tokens(token)
        assert piece == theirs.convert_ids_to_tokens(token)
        assert piece is None or ours.convert_tokens_to_string([piece]) == theirs.convert_tokens_to_string([piece])
    assert (ours.bos_token, ours.eos_token, ours.eos_token_id) == (theirs.bos_token, theirs.eos_token, theirs.eos_token_id)
    controls = [{at: (str(token), token.special) for at, token in one.added_tokens_decoder.items()} for one in both]
    assert controls[0] == controls[1] and len(controls[0]) > 3


def test_bytes_are_written_as_in_gpt2() -> None:
    assert base._BYTES == {character: byte for byte, character in bytes_to_unicode().items()}


def test_chats(both: tuple[ChatTokenizer, PreTrainedTokenizerFast]) -> None:
    ours, theirs = both
    asked = [{"role": "user", "content": "a < b &\n  {{ c }} "}]
    chats = [asked, [{"role": "system", "content": "Be brief."}, *asked, {"role": "assistant", "content": "d"}, *asked]]
    for chat in chats:
        for opened in (False, True):
            wanted = theirs.apply_chat_template(chat, tokenize=False, add_generation_prompt=opened)
            assert ours.apply_chat_template(chat, add_generation_prompt=opened) == wanted
    with pytest.raises(jinja2.TemplateError):
        ours.apply_chat_template([{"role": "user"}])


def test_what_it_cannot_do_is_said(both: tuple[ChatTokenizer, PreTrainedTokenizerFast], tmp_path) -> None:
    ours, _ = both
    with pytest.raises(ValueError, match="PromptTokenizer"):
        ours.apply_chat_template([], tokenize=True)
    with pytest.raises(ValueError, match="spaces"):
        ours.decode([5], clean_up_tokenization_spaces=True)
    with pytest.raises(ValueError, match="tokenizer.json is no tokenizer"):
        ChatTokenizer(tmp_path)
