"""Target models: one protocol, one file per family that differs."""

from .base import Target
from .loading import load_target, wrap
from .prompt import Picture, Prompt

__all__ = ["Picture", "Prompt", "Target", "load_target", "wrap"]
