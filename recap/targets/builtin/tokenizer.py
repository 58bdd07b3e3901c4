"""The language model's tokenizer and chat template without transformers, whose import takes longer than reading both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Tokenizer


class ChatTokenizer:
    """A folder written by save_pretrained, with what this project asks of a tokenizer; each method gives what the one of
    the same name in transformers' PreTrainedTokenizerFast gives. Raises OSError or ValueError for a folder without it."""

    def __init__(self, folder: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # tokenizers raises plain ones
            raise ValueError(f"{folder / 'tokenizer.json'} is no tokenizer: {error}") from error
        named = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        self.bos_token: str = named["bos_token"]
        self.eos_token: str = named["eos_token"]
        self.eos_token_id: int = self._tokenizer.token_to_id(self.eos_token)
        self.chat_template: str = (folder / "chat_template.jinja").read_text("utf-8")
        # as transformers renders: a template of a model is not trusted, and its blocks leave no empty lines
        rules = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        self._template = rules.from_string(self.chat_template)

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Control tokens by their ids."""
        return self._tokenizer.get_added_tokens_decoder()

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """{"input_ids": ids}; control tokens that the text spells out are taken as such."""
        return {"input_ids": self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids}

    def apply_chat_template(
        self, messages: list[dict[str, Any]], tokenize: bool = False, add_generation_prompt: bool = False
    ) -> str:
        """Messages with strings as content as one text. Raises jinja2.TemplateError for a chat that the template refuses,
        ValueError for `tokenize`."""
        if tokenize:
            raise ValueError("the rendered chat is tokenised by PromptTokenizer; ask with tokenize=False")
        names = {"bos_token": self.bos_token, "eos_token": self.eos_token}
        return self._template.render(messages=messages, add_generation_prompt=add_generation_prompt, **names)

    def decode(
        self, ids: Sequence[int], skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False
    ) -> str:
        """Text of ids. Raises ValueError for `clean_up_tokenization_spaces`: this vocabulary writes its spaces itself."""
        if clean_up_tokenization_spaces:
            raise ValueError("spaces are not cleaned up: a byte-level vocabulary writes them itself")
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)

    def convert_ids_to_tokens(self, token: int) -> str | None:
        """The vocabulary's piece; None for an id that has none."""
        return self._tokenizer.id_to_token(token)

    def convert_tokens_to_string(self, pieces: list[str]) -> str:
        """Text of pieces."""
        return self._tokenizer.decoder.decode(pieces)
