"""Made-up records of a benchmark, as `recap.bench.runner` yields them."""

from __future__ import annotations

from typing import Any


def record(
    id: str,
    name: str,
    category: str = "a",
    repeat: int = 0,
    tokens: int = 40,
    prefill: float = 1.0,
    decode: float = 3.0,
    passes: int = 20,
    accepted: int = 0,
    encode: float = 0.0,
    difference: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A record of one turn. A quarter of decoding is drafting, half of it verifying, an eighth updating."""
    seconds = {
        "encode": encode, "prefill": prefill, "decode": decode, "draft": decode / 4, "verify": decode / 2,
        "update": decode / 8,
    }  # fmt: skip
    turn = {
        "tokens": tokens, "passes": passes, "accepted": accepted, "finish": "stop", "seconds": seconds,
        "token_ids": list(range(tokens)),
    }  # fmt: skip
    return {
        "repeat": repeat, "id": id, "category": category, "name": name, "method": name.split()[0], "budget": "paper",
        "place": 0, "tokens": tokens, "T": encode + prefill + decode, "seconds": seconds, "passes": passes,
        "accepted": accepted, "tau": 1 + accepted / passes, "nodes": 8.0, "histogram": {"8": passes}, "prompt_tokens": 9,
        "seeded_rows": None, "turns": [turn], "identical": difference is None, "difference": difference,
    }  # fmt: skip


def run(names: list[str], **configuration: Any) -> dict[str, Any]:
    """A run.json to go with them."""
    return {
        "version": 1, "configuration": {"names": names, "inputs": 2, "repeats": 1, "max_new_tokens": 64, **configuration},
        "machine": {"processor": "A chip", "cores": 2, "memory_gib": 8.0, "threads": 2, "gpu": None, "system": "Linux x",
                    "load": 0.5},
        "versions": {"recap": "0", "torch": "2"}, "seed": 0, "started": "then", "ended": None, "resumed": [],
        "model": {"name": "tiny", "device": "cpu", "dtype": "float32", "exact": True, "exactness": "not needed",
                  "passes": "torch", "note": ""},
        "manifest": {"name": "m.jsonl", "folder": "f", "problems": []},
    }  # fmt: skip
