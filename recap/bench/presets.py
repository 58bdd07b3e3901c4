"""The settings of the paper's ablations, by the paper's names, and which of them its tables compare.

As there, rows have confidence 1 (fusion "prior") except in the confidence rows, and the cap of 63 nodes includes suffix
nodes (appendices A and B). Rules that only reorder recall (soft and sharp priors, Table 14) are here too.
"""

from __future__ import annotations

from typing import NamedTuple

from ..config import RecapConfig

BASE = RecapConfig(budget="paper", fusion="prior", suffix_within=True)
"""The fixed-prior special case (c_j = 1) under a cap of 63 that includes suffix nodes."""

PRESETS: dict[str, RecapConfig] = {
    "recap": BASE.replace(fusion="entropy"),
    "w/o confidence": BASE,
    "w/o prior": BASE.replace(fusion="confidence"),
    "uniform": BASE.replace(fusion="uniform"),
    "confidence gate": BASE.replace(fusion="gate"),
    "backoff": BASE.replace(fusion="backoff"),
    "soft prior": BASE.replace(priors=(0.55, 0.30, 0.15)),
    "sharp prior": BASE.replace(priors=(0.85, 0.10, 0.05)),
    "U+C backoff": BASE.replace(fusion="backoff", memories="CU"),
    "unigram": BASE.replace(fusion="backoff", memories="U"),
    "fixed expansion": BASE.replace(search="fixed"),
    "no suffix": BASE.replace(suffix=False),
    "reset U": BASE.replace(suffix=False, persistent=False),
    "semantic fallback": BASE.replace(fallback="semantic"),
    "recency fallback": BASE.replace(fallback="recency"),
    "cap 31": BASE.replace(max_nodes=31),
    "cap 127": BASE.replace(max_nodes=127),
}
"""By name. "reset U" is compared with "no suffix": appendix D leaves suffix insertion out. "fixed expansion" is not defined
in the paper; see `RecapConfig.search`."""


class Comparison(NamedTuple):
    """A row of Table 4: the gain of one preset over another."""

    part: str
    label: str
    ours: str
    reference: str


COMPARISONS = (
    Comparison("Candidate search", "Best-first vs. fixed expansion", "w/o confidence", "fixed expansion"),
    Comparison("Memory design", "Context backoff vs. unigram", "backoff", "unigram"),
    Comparison("Memory design", "Uniform fusion vs. backoff", "uniform", "backoff"),
    Comparison("Memory design", "Specificity priors vs. uniform fusion", "w/o confidence", "uniform"),
    Comparison("Memory design", "Entropy confidence vs. fixed priors", "recap", "w/o confidence"),
    Comparison("Memory design", "Persistent vs. reset U", "no suffix", "reset U"),
    Comparison("Sequence reuse", "Suffix insertion vs. none", "w/o confidence", "no suffix"),
)
"""Table 4. Its backoff takes the most specific of G, C and U; Figure 3(b) compares that of C and U with U."""

TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "4": (
        "Table 4: effects of individual components",
        tuple(dict.fromkeys(name for one in COMPARISONS for name in (one.ours, one.reference))),
    ),
    "10": ("Table 10: budget sensitivity", ("cap 31", "w/o confidence", "cap 127")),
    "12": ("Table 12: root fallback", ("w/o confidence", "semantic fallback", "recency fallback")),
    "13": ("Table 13: online fusion", ("w/o confidence", "recap", "w/o prior", "uniform", "confidence gate")),
    "3b": ("Figure 3(b): U + C backoff against U", ("unigram", "U+C backoff")),
}
"""By number: title and presets, the first of which the others are compared with (Table 4 has pairs of its own)."""


def preset(name: str) -> RecapConfig:
    """Raises ValueError for a name that is none."""
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]
