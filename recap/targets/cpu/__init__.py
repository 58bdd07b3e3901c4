"""Fast passes of a llama-shaped model on a CPU: kernels in C that give a token the same bits in every pass.

Weights are read as they are stored (bfloat16, 2 bytes, where that loses nothing), all arithmetic is float32, and every
number is one chain of operations in one order, however many tokens share a pass and however many threads share the
work. So what a draft holds cannot change a token's logits: not by a tested coincidence, but by construction. The order
differs between instruction sets, so another processor's logits may differ in the last bits.
"""

from .checkpoint import Checkpoint
from .passes import CHOICES, Passes, available, choose

__all__ = ["CHOICES", "Checkpoint", "Passes", "available", "choose"]
