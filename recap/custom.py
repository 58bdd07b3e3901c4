"""RECAP behind transformers' own door: `model.generate(..., custom_generate=recap.custom_generate)`."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers.generation import GenerateDecoderOnlyOutput

from .budget import Auto, Budget, Fixed, Learned
from .budget.learned import describe, find
from .choosing import UNDECIDED
from .config import RecapConfig
from .decoding import Decoding
from .drafter import Drafter
from .methods import limits
from .methods.base import Proposer
from .targets.base import placeholders
from .targets.cache import PackedCache
from .targets.predictions import Predictions
from .targets.prompt import Prompt
from .targets.qwen2_5_vl import has_multimodal_rope
from .targets.runtime import Runtime
from .targets.support import refuse_unsupported
from .trace import Trace
from .warm import Warm, given

_RUNTIMES: weakref.WeakKeyDictionary[torch.nn.Module, Runtime] = weakref.WeakKeyDictionary()
_LEARNED: weakref.WeakKeyDictionary[torch.nn.Module, Learned] = weakref.WeakKeyDictionary()
_NOT_RECORDED = ("output_attentions", "output_hidden_states")
_OURS = {"input_ids", "position_ids", "attention_mask", "cache", "use_cache", "inputs_embeds"}


def custom_generate(
    model: torch.nn.Module,
    input_ids: torch.Tensor,
    logits_processor: Any,
    stopping_criteria: Any,
    generation_config: Any,
    drafter: Proposer | None = None,
    config: RecapConfig | None = None,
    warm: Warm = None,
    **model_kwargs: Any,
) -> torch.Tensor | GenerateDecoderOnlyOutput:
    """Decode one sequence, (1, n) input ids, and return what `generate` would: (1, n + new) ids or its output object.

    Steer it with functools.partial(recap.custom_generate, config=..., drafter=..., warm=...); a drafter keeps its memories
    from call to call, `warm` (a `recap.WarmMemory` or the path of its file) is looked up by the fresh one that a call has
    without. Logits processors and stopping criteria see exactly the prefixes that plain decoding would show them,
    one token at a time, so every one of them works, sampling and repetition penalties included. The model's own
    attention is used: equal to plain decoding in float32, while in half precision passes of different sizes may round
    differently. transformers hands neither `streamer` nor `tokenizer` to a callable: for stop strings pass
    stopping_criteria=[StopStringCriteria(...)]. Raises ValueError, naming the option, for batches, beams, padded
    prompts, a cache that is filled already, and outputs that tree passes do not have (attentions, hidden states).
    """
    _check(input_ids, generation_config, model_kwargs)
    if warm is not None and drafter is not None:
        raise ValueError("a drafter has memories of its own: give warm without one, or recap.Drafter(base=warm.base)")
    with _evaluating(model):
        return _decode(
            model, input_ids, logits_processor, stopping_criteria, generation_config,
            _drafter(model, config, warm) if drafter is None else drafter, config, model_kwargs,
        )  # fmt: skip


def _decode(
    model: torch.nn.Module, input_ids: torch.Tensor, logits_processor: Any, stopping_criteria: Any,
    generation_config: Any, drafter: Proposer, config: RecapConfig | None, model_kwargs: dict[str, Any],
) -> torch.Tensor | GenerateDecoderOnlyOutput:
    runtime = _runtime(model)
    ids = input_ids[0].cpu().numpy()
    chooser = _Processed(input_ids, logits_processor, generation_config)
    subject = _Subject(runtime, model_kwargs)
    decoding = Decoding(
        subject, drafter, chooser, subject.prompt(ids), 0, runtime.new_cache(), _scrap(),
        _budget(model, runtime, drafter, config or getattr(drafter, "config", None) or RecapConfig()),
        stop=lambda _: "stop" if bool(stopping_criteria(chooser.sequence, chooser.scores).all()) else None,
        remaining=max(1, (generation_config.max_length or 1 << 30) - len(ids)),
    )
    decoding.prefill()
    for _ in decoding.steps():
        pass
    decoding.budget.close()
    if not generation_config.return_dict_in_generate:
        return chooser.sequence
    return GenerateDecoderOnlyOutput(
        sequences=chooser.sequence, scores=chooser.scores, logits=chooser.raw, cache=decoding.cache
    )


def _drafter(model: torch.nn.Module, config: RecapConfig | None, warm: Warm) -> Drafter:
    """A fresh one."""
    memory = given(warm)
    if memory is None:
        return Drafter(config)
    memory.require(model, getattr(model, "name_or_path", "") or type(model).__name__, _runtime(model).vocabulary)
    return Drafter(config, base=memory.base)


@contextmanager
def _evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Eval mode for a while: the model is not ours."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        if training:
            model.train()


class _Processed:
    """transformers' choice of a token, with its processors applied under the node's own path.

    `at` is asked once per emitted position and in order, so processors are called just as plain decoding calls them.
    """

    def __init__(self, input_ids: torch.Tensor, processors: Any, config: Any) -> None:
        self.sequence = input_ids
        wanted = config.return_dict_in_generate
        self.scores: tuple | None = () if wanted and config.output_scores else None
        self.raw: tuple | None = () if wanted and config.output_logits else None
        self._processors = processors
        self._sample = config.do_sample

    def read(self, predictions: Predictions, greedy: np.ndarray | None) -> None:
        self._predictions = predictions
        self._choices = [UNDECIDED] * len(predictions)

    def at(self, node: int) -> int:
        raw = self._predictions.row(node)[None].to(self.sequence.device)
        scores = self._processors(self.sequence, raw.clone())
        if self.scores is not None:
            self.scores += (scores,)
        if self.raw is not None:
            self.raw += (raw,)
        if self._sample:
            token = torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1)
        else:
            token = scores.argmax(dim=-1, keepdim=True)
        self.sequence = torch.cat([self.sequence, token], dim=-1)
        self._choices[node] = int(token)
        return self._choices[node]

    def choices(self) -> list[int]:
        return self._choices


class _Subject:
    """What the loop needs of a target, for a model that came without a processor."""

    end_ids: frozenset[int] = frozenset()  # generate's stopping criteria know them

    def __init__(self, runtime: Runtime, model_kwargs: dict[str, Any]) -> None:
        self._runtime = runtime
        self._inputs = {
            key: value
            for key, value in model_kwargs.items()
            if key in runtime.body_inputs - _OURS and value is not None
        }
        self._position_ids = model_kwargs.get("position_ids")
        self.banned = placeholders(runtime.config)[1]
        self.predict = runtime.predict
        self.verify = runtime.verify
        self.new_cache = runtime.new_cache
        self.text_of = str

    def prompt(self, ids: np.ndarray) -> Prompt:
        prompt = Prompt(ids, [])
        if self._runtime.mrope and self._position_ids is not None:
            prompt.positions = self._position_ids[-3:, 0]  # (4, 1, n) starts with the text's own positions
            prompt.rope_delta = int(prompt.positions.max()) + 1 - len(ids)
        return prompt

    def prefill(self, prompt: Prompt, start: int, cache: PackedCache) -> Iterator[torch.Tensor]:
        yield self._runtime.prefill(prompt.ids[start:], cache, prompt.positions, **self._inputs)


def _runtime(model: torch.nn.Module) -> Runtime:
    """One runtime per loaded model: it holds the lock and what was checked about the model, no memories."""
    runtime = _RUNTIMES.get(model)
    if runtime is None:
        refuse_unsupported(model.config)
        runtime = _RUNTIMES[model] = Runtime(model, exact=False)
        runtime.mrope = has_multimodal_rope(model)
    return runtime


def _budget(model: torch.nn.Module, runtime: Runtime, drafter: Proposer, config: RecapConfig) -> Budget:
    """For one call. What the model's passes cost is measured at the first one."""
    numbers = limits(drafter, config)
    if config.budget != "auto" or not getattr(drafter, "best_first", True):
        return Fixed(*numbers, within=config.suffix_within and isinstance(drafter, Drafter))
    if model not in _LEARNED:
        subject = _Subject(runtime, {})
        ids = np.setdiff1d(np.arange(min(runtime.vocabulary, 64)), subject.banned)
        name = getattr(model, "name_or_path", "") or type(model).__name__
        _LEARNED[model] = find(subject, Prompt(ids, []), describe(name, runtime))
    return Auto(_LEARNED[model], *numbers, shared=isinstance(drafter, Drafter))


