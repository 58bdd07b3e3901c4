"""`builtin`: a stand-in for machines without a GPU or a hub, made of parts from the package registry.

SmolLM2-135M-Instruct has no eyes. A small front end (an ImageNet classifier, a text reader, colours, simple charts)
writes down what it saw, and the language model, trained on such evidence, answers from that text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from ...chat import Message
from ...pictures import digest, open_picture
from .. import cpu
from ..alone import alone
from ..base import Target
from ..prompt import Opened, Picture, Prompt
from ..prompting import PromptTokenizer
from .entries import index_of
from .front_end import FrontEnd
from .language_model import load_language_model, open_language_model
from .lookup import found
from .store import Progress
from .text_reader import LONGEST

COMPILED_DTYPES = ("auto", "float32", "bfloat16")
"""Of the compiled passes. Their arithmetic is float32 in each, so "auto" calls it by its name."""


class BuiltinTarget(Target):
    """The language model behind the front end's eyes. Make one with `recap.load_target("builtin")`."""

    note = (
        "The built-in model is a stand-in for machines without a GPU: SmolLM2-135M reads what a small vision front end "
        "saw (objects, text, colours, simple charts), does not see the picture itself, and is often wrong."
    )

    def __init__(
        self, model: torch.nn.Module | cpu.Checkpoint, tokenizer, exact: bool | str = "auto",
        runtime: cpu.Passes | None = None, graphs: bool = False,
    ) -> None:  # fmt: skip
        self.front_end = FrontEnd()
        super().__init__(model, tokenizer, "builtin", exact, runtime, graphs)

    @classmethod
    def load(
        cls, device: str = "cpu", dtype: str = "auto", exact: bool | str = "auto", progress: Progress | None = None,
        passes: str = "auto", reader: str = "auto", graphs: bool = False,
    ) -> BuiltinTarget:  # fmt: skip
        """From the user's cache folder, filled first if it is empty.

        `passes`: "compiled" (C kernels; on a CPU, in float32 and bfloat16), "torch", or "auto": the first where it can
        be, unless $RECAP_PASSES says otherwise. `reader`: "tuned", "plain" (SmolLM2 as published), a path, or "auto";
        see `reader.chosen`. `graphs`: CUDA graphs, in torch on CUDA. Raises ValueError for what cannot be had.
        """
        chosen = cpu.choose(passes)
        possible = torch.device(device).type == "cpu" and dtype in COMPILED_DTYPES
        if passes == "compiled" and not possible:
            known = " or ".join(COMPILED_DTYPES[1:])
            raise ValueError(f"the compiled passes run on a CPU in {known}, not on {device} in {dtype}")
        if chosen == "compiled" and possible and not graphs:
            checkpoint, tokenizer = open_language_model(progress, reader)
            wanted = torch.float32 if dtype == "auto" else getattr(torch, dtype)
            threads = torch.get_num_threads()  # of the passes; the weights are read and merged by one
            return cls(checkpoint, tokenizer, runtime=alone(lambda: cpu.Passes(checkpoint, wanted, exact, threads)))
        wanted = _natural_dtype(device) if dtype == "auto" else getattr(torch, dtype)
        return cls(*load_language_model(wanted, device, progress, reader), exact, graphs=graphs)

    def _make_prompter(self) -> PromptTokenizer:
        def render(messages: list[dict]) -> str:
            return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

        return PromptTokenizer(self.tokenizer, render, holds_parts=False)

    def warm_up(self, progress: Progress | None = None) -> None:
        """Load the front end's parts, some seconds, by looking at a blank picture; measure what passes cost."""
        self.front_end.look(Image.new("RGB", (64, 64), "white"))
        super().warm_up(progress)

    def open(self, source: Any) -> Opened:
        """Decode a picture, no larger than the front end looks at it."""
        image = open_picture(source, LONGEST)
        return Opened(image, digest(image))

    def see(self, opened: Opened) -> Picture:
        """Let the front end look; this is the whole encoding of a picture, about a second."""
        seen = self.front_end.look(opened.image)
        evidence = seen.to_dict()
        return Picture(opened.digest, *seen.size, evidence=evidence, evidence_text=evidence["words"],
                       index=index_of(seen))  # fmt: skip

    def written(
        self, messages: list[Message], pictures: Sequence[Picture], before: Sequence[Picture] = ()
    ) -> list[Message]:
        """Pictures become what was seen in them; before a person's words stands what they name, if a picture has it."""
        known, written = list(before), []
        for message in messages:
            parts: list[str] = []
            known += [pictures[part] for part in message.parts if not isinstance(part, str)]
            note = self.note_on(message, known)
            for part in message.parts:
                if not isinstance(part, str):
                    parts.append(pictures[part].evidence_text)
                    continue
                parts += [note, part] if note else [part]
                note = ""
            written.append(Message(message.role, tuple(parts)))
        return written

    def shown(self, prompt: Prompt) -> list[dict[str, Any]]:
        """Evidence of every picture; with the last one, under "found", what was looked up for the last question."""
        kept = super().shown(prompt)
        if note := self.note_on(prompt.messages[-1], prompt.pictures):
            kept[-1]["evidence"] = kept[-1]["evidence"] | {"found": note}
        return kept

    def note_on(self, message: Message, pictures: Sequence[Picture]) -> str:
        """What the pictures say of the things that a person's message names; "" for nothing."""
        if message.role != "user" or not pictures:
            return ""
        words = " ".join(part for part in message.parts if isinstance(part, str))
        return found(words, [picture.index for picture in pictures if picture.index is not None])


def import_parts() -> None:
    """Import the foreign parts, of which each is otherwise imported when it is first used."""
    from .text_reader import import_parts

    import_parts()


def _natural_dtype(device: str) -> torch.dtype:
    """For torch: bfloat16 where the processor has instructions for it. With AVX2 alone, a pass of 64 nodes took six
    times as long in bfloat16 as in float32."""
    if torch.device(device).type != "cpu" or torch.backends.cpu.get_cpu_capability() == "AVX512":
        return torch.bfloat16
    return torch.float32
