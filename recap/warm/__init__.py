"""A warm U: one-token rows that earlier answers left, kept in a file, for many sessions to look up and none to write."""

from .memory import Warm, WarmMemory, given

__all__ = ["Warm", "WarmMemory", "given"]
