"""What a pass of Qwen2.5-VL's shape costs by its number of nodes, on any device, with random weights.

Needs no hub: the language model is made from its sizes. Beside the time of a whole pass stands the host's part, until
the last piece of work has been handed to the device; on a CPU both are the same. The project has run this on CPUs alone,
with the shape "tiny".
"""

from __future__ import annotations

import argparse
import json
import statistics
from time import perf_counter
from typing import Any

import numpy as np

NODES = (1, 8, 16, 32, 64, 128)
SHAPES: dict[str, dict[str, int]] = {
    "qwen2.5-vl-7b": dict(hidden_size=3584, intermediate_size=18944, num_hidden_layers=28, num_attention_heads=28,
                          num_key_value_heads=4, vocab_size=152064),
    "qwen2.5-vl-3b": dict(hidden_size=2048, intermediate_size=11008, num_hidden_layers=36, num_attention_heads=16,
                          num_key_value_heads=2, vocab_size=151936),
    "tiny": dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, vocab_size=512),
}  # fmt: skip
DTYPES = ("bfloat16", "float16", "float32")
_WARM = 2
"""Passes of every size that are not counted."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--shape", choices=tuple(SHAPES), default="qwen2.5-vl-7b", help="(default: %(default)s)")
    parser.add_argument("--device", help="cpu, cuda, ... (default: CUDA where there is one)")
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16", help="(default: %(default)s)")
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES, help="(default: %(default)s)")
    parser.add_argument("--prefix", type=int, default=1024, help="tokens in the cache before (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="passes of every size (default: %(default)s)")
    parser.add_argument("--graphs", action="store_true", help="the same once more as CUDA graphs, on CUDA (not run yet)")
    parser.add_argument("--json", metavar="FILE", help="also write the milliseconds of every pass here")


def run(options: argparse.Namespace) -> int:
    if min((*options.nodes, options.rounds, options.prefix)) < 1:
        raise ValueError("nodes, rounds and prefix must be 1 or more")
    import torch

    from ..targets.graphs import StaticPasses

    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if options.graphs and device.type != "cuda":
        raise ValueError(f"CUDA graphs need a CUDA device, and this is {device}; leave --graphs out")
    runtime = random_runtime(options.shape, device, getattr(torch, options.dtype))
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    about = f"behind {options.prefix} tokens, {options.rounds} passes of each size"
    print(f"{options.shape}, random weights, {options.dtype} on {name}, {about}")
    record = {}
    for kind in ("eager", "graphs")[: 1 + options.graphs]:
        runtime.static = StaticPasses(runtime, capture=True) if kind == "graphs" else None
        record[kind] = {}
        print(f"{kind:8s}{'nodes':>8s}{'ms a pass':>14s}{'90 % within':>14s}{'host ms':>14s}")
        for nodes, (whole, host) in measure(runtime, options.nodes, options.prefix, options.rounds).items():
            record[kind][str(nodes)] = {"pass": whole, "host": host}
            late = sorted(whole)[int(0.9 * len(whole))]
            print(f"{nodes:16d}{statistics.median(whole):14.2f}{late:14.2f}{statistics.median(host):14.2f}", flush=True)
        if runtime.static is not None and runtime.static.fault:
            print(f"these passes ran without graphs: {runtime.static.fault}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"shape": options.shape, "device": name, "dtype": options.dtype, "ms": record}, file, indent=1)
    return 0


def sections(sizes: dict[str, int]) -> list[int]:
    """Rotary pairs of a head for time, height and width, in the real model's proportion 2:3:3."""
    half = sizes["hidden_size"] // sizes["num_attention_heads"] // 2
    return [half - 2 * (half * 3 // 8), half * 3 // 8, half * 3 // 8]


def random_runtime(shape: str, device: Any, dtype: Any) -> Any:
    """A runtime over a Qwen2.5-VL of that shape, without most of its picture encoder. Raises RuntimeError where it does
    not fit the device's memory."""
    import torch
    import transformers

    from ..targets.runtime import Runtime

    sizes = SHAPES[shape]
    config = transformers.Qwen2_5_VLConfig(
        text_config={**sizes, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections(sizes)},
                     "bos_token_id": None, "eos_token_id": None},
        vision_config=dict(depth=1, hidden_size=32, intermediate_size=48, num_heads=2, fullatt_block_indexes=[0],
                           out_hidden_size=sizes["hidden_size"]),
    )  # fmt: skip
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            model = transformers.Qwen2_5_VLForConditionalGeneration(config)
    finally:
        torch.set_default_dtype(before)
    runtime = Runtime(model, exact="off")
    runtime.mrope = True
    return runtime


def measure(runtime: Any, sizes: Any, prefix: int, rounds: int) -> dict[int, tuple[list[float], list[float]]]:
    """Milliseconds of every pass and of the host's part of it, by number of nodes; sizes take turns."""
    import torch

    random = np.random.default_rng(0)
    ids = random.integers(0, runtime.vocabulary, prefix + max(sizes))
    cache = runtime.new_cache()
    runtime.prefill(ids[:prefix], cache)

    def wait() -> None:
        if runtime.device.type == "cuda":
            torch.cuda.synchronize(runtime.device)

    times: dict[int, tuple[list[float], list[float]]] = {nodes: ([], []) for nodes in sizes}
    for turn in range(_WARM + rounds):
        for nodes, (whole, host) in times.items():
            wait()
            begin = perf_counter()
            runtime.verify(ids[prefix : prefix + nodes], np.arange(nodes), np.tri(nodes, dtype=bool), cache)
            handed = perf_counter()
            wait()
            if turn >= _WARM:
                whole.append(1000.0 * (perf_counter() - begin))
                host.append(1000.0 * (handed - begin))
    return times
