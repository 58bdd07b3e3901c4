"""Writing alone, of the built-in language model: our decoding beside transformers' own `generate`, on a manifest.

All contenders have the same weights, get the same prompt ids and stop at the same end tokens: `transformers`, its
greedy `generate` in torch; `prompt_lookup`, the same with prompt_lookup_num_tokens=10; `ar`, our plain decoding;
`recap-auto` and `recap-paper`, RECAP with each budget, U being kept over the file. They answer every prompt in turns
which of them goes first; `--repeats` goes through the whole file again, each time with empty memories. Time is that of
prefill and decoding: the front end, which writes down what it sees in a picture, is left out for all, unlike in
`bench run --peers`. Only for the model "builtin".
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..commands import options as shared
from . import questions
from .peers import LOOKUP, REFERENCE, Answer, Peer, load_model

PLAIN = "ar"
BUDGETS = {"recap-auto": "auto", "recap-paper": "paper"}
CONTENDERS = (REFERENCE, LOOKUP, PLAIN, *BUDGETS)
TORCH_DTYPES = ("float32", "bfloat16")

Contender = Callable[[dict[str, Any], np.ndarray], Answer]
"""Called with a question and the ids of its prompt."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    questions.add_arguments(parser)
    parser.add_argument(
        "--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS, metavar="NAME",
        help=f"some of {', '.join(CONTENDERS)}; the first, with which all others are compared, must be among them "
        "(default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--torch-dtype", choices=TORCH_DTYPES, default=TORCH_DTYPES[0],
        help="of transformers and prompt_lookup; float32 is the faster one on CPUs without bfloat16 instructions "
        "(default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, help="CPU threads of all contenders (default: torch's own choice)")


def run(options: argparse.Namespace) -> int:
    asked = questions.read_options(options)
    names = [name for name in CONTENDERS if name in options.contenders]
    if REFERENCE not in names:
        raise ValueError(f"--contenders must include {REFERENCE}, with which the others are compared")
    import torch
    import transformers

    from ..targets.loading import load_target

    target = load_target("builtin", "cpu", threads=options.threads, progress=shared.tell)
    remember_pictures(target)
    model = load_model(target, shared.tell, options.torch_dtype)
    ids = [target.prompt(question["prompt"], question["images"]).ids for question in asked]
    hello = {"prompt": "Hello.", "images": []}
    for contender in contenders(names, target, model, max_new_tokens=8).values():  # what is loaded on first use
        contender(hello, target.prompt(hello["prompt"]).ids)

    def measured(turn: int) -> Iterator[dict[str, Any]]:
        return measure(contenders(names, target, model, options.max_new_tokens), asked, ids, turn)

    records = questions.repeat(options, len(asked), measured)
    print(
        f"builtin on {target.device}; transformers {transformers.__version__} in torch {torch.__version__}, "
        f"{options.torch_dtype}, CPU threads: {torch.get_num_threads()}; ours: {target.runtime.describe()}\n"
        "tokens per second of prefill and decoding, the front end left out\n"
    )
    print(report(records, names))
    return 0


def remember_pictures(target: Any) -> None:
    """Let the front end look at each picture once: what it takes is not measured."""
    look, seen = target.see, {}

    def see(opened: Any) -> Any:
        if opened.digest not in seen:
            seen[opened.digest] = look(opened)
        return seen[opened.digest]

    target.see = see


def contenders(names: list[str], target: Any, model: Any, max_new_tokens: int) -> dict[str, Contender]:
    """Those named, with empty memories."""
    from ..config import RecapConfig
    from ..session import Session

    def made(name: str) -> Contender:
        if name in BUDGETS:
            config = RecapConfig().replace(budget=BUDGETS[name])
            return _ours(Session(target, "recap", config), max_new_tokens)
        if name == PLAIN:
            return _ours(Session(target, "ar"), max_new_tokens)
        peer = Peer(name, model, sorted(target.end_ids), max_new_tokens)
        return lambda question, ids: peer(ids)

    return {name: made(name) for name in names}


def _ours(session: Any, max_new_tokens: int) -> Contender:
    from ..generation import generate

    def answer(question: dict[str, Any], ids: np.ndarray) -> Answer:
        done = generate(
            session.target, question["prompt"], question["images"], session=session, max_new_tokens=max_new_tokens
        )
        session.reset()
        if not np.array_equal(done.prompt_ids, ids):
            raise RuntimeError(f"the prompt {question['prompt']!r} did not give the same ids again")
        return Answer(done.token_ids, done.prefill_seconds + done.decode_seconds)

    return answer


def measure(
    contenders: dict[str, Contender], asked: list[dict[str, Any]], ids: list[np.ndarray], turn: int = 0
) -> Iterator[dict[str, Any]]:
    """Once through the questions: yields a record for each, with what every contender did."""
    names = list(contenders)
    for number, question in enumerate(asked):
        first = (number + turn) % len(names)
        answers = {name: contenders[name](question, ids[number]) for name in names[first:] + names[:first]}
        yield {
            "number": number, "id": question["id"], "category": question["category"], "prompt_tokens": len(ids[number]),
            "contenders": {
                name: {
                    "tok/s": answers[name].tokens_per_second, "seconds": answers[name].seconds,
                    "token_ids": answers[name].token_ids,
                }
                for name in names
            },
        }  # fmt: skip


def report(records: list[dict[str, Any]], names: list[str]) -> str:
    """Two tables by category, speeds and identical answers, and RECAP against AR. Speeds are means over inputs of
    medians over repetitions; an answer is identical if it is in all of them."""
    repeated = defaultdict(list)
    for record in records:
        repeated[record["number"]].append(record)
    groups: dict[str, list[list[dict[str, Any]]]] = defaultdict(list)
    for inputs in repeated.values():
        groups[inputs[0]["category"]].append(inputs)
    tables = dict(sorted(groups.items())) | {"all": list(repeated.values())}
    others = [name for name in names if name != REFERENCE]
    pairs = [(name, REFERENCE) for name in others if name != LOOKUP]
    pairs += [(name, PLAIN) for name in others if name in BUDGETS and PLAIN in others]

    titles = [f"{name:>13s}" for name in others]
    lines = [_line("speed over transformers", ["inputs", " tokens", "transformers tok/s", *titles])]
    for category, group in tables.items():
        tokens = sum(len(inputs[0]["contenders"][REFERENCE]["token_ids"]) for inputs in group)
        rate = statistics.fmean(
            statistics.median(record["contenders"][REFERENCE]["tok/s"] for record in inputs) for inputs in group
        )
        cells = [f"{len(group):6d}", f"{tokens:7d}", f"{rate:18.1f}"]
        lines.append(_line(category, cells + [f"{speed(group, name, REFERENCE):13.2f}" for name in others]))
    if pairs:
        titles = [f"{name} = {other}" for name, other in pairs]
        lines += ["", _line("identical answers", titles)]
        for category, group in tables.items():
            same = [f"{identical(group, *pair)}/{len(group)}" for pair in pairs]
            lines.append(_line(category, [cell.rjust(len(title)) for cell, title in zip(same, titles)]))
    if {PLAIN, "recap-auto"} <= set(names):
        by_category = {category: speed(group, "recap-auto", PLAIN) for category, group in groups.items()}
        lowest = min(by_category, key=by_category.__getitem__)
        overall = f"S {speed(tables['all'], 'recap-auto', PLAIN):.2f}"
        least = f"lowest by category {by_category[lowest]:.2f} ({lowest or 'unnamed'})"
        lines += ["", f"recap-auto over ar: {overall}, {least}"]
    return "\n".join(lines)


def speed(group: list[list[dict[str, Any]]], name: str, other: str) -> float:
    """Tokens per second over another contender's: mean over inputs of the median over repetitions."""

    def ratio(record: dict[str, Any]) -> float:
        return record["contenders"][name]["tok/s"] / record["contenders"][other]["tok/s"]

    return statistics.fmean(statistics.median(map(ratio, inputs)) for inputs in group)


def identical(group: list[list[dict[str, Any]]], name: str, other: str) -> int:
    """Inputs whose tokens are the same as another contender's, in every repetition."""
    return sum(
        all(record["contenders"][name]["token_ids"] == record["contenders"][other]["token_ids"] for record in inputs)
        for inputs in group
    )


def _line(label: str, cells: list[str]) -> str:
    return f"{label:26s}" + "".join(f"  {cell}" for cell in cells)
