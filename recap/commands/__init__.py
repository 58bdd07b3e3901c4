"""One file per command of `python -m recap`."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""
