"""What is installed and what would be used."""

from __future__ import annotations

import argparse

from . import options as shared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--load", action="store_true", help="load the model and report what was checked about it")
    shared.add_model(parser)


def run(options: argparse.Namespace) -> int:
    import torch

    from ..drafter import Drafter
    from ..generation import versions
    from ..methods import METHODS
    from ..targets import cpu
    from ..targets.loading import default_model

    for name, version in versions().items():
        print(f"{name:14s}{version}")
    core = "compiled C extension" if Drafter().backend == "c" else "Python twin (the C extension is not built)"
    print(f"{'drafting core':14s}{core}")
    built = "compiled C passes" if cpu.choose() == "compiled" else "torch"
    missing = "" if cpu.available() else " (the C extension is not built)"
    print(f"{'builtin in':14s}{built}{missing}")
    print(f"{'methods':14s}{', '.join(METHODS)}")
    print(f"{'threads':14s}{options.threads or torch.get_num_threads()}")
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    print(f"{'cuda':14s}{gpu}")
    name = options.model or default_model()
    print(f"{'model':14s}{name}")
    if options.load:
        described = shared.load_model(options).describe()
        for key in ("device", "dtype", "exact", "exactness", "passes", "note"):
            print(f"{key:14s}{described[key]}")
    return 0
