"""How many nodes a pass gets: the paper's fixed numbers, or what pays on this machine."""

from __future__ import annotations

from .auto import Auto
from .choice import Choice
from .cost import PassCosts
from .fixed import Fixed
from .learned import Learned, known

Budget = Fixed | Auto

__all__ = ["Auto", "Budget", "Choice", "Fixed", "Learned", "PassCosts", "known"]
