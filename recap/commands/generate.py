"""Ask a question, with pictures or without, and stream the answer."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..config import check_request
from ..methods import AUTO_METHODS, METHODS
from . import INTERRUPTED
from . import options as shared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--prompt", required=True, help='the question; "-" reads it from standard input')
    parser.add_argument("--image", action="append", default=[], help="a picture; may be given several times")
    parser.add_argument("--method", default="recap", choices=METHODS, help="decoding method (default: %(default)s)")
    parser.add_argument("--max-new-tokens", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 is argmax (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="for a temperature above 0")
    shared.add_warm(parser, "with --method recap, ")
    parser.add_argument("--trace", metavar="FILE", help="write everything that happened to this JSON file")
    parser.add_argument("--compare", action="store_true", help="decode the same with plain AR and report the speedup")
    shared.add_model(parser)
    shared.add_config(parser)


def run(options: argparse.Namespace) -> int:
    # mistakes are told before torch is imported, which takes seconds
    check_request(options.max_new_tokens, options.temperature, options.seed)
    config = shared.read_config(options)
    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    if not prompt.strip():
        raise ValueError("the prompt is empty; ask something with --prompt")
    if options.trace is not None:
        shared.check_writable("--trace", options.trace)
    for picture in options.image:
        if not Path(picture).is_file():
            raise ValueError(f"--image: there is no file {picture!r}")
    if options.warm is not None and options.method != "recap":
        raise ValueError(f"--warm is rows for RECAP's memory U, and {options.method} has none: leave it out")
    warm = shared.read_warm(options, config)
    from ..generation import generate

    target = shared.load_model(options)
    if target.note:
        print(target.note, file=sys.stderr)
    if config.budget == "auto" and options.method in AUTO_METHODS:
        target.measure(shared.tell)
    arguments: dict[str, Any] = dict(
        prompt=prompt, images=options.image, max_new_tokens=options.max_new_tokens, temperature=options.temperature,
        seed=options.seed, config=config, warm=warm,
    )
    if options.compare:  # whoever runs first would pay for what is loaded on first use
        generate(target, **arguments | {"max_new_tokens": 2})
    trace = (_race if options.compare else _stream)(target, options.method, arguments)
    cancelled = trace.finish_reason == "cancelled" or (options.compare and trace.comparison is None)
    print(_figures(trace), file=sys.stderr)
    if options.trace is not None:
        Path(options.trace).write_text(trace.to_json(), encoding="utf-8")
        print(f"trace written to {options.trace}", file=sys.stderr)
    return INTERRUPTED if cancelled else 0


def _stream(target: Any, method: str, arguments: dict[str, Any]) -> Any:
    """Print the answer as it comes; an interrupt keeps what was said."""
    from ..generation import stream

    shown = 0
    with stream(target, method=method, **arguments) as answer:
        try:
            answer.prefill()
            while True:
                shown = _say(answer.trace, shown)
                if next(answer, None) is None:
                    break
        except KeyboardInterrupt:
            answer.close()
        _say(answer.trace, shown, end="\n")
        return answer.trace


def _race(target: Any, method: str, arguments: dict[str, Any]) -> Any:
    """The same while plain AR takes turns with it, so that both meet the same machine."""
    from ..race import Race

    shown = 0
    with Race(target, methods=(method, "ar"), **arguments) as race:
        try:
            for _ in race:
                shown = _say(race.traces[0], shown)
        except KeyboardInterrupt:
            if race.traces[0] is None:
                raise
        _say(race.traces[0], shown, end="\n")
        return race.traces[0]


def _say(trace: Any, shown: int, end: str = "") -> int:
    """Print what came after the first `shown` characters; how many are shown now."""
    print(trace.text[shown:], end=end, flush=True)
    return len(trace.text)


def _figures(trace: Any) -> str:
    lines = [
        f"{len(trace.token_ids)} tokens ({trace.finish_reason}), {len(trace.steps)} passes, "
        f"tau {trace.acceptance_length:.2f}, {trace.tokens_per_second:.1f} tok/s",
        f"pictures {trace.encode_seconds:.2f} s, prefill {trace.prefill_seconds:.2f} s ({trace.prompt_tokens} tokens), "
        f"decoding {trace.decode_seconds:.2f} s",
    ]
    if trace.comparison is not None:
        other = trace.comparison
        same = "same tokens" if other.identical else f"tokens differ from number {other.first_difference} on"
        rate = len(other.token_ids) / other.seconds
        lines.append(f"plain AR {rate:.1f} tok/s: S {trace.speedup:.2f}x in one run on this machine, {same}")
    return "\n".join(lines)
