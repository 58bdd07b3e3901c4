"""Small tokenizers trained on the spot: byte-level BPE, and two shapes of SentencePiece-like BPE."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import LlamaTokenizer, PreTrainedTokenizerFast, Qwen2Tokenizer

CORPUS = """
A picture shows a small harbour in the morning. Two boats lie at the stone wall, one red and one blue, and the water is
so still that both of them can be seen twice. A woman in a yellow coat carries a basket of fish up the steps. Behind
her stands a row of narrow houses with green doors, and over the roofs the hills are grey with rain. What is the woman
carrying? She is carrying a basket of fish. How many boats are there? There are two boats. What colour are the doors?
The doors are green. The table lists the price of bread, milk, eggs and coffee for the years from 1998 to 2024. In the
first column the price is given in cents, in the second column in per cent of the price of the year before. Which of
them rose the most? Coffee rose the most, from 210 to 645. The sign over the shop says that it is open from nine to
five, and that dogs are welcome. Please describe the image in detail. The image shows a street at night, with the light
of the shops on the wet stones, and people walking home under their umbrellas. In the middle of the street a man with a
bicycle waits for the lights to change. Is it raining? Yes, it is raining. Where is the man? He is standing in the
middle of the street. What is written on the box? The box says: handle with care, this side up. The chart compares the
number of visitors of three museums over twelve months. The line of the first museum rises until July and falls again;
the second line is almost flat; the third begins low and ends high. Read the total on the receipt. The total is 47.30.
Who wrote the letter? The letter was written by her brother, and it came from a town on the other side of the sea.
Count the chairs around the table, then say how many of them are empty. There are six chairs, and four are empty.
"""
LINES = [line for line in CORPUS.split("\n") if line]


@cache
def _byte_level(size: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    )
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


@cache
def _metaspace(size: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Vocabulary in Llama's order: <unk>, <s>, </s>, 256 bytes, pieces."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokenizer.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=size, special_tokens=first, show_progress=False)
    )
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def byte_level(
    end: str, pad: str, special: list[str], plain: tuple[str, ...] = (), size: int = 512, **named: str
) -> Any:
    """Qwen's kind. `special` and `plain` are added tokens; `named` become attributes such as `image_token`."""
    vocab, merges = _byte_level(size)
    tokenizer = Qwen2Tokenizer(vocab=vocab, merges=merges, eos_token=end, pad_token=pad, unk_token=pad,
                               extra_special_tokens=named or None)
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in plain])
    return tokenizer


def llama(special: list[str], plain: tuple[str, ...] = (), size: int = 700) -> Any:
    """Llama's kind: the first piece of a text gets a space in front, `<s>` goes before every text."""
    vocab, merges = _metaspace(size)
    tokenizer = LlamaTokenizer(vocab=vocab, merges=merges, pad_token="<unk>", add_bos_token=True)
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in plain])
    return tokenizer


def llama_legacy(special: list[str], plain: tuple[str, ...] = (), size: int = 700) -> Any:
    """The older layout of the same: a normaliser puts a space before every stretch between added tokens."""
    vocab, merges = _metaspace(size)
    raw = Tokenizer(models.BPE(vocab=vocab, merges=merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    raw.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    raw.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                     decoders.Strip(" ", 1, 0)])
    raw.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B",
                                                       special_tokens=[("<s>", 1)])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
                                        pad_token="<unk>")
    tokenizer.add_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in plain])
    return tokenizer
