"""`python -m recap.targets.builtin.assets`: fetch the files of the built-in model ahead of time, with progress.

The code behind it is in `sources`; the package itself never imports this module, so that it can be run by its name.
"""

from __future__ import annotations

import argparse
import sys
import time

from .sources import COMMAND, Assets, ensure
from .store import AssetError

__all__ = ["AssetError", "Assets", "ensure", "main"]


class _Display:
    """One line that is redrawn on a terminal; elsewhere a line per change of text."""

    def __init__(self) -> None:
        self.text = ""
        self.live = sys.stderr.isatty()

    def __call__(self, text: str, fraction: float | None) -> None:
        done = "" if fraction is None else f"{fraction:5.0%}"
        if self.live:
            end = "\n" if fraction == 1.0 else ""
            print(f"\r\x1b[2K{text} {done}", end=end, file=sys.stderr, flush=True)
        elif text != self.text:
            print(text, file=sys.stderr, flush=True)
        self.text = text


def main(arguments: list[str] | None = None) -> int:
    """Command line: 0 when the files are in place, 1 with a sentence when not."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Fetch the files of the built-in model (once).")
    parser.add_argument("--verify", action="store_true", help="hash every stored file and replace damaged ones")
    options = parser.parse_args(arguments)
    begin = time.monotonic()
    try:
        assets = ensure(_Display(), options.verify)
    except AssetError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; nothing half-written was kept. Run the command again to go on.", file=sys.stderr)
        return 130
    print(f"The built-in model is ready in {assets.language_model.parent} ({time.monotonic() - begin:.1f} s).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
