"""`python -m training.tower`: a vision tower whose soft tokens stand where the notes of the front end stand now.

The reader stays frozen; the tower learns from the drawn pictures, with the questions and answers that `ask` writes from
noiseless evidence. One command, interruptible, for a GPU lent for minutes. It has not been run on one: the test trains
a tiny tower on the CPU, and what a tower of this size can learn in such a time is unknown. The engine does not take
soft tokens from the built-in target yet; `SoftEyes` is the side of the interface that would be plugged in.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional

from .batches import Encoded, encode, padded, prompter_of
from .look import CACHE

FILLER = " stub"
"""Its token, repeated, keeps the places of the soft tokens in the ids. One token that no question holds."""


@dataclass(frozen=True)
class Size:
    """Of a tower; the default has about 11 million weights."""

    side: int = 320
    """The picture is fitted into a square of so many pixels."""
    patch: int = 16
    width: int = 320
    layers: int = 8
    heads: int = 5
    tokens: int = 64
    """Soft tokens for a picture."""


class Tower(nn.Module):
    """Patches, a transformer over them, and queries that gather what they need: (b, 3, side, side) float, -1 to 1, to
    (b, tokens, hidden) soft tokens, about as long as the reader's own embeddings."""

    def __init__(self, size: Size, hidden: int, length: float) -> None:
        """`hidden`: the reader's width; `length`: root mean square of its embeddings' entries."""
        super().__init__()
        self.size, places = size, (size.side // size.patch) ** 2
        self.patches = nn.Conv2d(3, size.width, size.patch, size.patch)
        self.places = nn.Parameter(0.02 * torch.randn(places, size.width))
        layer = nn.TransformerEncoderLayer(
            size.width, size.heads, 4 * size.width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, size.layers, enable_nested_tensor=False)
        self.queries = nn.Parameter(0.02 * torch.randn(size.tokens, size.width))
        self.gather = nn.MultiheadAttention(size.width, size.heads, batch_first=True)
        self.out = nn.Sequential(nn.LayerNorm(size.width), nn.Linear(size.width, hidden), nn.LayerNorm(hidden))
        nn.init.constant_(self.out[-1].weight, length)

    def forward(self, pixels: Tensor) -> Tensor:
        seen = self.body(self.patches(pixels).flatten(2).transpose(1, 2) + self.places)
        asked = self.queries.expand(len(pixels), -1, -1)
        return self.out(asked + self.gather(asked, seen, seen, need_weights=False)[0])


def pixels_of(image: Image.Image, side: int) -> Tensor:
    """(3, side, side) float, -1 to 1: the whole picture on grey, its shape kept."""
    scale = side / max(image.size)
    fitted = image.convert("RGB").resize([max(1, round(n * scale)) for n in image.size], Image.Resampling.BILINEAR)
    sheet = Image.new("RGB", (side, side), (128, 128, 128))
    sheet.paste(fitted, ((side - fitted.width) // 2, (side - fitted.height) // 2))
    return torch.from_numpy(np.asarray(sheet).astype(np.float32) / 127.5 - 1).permute(2, 0, 1)


class SoftEyes:
    """Looks at a picture as `Eyes` do, but gives soft tokens instead of notes."""

    def __init__(self, tower: Tower) -> None:
        self.tower = tower.eval()

    @torch.inference_mode()
    def look(self, image: Image.Image) -> Tensor:
        """(tokens, hidden) for an RGB image of any size."""
        device = self.tower.queries.device
        return self.tower(pixels_of(image, self.tower.size.side)[None].to(device))[0]


Example = tuple[Tensor, Encoded]
"""Pixels, and a conversation whose ids hold the filler where the soft tokens go."""


class Teacher:
    """A frozen reader, a tower, and the loss of the reader's answers when it is given the tower's tokens."""

    def __init__(self, reader: Any, size: Size, filler: int, rate: float = 5e-4) -> None:
        self.reader, self.filler, self.peak = reader.requires_grad_(False).eval(), filler, rate
        table = reader.get_input_embeddings().weight
        self.tower = Tower(size, table.shape[1], float(table.float().pow(2).mean().sqrt())).to(table.device)
        self.optimizer = torch.optim.AdamW(self.tower.parameters(), rate, (0.9, 0.98), weight_decay=0.05)
        self.step = 0

    def loss(self, examples: Sequence[Example]) -> Tensor:
        """Mean cross entropy of the taught tokens. ValueError where the places do not fit the tower's tokens."""
        ids, taught = padded([one for _, one in examples])
        places = ids == self.filler
        if not bool((places.sum(1) == self.tower.size.tokens).all()):
            raise ValueError(f"every conversation must hold {self.tower.size.tokens} places for soft tokens")
        device = self.tower.queries.device
        ids, taught, places = ids.to(device), taught.to(device), places.to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            soft = self.tower(torch.stack([pixels for pixels, _ in examples]).to(device))
            embedded = self.reader.get_input_embeddings()(ids)
            embedded = embedded.masked_scatter(places[..., None], soft.to(embedded.dtype))
            hidden = self.reader.model(inputs_embeds=embedded, use_cache=False).last_hidden_state
            logits = self.reader.lm_head(hidden[:, :-1][taught[:, 1:]])
        return functional.cross_entropy(logits.float(), ids[:, 1:][taught[:, 1:]])

    def learn(self, examples: Sequence[Example], done: float) -> float:
        """One step; `done`: share of the run, 0 to 1, for the rate. The loss before it."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.peak * min(1.0, (self.step + 1) / 100) * (0.05 + 0.475 * (1 + math.cos(math.pi * done)))
        loss = self.loss(examples)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.tower.parameters(), 1.0)
        self.optimizer.step()
        self.step += 1
        return loss.item()

    def save(self, path: Path) -> None:
        """Weights, optimizer and step."""
        state = {"size": asdict(self.tower.size), "tower": self.tower.state_dict(), "step": self.step,
                 "optimizer": self.optimizer.state_dict()}  # fmt: skip
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def load(self, path: Path) -> None:
        """Go on from `save`. Raises ValueError for a tower of another size."""
        state = torch.load(path, map_location=self.tower.queries.device, weights_only=True)
        if state["size"] != asdict(self.tower.size):
            raise ValueError(f"{path} holds a tower of another size: {state['size']}")
        self.tower.load_state_dict(state["tower"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]


def examples(tokenizer: Any, size: Size, end: int, seed: int, longest: int = 320) -> Iterator[Example]:
    """Without an end: drawn pictures of the training half, with a few questions each."""
    from .ask import write
    from .draw import draw
    from .scenes import KINDS, make
    from .simulate import simulate

    prompter, rng = prompter_of(tokenizer), random.Random(seed)
    (filler,) = tokenizer(FILLER, add_special_tokens=False)["input_ids"]
    while True:
        scene = make(rng.choice(list(KINDS)), "train", rng.randrange(10**9))
        read, evidence = simulate(scene, noise=0.0)
        entry = {"evidence": FILLER * size.tokens, "turns": write(read, evidence, rng, 6), "ended": True}
        one = encode(entry, prompter, end, longest)
        if one is not None and one.ids.count(filler) == size.tokens:
            yield pixels_of(draw(scene), size.side), one


class _Stream(torch.utils.data.IterableDataset):
    """`examples` in the loader's worker processes, each with a seed of its own."""

    def __init__(self, *given: Any, seed: int) -> None:
        self.given, self.seed = given, seed

    def __iter__(self) -> Iterator[Example]:
        worker = torch.utils.data.get_worker_info()
        return examples(*self.given, self.seed + (worker.id if worker else 0))


def main(arguments: list[str] | None = None) -> None:
    """Train for some minutes, and keep the tower."""
    from recap.targets.builtin.language_model import END_TOKENS, load_language_model

    parser = argparse.ArgumentParser(prog="python -m training.tower", description=__doc__)
    parser.add_argument("--minutes", type=float, default=12)
    parser.add_argument("--batch", type=int, default=48, help="pictures in a step")
    parser.add_argument("--workers", type=int, default=12, help="processes that draw")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--out", type=Path, default=CACHE / "tower.pt")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args(arguments)
    reader, tokenizer = load_language_model(torch.float32, options.device)
    (filler,) = tokenizer(FILLER, add_special_tokens=False)["input_ids"]
    size = Size()
    teacher = Teacher(reader, size, filler)
    if options.resume and options.out.is_file():
        teacher.load(options.out)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    stream = _Stream(tokenizer, size, END_TOKENS[1], seed=1000 * teacher.step)
    loader = torch.utils.data.DataLoader(stream, options.batch, num_workers=options.workers, collate_fn=list)
    begin, losses = time.monotonic(), []
    for batch in loader:
        spent = (time.monotonic() - begin) / (60 * options.minutes)
        if spent >= 1:
            break
        losses.append(teacher.learn(batch, spent))
        if teacher.step % 50 == 0:
            print(f"step {teacher.step}  loss {sum(losses[-50:]) / len(losses[-50:]):.3f}", flush=True)
            teacher.save(options.out)
    teacher.save(options.out)
    print(f"{teacher.step} steps; the tower is in {options.out}")


if __name__ == "__main__":
    main()
