"""`python -m training.train`: teach SmolLM2-135M-Instruct to answer from evidence, by LoRA; `--resume` goes on."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch.nn import functional

from .batches import Encoded, batches, encode, padded, prompter_of
from .data import FILE
from .look import CACHE
from .lora import adapt, save, untuned


@dataclass(frozen=True)
class Plan:
    """Everything that decides the outcome, besides the data."""

    rank: int = 12
    scale: float = 2.0
    rate: float = 1e-3
    """Peak of AdamW's learning rate; it rises over the first 4 % of the tokens and falls as a cosine to a tenth."""
    decay: float = 0.01
    batch: int = 768
    """Tokens in a batch, padding included."""
    tokens: int = 400_000
    """Of the whole run: the schedule's length."""
    longest: int = 640
    """Of a conversation, in tokens."""
    seed: int = 5


class Trainer:
    """A run that can stop after any batch and go on to the same result."""

    def __init__(self, model: Any, encoded: list[Encoded], plan: Plan) -> None:
        self.model, self.encoded, self.plan = model, encoded, plan
        self.trained = adapt(model, plan.rank, plan.scale, plan.seed)
        self.optimizer = torch.optim.AdamW(self.trained.values(), plan.rate, (0.9, 0.98), weight_decay=plan.decay)
        self.epoch, self.position = 0, 0
        self.step, self.tokens, self.seconds = 0, 0, 0.0
        self.losses: list[float] = []

    def rate(self) -> float:
        """Learning rate at the tokens seen so far."""
        done = min(1.0, self.tokens / self.plan.tokens)
        if done < 0.04:
            return self.plan.rate * (done + 0.004) / 0.044
        return self.plan.rate * (0.1 + 0.45 * (1 + math.cos(math.pi * (done - 0.04) / 0.96)))

    def run(self, until: Callable[[], bool] = lambda: False) -> Iterator[float]:
        """The loss of each batch, until the plan's tokens are seen or `until` says so."""
        while self.tokens < self.plan.tokens:
            order = batches(self.encoded, self.plan.batch, self.plan.seed + self.epoch)
            for batch in order[self.position :]:
                if until() or self.tokens >= self.plan.tokens:
                    return
                begin = time.monotonic()
                loss = self._learn(batch)
                self.seconds += time.monotonic() - begin
                self.step, self.position = self.step + 1, self.position + 1
                self.tokens += sum(len(one.ids) for one in batch)
                self.losses.append(loss)
                yield loss
            self.epoch, self.position = self.epoch + 1, 0

    @torch.no_grad()
    def check(self, encoded: Sequence[Encoded]) -> tuple[float, float]:
        """Per token, on conversations that need not be the trained ones: cross entropy of the answers about pictures,
        and divergence from the untuned model in plain chat; NaN for a kind that is not there."""
        sums, counts = [0.0, 0.0], [0, 0]
        for one in encoded:
            ids, taught = padded([one])
            logits, wanted = self._predict(ids, taught), ids[:, 1:][taught[:, 1:]]
            if one.plain:
                with untuned(self.model):
                    own = self._predict(ids, taught).log_softmax(-1)
                loss = functional.kl_div(logits.log_softmax(-1), own, reduction="sum", log_target=True)
            else:
                loss = functional.cross_entropy(logits, wanted, reduction="sum")
            sums[one.plain] += loss.item()
            counts[one.plain] += len(wanted)
        answers, chat = (total / count if count else math.nan for total, count in zip(sums, counts))
        return answers, chat

    def _learn(self, batch: list[Encoded]) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate()
        ids, taught = padded(batch)
        plain = torch.tensor([one.plain for one in batch])[:, None].expand_as(ids[:, 1:])[taught[:, 1:]]
        logits, wanted = self._predict(ids, taught), ids[:, 1:][taught[:, 1:]]
        loss = functional.cross_entropy(logits[~plain], wanted[~plain], reduction="sum")
        if plain.any():
            rows = [row for row, one in enumerate(batch) if one.plain]
            with torch.no_grad(), untuned(self.model):
                own = self._predict(ids[rows], taught[rows]).log_softmax(-1)
            told = logits[plain].log_softmax(-1)
            loss = loss + functional.kl_div(told, own, reduction="sum", log_target=True)
        loss = loss / len(wanted)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
        self.optimizer.step()
        return loss.item()

    def _predict(self, ids: torch.Tensor, taught: torch.Tensor) -> torch.Tensor:
        """(positions, vocabulary) float32 logits of the tokens that are taught, and of no others."""
        hidden = self.model.model(ids, use_cache=False).last_hidden_state
        return self.model.lm_head(hidden[:, :-1][taught[:, 1:]]).float()

    def begin(self, path: Path) -> None:
        """Start from an adapter file, such as the one that is shipped, instead of from nothing. Raises ValueError
        where it lacks a layer or has another rank."""
        with safe_open(path, framework="pt") as file:
            for name, parameter in self.trained.items():
                known = file.get_tensor(name) if name in file.keys() else None
                if known is None or known.shape != parameter.shape:
                    found = "nothing" if known is None else f"shape {tuple(known.shape)}"
                    raise ValueError(f"{path} has {found} for {name}; expected {tuple(parameter.shape)}")
                parameter.data.copy_(known)

    def save(self, path: Path) -> None:
        """Everything needed to go on."""
        state = {
            "trained": {name: parameter.detach() for name, parameter in self.trained.items()},
            "optimizer": self.optimizer.state_dict(), "plan": asdict(self.plan), **self._counted(),
        }  # fmt: skip
        partial = path.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(path)

    def load(self, path: Path) -> None:
        """Raises ValueError for a checkpoint of another plan; its length alone may differ, to train for longer."""
        state = torch.load(path, weights_only=True)
        changed = [name for name, value in asdict(self.plan).items() if state["plan"].get(name) != value]
        if changed and changed != ["tokens"]:
            raise ValueError(
                f"{path} was made with other settings ({', '.join(changed)}); give the same, or start anew"
            )
        for name, parameter in self.trained.items():
            parameter.data.copy_(state["trained"][name])
        self.optimizer.load_state_dict(state["optimizer"])
        for name in self._counted():
            setattr(self, name, state[name])

    def _counted(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("epoch", "position", "step", "tokens", "seconds", "losses")}


