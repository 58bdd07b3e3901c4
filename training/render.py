"""`python -m training.render`: draw pictures of both halves and let the real front end look at each."""

from __future__ import annotations

import argparse

from tqdm import tqdm

from .look import CACHE, seen
from .words import SPLITS


def main(arguments: list[str] | None = None) -> None:
    """Fill the cache."""
    parser = argparse.ArgumentParser(prog="python -m training.render", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="pictures to draw")
    parser.add_argument("--split", choices=SPLITS, default="train")
    options = parser.parse_args(arguments)
    for _ in tqdm(seen(options.split, options.count), total=options.count, desc=f"{options.split} pictures"):
        pass
    print(f"{options.count} pictures with their evidence are in {CACHE / 'seen' / options.split}")


if __name__ == "__main__":
    main()
