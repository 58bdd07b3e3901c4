"""The image lens: where would the target choose otherwise if the picture were another (Figure 1, appendix E)?

The answer's tokens stay as they are. With the pictures, with their mean colour and with other pictures in their place, the
target says what it would choose in the place of every token: one prefill and a few teacher-forced passes each. This works
on any target; `builtin` gets another picture as other evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image, ImageStat

from .forced import Forced
from .pictures import plain
from .targets.base import Target
from .targets.prompt import Prompt
from .trace import Lens, Trace

_MARK = "[picture]"
"""How a trace writes a picture part."""


def look(
    target: Target, trace: Trace, images: Sequence[Any], others: Sequence[Any] = (),
    proceed: Callable[[], bool] = lambda: True,
) -> Lens | None:  # fmt: skip
    """The lens of a finished answer, stored in `trace.lens` too, with the texts of the tokens that it names.

    `images`: the pictures of the answer, in order, as `recap.generate` takes them. `others`: pictures to put in their place,
    as many or one for all; without any, the mean colour is the only control. `proceed` is asked between passes; with the
    first False nothing is stored and None returned. Raises ValueError where there are no pictures or the answer cannot be
    followed: another picture, model or reader than that of the trace.
    """
    for _ in looking(target, trace, images, others):
        if not proceed():
            return None
    return trace.lens


def looking(target: Target, trace: Trace, images: Sequence[Any], others: Sequence[Any] = ()) -> Iterator[None]:
    """The same in pieces: yields after every picture that was looked at and every pass; there it may be left off."""
    others = list(others) * len(images) if len(others) == 1 else list(others)
    if not images or not trace.token_ids:
        raise ValueError("the lens needs a picture and an answer about it")
    if others and len(others) != len(images):
        raise ValueError(f"{len(images)} pictures can be replaced by as many others or by one, not by {len(others)}")
    opened = [target.open(image).image for image in images]
    pictures = {"with": opened, "mean": [mean_picture(image) for image in opened]} | ({"other": others} if others else {})
    said = {}
    for name, replaced in pictures.items():
        prompt = _prompt(target, trace, replaced)
        yield
        if name == "with" and len(prompt.ids) != trace.prompt_tokens:
            raise ValueError(
                f"this is not the prompt that was answered: it has {len(prompt.ids)} tokens with these pictures, the trace "
                f"says {trace.prompt_tokens}; give the same pictures and the same model"
            )
        wanted = np.array(said["with"].choices) if said else None
        said[name] = yield from _say(target, prompt, trace.token_ids, wanted)
        if name == "with" and trace.temperature == 0 and trace.exact and target.exact:
            _check(trace, said[name].choices)
    own = said.pop("with")
    lens = Lens(
        list(said), own.choices, own.probs, [one.choices for one in said.values()], [one.wanted for one in said.values()],
        [one.probs for one in said.values()],
    )  # fmt: skip
    for token in {*lens.choices, *(token for row in lens.swapped for token in row)} - trace.table.texts.keys():
        trace.table.texts[token] = target.text_of(token)
    trace.lens = lens


def mean_picture(image: Image.Image) -> Image.Image:
    """A picture of the same size in its mean colour."""
    red, green, blue = (round(value) for value in ImageStat.Stat(image.convert("RGB")).mean)
    return plain(image, (red, green, blue))


class _Said(NamedTuple):
    choices: list[int]
    probs: list[float]
    wanted: list[float]


def _say(
    target: Target, prompt: Prompt, tokens: list[int], wanted: np.ndarray | None
) -> Generator[None, None, _Said]:
    """What the target chooses in each token's place, how probable that is, and how probable the `wanted` tokens are."""
    limit = target.context_limit
    if limit is not None and len(prompt.ids) + len(tokens) > limit:
        raise ValueError(f"prompt and answer have {len(prompt.ids) + len(tokens)} tokens, {target.name} takes {limit}")
    said = _Said([], [], [])
    for first, predictions in Forced.read(target, prompt).of(tokens):
        chosen = predictions.choices()
        probs = torch.softmax(predictions.logits.double(), dim=-1).cpu()
        rows = np.arange(len(chosen))
        asked = chosen if wanted is None else wanted[first : first + len(chosen)]
        said.choices.extend(chosen.tolist())
        said.probs.extend(probs[rows, chosen].tolist())
        said.wanted.extend(probs[rows, asked].tolist())
        yield
    return said


def _check(trace: Trace, choices: list[int]) -> None:
    for at, (said, held) in enumerate(zip(choices, trace.token_ids)):
        if said != held:
            raise ValueError(
                f"with these pictures the model would not give this answer (token {at + 1} would differ): give the picture, "
                "the model and its settings that the trace was made with"
            )


def _prompt(target: Target, trace: Trace, pictures: Sequence[Any]) -> Prompt:
    """The trace's chat about these pictures."""
    chat, waiting = [], list(pictures)
    for message in trace.messages:
        parts: list[dict[str, Any]] = []
        for line in message["content"].split("\n"):
            if line == _MARK and waiting:
                parts.append({"type": "image", "image": waiting.pop(0)})
            elif parts and parts[-1]["type"] == "text":
                parts[-1]["text"] += "\n" + line
            else:
                parts.append({"type": "text", "text": line})
        chat.append({"role": message["role"], "content": parts})
    if waiting:
        raise ValueError(f"the trace tells of {len(pictures) - len(waiting)} pictures, {len(pictures)} were given")
    return target.prompt(chat)