def _scrap() -> Trace:
    """A trace that nobody keeps."""
    return Trace("", "", "", False, "", "", {}, [], [], 0, 0, 0, 0.0, None, "", {})


def _check(input_ids: torch.Tensor, config: Any, model_kwargs: dict[str, Any]) -> None:
    if config.num_beams > 1:
        raise ValueError(f"num_beams={config.num_beams}: RECAP decodes greedily or by sampling; use num_beams=1")
    if input_ids.shape[0] != 1:
        raise ValueError(f"a batch of {input_ids.shape[0]} sequences was given; RECAP decodes one sequence at a time")
    for name in _NOT_RECORDED:
        if config.return_dict_in_generate and getattr(config, name, False):
            raise ValueError(f"{name}=True: tree passes do not keep them; leave it out")
    if model_kwargs.get("inputs_embeds") is not None:
        raise ValueError("inputs_embeds: the memories need token ids; pass input_ids")
    mask = model_kwargs.get("attention_mask")
    if mask is not None and not bool((mask == 1).all()):
        raise ValueError("attention_mask hides some tokens (padding?); pass one unpadded sequence")
    cache = model_kwargs.get("cache")
    if cache is not None and cache.get_seq_length() > 0:
        raise ValueError("cache: a filled cache was passed; RECAP fills its own, use recap.Session to continue a chat")