def main(arguments: list[str] | None = None) -> None:
    """Train, keep a checkpoint every few minutes, and write the adapter at every one."""
    from recap.targets.builtin.language_model import END_TOKENS, load_language_model

    options = _parser().parse_args(arguments)
    torch.set_num_threads(options.threads)
    plan = Plan(tokens=options.tokens, rate=options.rate, batch=options.batch, seed=options.seed)
    model, tokenizer = load_language_model(torch.float32, reader="plain")
    prompter = prompter_of(tokenizer)

    def read(path: Path) -> list[Encoded]:
        entries = map(json.loads, path.read_text("utf-8").splitlines())
        return [one for one in (encode(entry, prompter, END_TOKENS[1], plan.longest) for entry in entries) if one]

    encoded = read(options.data)
    print(f"{len(encoded)} conversations, {sum(len(one.ids) for one in encoded):,} tokens, "
          f"{sum(sum(one.taught) for one in encoded):,} of them answers", flush=True)  # fmt: skip
    trainer = Trainer(model, encoded, plan)
    checkpoint = options.out / "checkpoint.pt"
    if options.resume and checkpoint.is_file():
        trainer.load(checkpoint)
    elif options.begin:
        trainer.begin(options.begin)
    options.out.mkdir(parents=True, exist_ok=True)
    end, kept = time.monotonic() + 60 * options.minutes, time.monotonic()

    def keep() -> None:
        trainer.save(checkpoint)
        notes = {"tokens": str(trainer.tokens), "data": "recap training/, Apache-2.0"}
        save(trainer.trained, plan.scale, options.out / "reader.safetensors", notes)

    for _ in trainer.run(lambda: time.monotonic() >= end):
        if trainer.step % 5 == 0:
            recent = sum(trainer.losses[-5:]) / 5
            print(f"step {trainer.step}  tokens {trainer.tokens:,}  loss {recent:.3f}  rate {trainer.rate():.2e}  "
                  f"{trainer.tokens / trainer.seconds:.0f} tokens/s", flush=True)  # fmt: skip
        if time.monotonic() - kept > 60 * options.every:
            keep()
            kept = time.monotonic()
    keep()
    if options.check:
        answers, chat = trainer.check(read(options.check))
        print(f"on {options.check}: loss of answers {answers:.4f}, divergence in plain chat {chat:.4f}", flush=True)
    print(f"{trainer.tokens:,} tokens in {trainer.seconds / 60:.1f} minutes; {options.out / 'reader.safetensors'}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.train", description=__doc__)
    parser.add_argument("--data", type=Path, default=FILE)
    parser.add_argument("--out", type=Path, default=CACHE / "reader")
    parser.add_argument("--minutes", type=float, default=55, help="stop after this long; --resume goes on")
    parser.add_argument("--tokens", type=int, default=Plan.tokens, help="length of the schedule")
    parser.add_argument("--rate", type=float, default=Plan.rate)
    parser.add_argument("--batch", type=int, default=Plan.batch)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=float, default=4, help="minutes between checkpoints")
    parser.add_argument("--check", type=Path, help="conversations of another seed, whose loss is printed at the end")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--begin", type=Path, help="an adapter to start from, with a schedule of its own")
    return parser


if __name__ == "__main__":
    main()
