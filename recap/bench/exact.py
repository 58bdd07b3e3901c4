"""Whether drafting changes answers: by number format, with the exact mode off and on, and in transformers itself.

The first turn of every input of a manifest (as for `bench run`) is answered by plain decoding (AR) and by RECAP with the
paper's trees, and by transformers' own `generate` with and without prompt lookup. Counted is how many answers have the
same tokens, where the others part, and what the mode costs: both modes of a number format take turns, prompt by prompt.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..trace import first_difference
from .contenders import PLAIN, contenders
from .manifest import Input
from .peers import PEERS
from .peers import load as load_peers
from .questions import keep, read_options

CONTENDERS = ("torch-bfloat16", "torch-float16", "torch-float32", "compiled")
"""Passes and number format. The compiled passes are those of the built-in model; their arithmetic is float32."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, help="a manifest as for `bench run`; the first turn of each input is asked")
    parser.add_argument("--max-new-tokens", type=int, default=64, help="(default: %(default)s)")
    parser.add_argument("--limit", type=int, help="only the first so many prompts")
    parser.add_argument(
        "--contenders", nargs="+", choices=CONTENDERS,
        help="(default: all that this machine can run; compiled is for builtin)",
    )  # fmt: skip
    parser.add_argument("--no-transformers", action="store_true", help="leave transformers' own generate out")
    parser.add_argument("--model", default="builtin", help='"builtin", a folder or a hub id (default: %(default)s)')
    parser.add_argument("--device", default="cpu", help="(default: %(default)s)")
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's own choice)")
    parser.add_argument("--json", metavar="FILE", help="write one record per row of the table and prompt, JSONL")


def run(options: argparse.Namespace) -> int:
    questions = read_options(options)
    records: list[dict[str, Any]] = []
    for contender, exact in modes(options.contenders or possible(options.model, options.device), options.device):
        running = []
        for mode in exact:
            target = load(options.model, contender, mode, options.device, options.threads)
            # transformers knows no exact mode: it is asked once per number format
            lookup = contender != "compiled" and mode != "auto" and not options.no_transformers
            running.append(answers(target, questions, options.max_new_tokens, lookup))
        for together in tqdm(zip(*running), desc=contender, total=len(questions), unit="prompt"):
            for mode, record in zip(exact, together):
                records.append({"contender": contender, "exact": mode, **record})
                keep(options, records)
    print(report(records, options.model))
    return 0


def possible(model: str, device: str) -> list[str]:
    """Contenders that can be had for this model on this machine."""
    import torch

    from ..targets import cpu

    names = list(CONTENDERS)
    if model != "builtin" or device != "cpu" or not cpu.available():
        names.remove("compiled")
    try:
        ones = torch.ones(2, 2, dtype=torch.float16, device=device)
        torch.nn.functional.linear(ones, ones)
    except RuntimeError:
        names.remove("torch-float16")
    return names


def modes(contenders: Sequence[str], device: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(contender, modes): "off" and "auto", or "" alone where the mode changes nothing."""
    for name in dict.fromkeys(contenders):
        half = name.startswith("torch") and name != "torch-float32" and device == "cpu"
        yield name, ("off", "auto") if half else ("",)


def load(model: str, contender: str, exact: str, device: str, threads: int | None) -> Any:
    """The target that a row of the table stands for."""
    from ..targets.loading import load_target

    passes, _, dtype = contender.partition("-")
    mode = "auto" if exact == "auto" else False
    return load_target(model, device, dtype or "auto", mode, threads, passes=passes)


def answers(
    target: Any, questions: list[dict[str, Any]], max_new_tokens: int, lookup: bool
) -> Iterator[dict[str, Any]]:
    """For each question: whether the target says exact, and the first token in which RECAP and AR differ (None: in
    none), tokens per second of both; under "transformers" the first difference of its prompt lookup and its greedy
    generate, where it was asked."""
    from .runner import measure

    inputs = [Input(str(at), "", (asked["prompt"],), tuple(asked["images"])) for at, asked in enumerate(questions)]
    measured = measure(target, inputs, contenders(["recap"], ["paper"]), max_new_tokens)
    peers = load_peers(PEERS if lookup else (), target, max_new_tokens)
    for number, records in enumerate(measured):
        if "error" in records[0]:
            raise ValueError(f"prompt {number + 1} cannot be asked: {records[0]['error']}")
        by_name = {record["name"]: record for record in records}
        plain, ours = by_name[PLAIN], by_name["recap paper"]
        answer = {
            "checked": target.exact, "number": number, "tokens": plain["tokens"], "tau": ours["tau"],
            "nodes": ours["nodes"], "first_difference": ours["difference"] and ours["difference"]["token"],
            "tok/s": {name: record["tokens"] / record["T"] for name, record in (("ar", plain), ("recap", ours))},
        }  # fmt: skip
        question = questions[number]
        if peers and (not question["images"] or target.placeholder is None):
            ids = target.prompt(question["prompt"], question["images"]).ids
            answer["transformers"] = first_difference(*(peer(ids).token_ids for peer in peers))
        yield answer


def report(records: list[dict[str, Any]], model: str) -> str:
    """A table, a line per contender and mode. Tokens per second are medians over the answers."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["contender"], record["exact"]), []).append(record)
    lines = [
        f"{model}: answers identical to plain decoding, token for token, and the median index of the first token that "
        "differs in the others",
        f"{'':16s}{'':7s}{'target':>8s}{'':>9s}{'':>7s}{'tokens per second':>20s}{'RECAP and AR':>26s}"
        f"{'transformers, lookup':>26s}",
        f"{'passes':16s}{'exact':7s}{'.exact':>8s}{'tokens':>9s}{'tau':>7s}{'AR':>12s}{'RECAP':>8s}"
        + f"{'identical':>14s}{'differs at':>12s}" * 2,
    ]
    for (contender, exact), group in groups.items():
        checked = "yes" if all(record["checked"] for record in group) else "no"
        tau = statistics.fmean(record["tau"] for record in group)
        lookup = [record["transformers"] for record in group if "transformers" in record]
        ar, ours = (statistics.median(record["tok/s"][name] for record in group) for name in ("ar", "recap"))
        lines.append(
            f"{contender:16s}{exact or '-':7s}{checked:>8s}{sum(record['tokens'] for record in group):9d}{tau:7.2f}{ar:12.1f}{ours:8.1f}"
            + _cells([record["first_difference"] for record in group]) + _cells(lookup)
        )  # fmt: skip
    return "\n".join(lines)


def _cells(differences: list[int | None]) -> str:
    """Identical of all, and the median first difference of the rest."""
    if not differences:
        return f"{'-':>14s}{'-':>12s}"
    apart = [at for at in differences if at is not None]
    where = f"{statistics.median(apart):g}" if apart else "-"
    return f"{f'{len(differences) - len(apart)}/{len(differences)}':>14s}{where:>12s}"
