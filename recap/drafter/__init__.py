"""The drafting core: memories, fusion, search and suffix path, as one C extension with a Python twin."""

import sys
from types import ModuleType
from typing import Any

from .backends import BACKENDS
from .base import Base
from .door import Drafter
from .draft import Draft, Explanation

__all__ = ["BACKENDS", "Base", "Draft", "Drafter", "Explanation"]


class _CallablePackage(ModuleType):
    # `recap.drafter` is both this package and the public function recap.drafter(method): a module's class may be
    # replaced by one that can be called.
    def __call__(self, method: str, config: Any = None) -> Any:
        """The proposer of a method. Raises ValueError for an unknown method."""
        from ..methods import proposer

        return proposer(method, config)


sys.modules[__name__].__class__ = _CallablePackage
