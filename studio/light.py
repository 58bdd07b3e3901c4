"""What gradio keeps of every open page, without what only links to a page's state need, which this server does not serve.

gradio describes every part of the page anew for every visitor who comes, 0.1 s in which no event, word or view is served,
and every part that an event changes twice more.
"""

from __future__ import annotations

from typing import Any

from gradio.blocks import BlocksConfig


class PageConfig(BlocksConfig):
    """The page's own parts and events; every visitor gets a copy."""

    def __copy__(self) -> BlocksConfig:
        copied = super().__copy__()
        copied.__class__ = _VisitorConfig
        return copied


class _VisitorConfig(PageConfig):
    @staticmethod
    def config_for_block(*_: Any, **__: Any) -> dict[str, Any]:
        """Nobody reads it."""
        return {}
