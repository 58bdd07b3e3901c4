"""The target: a vision-language model behind the few questions that decoding asks of it.

`Target` serves every transformers image-text-to-text model whose cache simply grows, LLaVA and LLaVA-NeXT included.
A family that differs overrides the one method in which it differs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..budget.learned import Learned, known
from ..chat import Message, read_chat
from ..pictures import digest, open_picture
from .predictions import Predictions
from .prompt import Opened, Picture, Prompt, expand
from .prompting import PromptTokenizer
from .trees import PackedTree

if TYPE_CHECKING:
    from .cache import PackedCache

_PREFILL_TOKENS = 1024
"""Prompt tokens evaluated at once, unless the runtime names fewer: others wait meanwhile."""
_BYTE = re.compile("<0x[0-9A-F]{2}>")
"""How vocabularies with byte fallback name a single byte."""


class Target:
    """A loaded model with its processor. Make one with `recap.load_target` or `recap.wrap`."""

    note = ""
    """A sentence that must stand beside the model's name wherever people see it."""

    def __init__(
        self, model: torch.nn.Module, processor: Any, name: str = "", exact: bool | str = "auto",
        runtime: Any = None, graphs: bool = False,
    ) -> None:  # fmt: skip
        if runtime is None:  # transformers' models take seconds to import, and the compiled passes do without
            from .runtime import Runtime

            runtime = Runtime(model, exact, graphs)
        self.runtime = runtime
        self.model = model
        self.processor = processor
        self.tokenizer = getattr(processor, "tokenizer", processor)
        self.name = name or getattr(model, "name_or_path", "") or type(model).__name__
        self.device = str(self.runtime.device)
        self.dtype = str(self.runtime.dtype).removeprefix("torch.")
        self.exact = self.runtime.exact or self.runtime.dtype == torch.float32
        """Whether a draft cannot change the answer. In half precision: passes of every size were bit-identical at load.
        float32 counts as exact: there passes differ in the last bits only, which no test has seen flip a token."""
        self.exactness: str = self.runtime.exactness
        """A sentence on `exact`: off, not needed, found at load, or what cannot be had."""
        self.end_ids = frozenset(_end_ids(model, self.tokenizer))
        self.placeholder, self.banned = placeholders(model.config)
        self.context_limit: int | None = getattr(self.runtime.text_config, "max_position_embeddings", None)
        self.prompter = self._make_prompter()
        self.learned: Learned | None = None
        """What its passes cost and how often candidates are accepted, once `measure` or a budget asked for it."""
        self._texts: dict[int, str] = {}

    def _make_prompter(self) -> PromptTokenizer:
        if getattr(self.processor, "chat_template", None) is None:
            raise ValueError(f"{self.name} has no chat template, so RECAP cannot tell how to ask it a question")
        template = self.processor.chat_template

        def render(messages: list[dict]) -> str:
            # the tokenizer's renderer: some processors' own one insists on a video processor
            return self.tokenizer.apply_chat_template(
                messages, chat_template=template, tokenize=False, add_generation_prompt=True
            )

        return PromptTokenizer(self.tokenizer, render, holds_parts=True)

    def describe(self) -> dict[str, Any]:
        """Name, device, dtype, exact with a sentence on it, what runs the passes, and note, for people to read."""
        return {
            "name": self.name, "device": self.device, "dtype": self.dtype, "exact": self.exact,
            "exactness": self.exactness, "passes": self.runtime.describe(), "note": self.note,
        }  # fmt: skip

    def warm_up(self, progress: Callable[[str, float | None], None] | None = None) -> None:
        """Do now what the first question would otherwise wait for: measure what passes cost."""
        self.measure(progress)

    def measure(self, progress: Callable[[str, float | None], None] | None = None) -> Learned:
        """What passes cost here: measured in a second or two, unless this or an earlier run has done it."""
        return known(self, progress)

    # pictures and prompts

    def open(self, source: Any) -> Opened:
        """Decode a picture from a path, bytes, a PIL image or an array. Raises PictureError for anything else."""
        image = open_picture(source)
        return Opened(image, digest(image))

    def see(self, opened: Opened) -> Picture:
        """Preprocess a picture: how many tokens it takes, and the inputs of the encoder."""
        if self.placeholder is None:
            raise ValueError(f"{self.name} takes no pictures; ask without one or choose a vision-language model")
        token = self.tokenizer.convert_ids_to_tokens(self.placeholder)
        inputs = self.processor(images=[opened.image], text=[token], add_special_tokens=False, return_tensors="pt")
        wanted = inspect.signature(self.model.base_model.get_image_features).parameters
        given = {key: value for key, value in inputs.items() if key in wanted and isinstance(value, torch.Tensor)}
        layout = {key: value for key, value in given.items() if not key.startswith("pixel_")}
        return Picture(opened.digest, *opened.image.size, inputs["input_ids"][0].tolist(), pixels=given, layout=layout)

    def encode(self, picture: Picture) -> None:
        """Run the model's picture encoder, once per picture."""
        if picture.features is None and picture.pixels:
            picture.features = self.runtime.encode(picture.pixels)
            picture.pixels = {}

    def prompt(self, chat: str | Sequence[dict[str, Any]], images: Sequence[Any] = ()) -> Prompt:
        """Ids of a whole chat. Raises ValueError for a chat or picture that cannot be used."""
        messages, sources = read_chat(chat, images)
        return self.assemble(messages, [self.see(self.open(source)) for source in sources])

    def assemble(self, messages: list[Message], pictures: Sequence[Picture]) -> Prompt:
        """A prompt for messages whose picture parts index `pictures`."""
        written = self.written(messages, pictures)
        ids, spans = expand(self.prompter.encode_chat(written), self.placeholder, self._blocks(pictures))
        return self.place(Prompt(np.array(ids, dtype=np.int64), messages, list(pictures), spans))

    def follow(
        self, before: Prompt, answer: Sequence[int], messages: list[Message], pictures: Sequence[Picture]
    ) -> Prompt:
        """The prompt of the next turn: everything seen and produced keeps its ids, the new messages come behind."""
        spoken = list(answer)
        while spoken and spoken[-1] in self.end_ids:  # the template writes its own end of turn
            spoken.pop()
        history = [*before.messages, Message("assistant", (self.decode(spoken),))]
        known = [*before.ids.tolist(), *spoken]
        turn = self.prompter.encode_turn(history, self.written(messages, pictures, before.pictures))
        tail, spans = expand(turn, self.placeholder, self._blocks(pictures), len(known))
        ids = np.array(known + tail, dtype=np.int64)
        everything = [*before.pictures, *pictures]
        return self.place(Prompt(ids, [*history, *messages], everything, [*before.spans, *spans]))

    def written(
        self, messages: list[Message], pictures: Sequence[Picture], before: Sequence[Picture] = ()
    ) -> list[Message]:
        """Messages as the chat template gets them; `before`: pictures of earlier turns. A model with eyes of its own
        takes them as they are."""
        return messages

    def shown(self, prompt: Prompt) -> list[dict[str, Any]]:
        """What a trace keeps of the prompt's pictures, as JSON types."""
        return [picture.to_dict() for picture in prompt.pictures]

    def _blocks(self, pictures: Sequence[Picture]) -> Sequence[Picture]:
        return pictures if self.placeholder is not None else ()

    def place(self, prompt: Prompt) -> Prompt:
        """Give the prompt its positions. Plain models count from 0 and need nothing."""
        return prompt

    # passes

    def new_cache(self) -> PackedCache:
        """An empty cache."""
        return self.runtime.new_cache()

    def prefill(self, prompt: Prompt, start: int, cache: PackedCache) -> Iterator[torch.Tensor]:
        """Evaluate the prompt from `start` (what the cache holds) on, a part at a time so that it can be left off.

        Yields hidden states (m, hidden size), n - start rows in all. A picture's block is never divided.
        """
        cuts = self._cuts(prompt, start)
        for begin, end in zip(cuts, cuts[1:]):
            yield self._evaluate(prompt, begin, end, cache)

    def _cuts(self, prompt: Prompt, start: int) -> list[int]:
        n = len(prompt.ids)
        # a placeholder that the model itself said stands for no picture: it is evaluated apart from those that do
        said = np.nonzero((prompt.ids[start:] == self.placeholder) & ~prompt.pictured()[start:])[0] + start
        cuts = {start, n, *said.tolist(), *(said + 1).tolist()}
        part = min(_PREFILL_TOKENS, getattr(self.runtime, "prefill_tokens", _PREFILL_TOKENS))
        at = start + part
        while at < n:
            at = next((span.end for span in prompt.spans if span.start < at < span.end), at)
            cuts.add(at)
            at += part
        return sorted(cuts)

    def _evaluate(self, prompt: Prompt, begin: int, end: int, cache: PackedCache) -> torch.Tensor:
        positions = None if prompt.positions is None else prompt.positions[:, begin:end]
        features = _join_features([span.picture.features for span in prompt.spans if begin <= span.start < end])
        inputs: dict[str, Any] = {}
        if features is not None:
            inputs["mm_encoder_outputs"] = {"image": features}
            if "mm_token_type_ids" in self.runtime.body_inputs:
                pictured = torch.from_numpy(prompt.pictured()[begin:end])
                inputs["mm_token_type_ids"] = pictured.int()[None].to(self.runtime.device)
        return self.runtime.prefill(prompt.ids[begin:end], cache, positions, **inputs)

    def predict(self, hidden: torch.Tensor) -> Predictions:
        """Logits for hidden states."""
        return self.runtime.predict(hidden)

    def verify(
        self, tokens: np.ndarray, depths: np.ndarray, mask: np.ndarray, cache: PackedCache, rope_delta: int
    ) -> Predictions:
        """One pass over a packed tree; see `Runtime.verify`."""
        return self.runtime.verify(tokens, depths, mask, cache, rope_delta)

    @property
    def packs(self) -> bool:
        """Whether one pass can verify the trees of several answers without a change to any of them."""
        return self.exact and hasattr(self.runtime, "verify_all")

    def verify_all(self, trees: Sequence[PackedTree]) -> list[Predictions]:
        """Predictions for each of several answers' trees: in one pass, which gives every node the bits that it has alone,
        where the target `packs`, else one after the other."""
        if self.packs and len(trees) > 1:
            return self.runtime.verify_all(trees)
        return [self.verify(*tree) for tree in trees]

    # text

    def decode(self, ids: Iterable[int]) -> str:
        """Text of an answer, control tokens left out."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def settled(self, ids: Sequence[int]) -> list[int]:
        """The ids whose text no later token can change: without a run of single bytes at the end."""
        end = len(ids)
        while end and _BYTE.fullmatch(self.tokenizer.convert_ids_to_tokens(ids[end - 1]) or ""):
            end -= 1
        return list(ids[:end])

    def text_of(self, token: int) -> str:
        """Text of one token with its leading space; part of a character is shown as its bytes, such as <E2><82>."""
        text = self._texts.get(token)
        if text is None:
            text = self._texts[token] = self._text_of(token)
        return text

    def _text_of(self, token: int) -> str:
        piece = self.tokenizer.convert_ids_to_tokens(token)
        if piece is None:
            return f"<{token}>"
        if piece.startswith("▁"):
            return piece.replace("▁", " ")
        text = self.tokenizer.convert_tokens_to_string([piece])
        return text if text and "\ufffd" not in text else _as_bytes(piece)


def _as_bytes(piece: str) -> str:
    """A token that is no whole character: its bytes, when the vocabulary is byte-level, else the raw piece."""
    if all(char in _BYTES for char in piece):
        return "".join(f"<{_BYTES[char]:02X}>" for char in piece)
    return piece


def _written_bytes() -> dict[str, int]:
    """Bytes by the characters that byte-level vocabularies (GPT-2's and all after it) write them as: visible Latin-1 as it
    is, the others, in their order, as the characters from 256 on."""
    visible = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + at): byte for at, byte in enumerate(hidden)}


_BYTES = _written_bytes()


def _end_ids(model: torch.nn.Module, tokenizer: Any) -> list[int]:
    config = getattr(model, "generation_config", None)
    for ids in (getattr(config, "eos_token_id", None), getattr(tokenizer, "eos_token_id", None)):
        if ids is not None:
            return [ids] if isinstance(ids, int) else list(ids)
    return []


def placeholders(config: Any) -> tuple[int | None, tuple[int, ...]]:
    """The picture placeholder, and all ids that stand for something other than text."""
    named = [getattr(config, name, None) for name in ("image_token_id", "image_token_index")]
    placeholder = next((token for token in named if isinstance(token, int)), None)
    others = [getattr(config, name, None) for name in ("video_token_id", "video_token_index", "audio_token_id")]
    banned = {token for token in [placeholder, *others] if isinstance(token, int)}
    return placeholder, tuple(sorted(banned))


def _join_features(features: list[Any]) -> Any:
    """Encoder outputs of several pictures as the encoder would have given them for all at once."""
    if not features:
        return None
    if len(features) == 1:
        # forward passes may write into the output they are given
        return type(features[0])(**features[0])
    joined = {}
    for key in features[0]:
        values = [output[key] for output in features]
        if key == "deepstack_features":
            joined[key] = [torch.cat(level, dim=0) for level in zip(*values)]
        elif isinstance(values[0], torch.Tensor):
            joined[key] = torch.cat(values, dim=0) if key == "pooler_output" else None
        else:
            joined[key] = [item for value in values for item in value] if key == "pooler_output" else None
    return type(features[0])(**joined)
