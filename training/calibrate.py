"""`python -m training.calibrate`: how often the classifier's first guess is right when it says how sure it is.

`labelled.jsonl` names real photos in packages (version, path, SHA-256) and the class names that a person would accept for
the main thing, written down before the classifier saw them; none where no class fits. One parameter, the temperature of the
softmax (Guo et al., 2017), is fitted by the likelihood of "the first guess is right". A photo's confidence "after" comes
from a fit that left out its whole package, as pictures of one package are alike.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from recap.pictures import open_picture
from recap.targets.builtin import lite0
from recap.targets.builtin.families import GUESS, KIND_SURE, LIKELY, SURE, kinds_of, seen
from recap.targets.builtin.front_end import TOP, class_names
from recap.targets.builtin.sources import ensure

from . import fetch, real

MANIFEST = Path(__file__).with_name("labelled.jsonl")
EDGES = (0.0, GUESS, LIKELY, KIND_SURE, SURE, 0.7, 0.9, 1.0)
"""Of the bins, stated confidence; the last one includes 1."""
GRID = np.exp(np.linspace(np.log(0.25), np.log(8.0), 701))
"""Temperatures that are tried, half a per cent apart."""
RESAMPLES = 2000


@dataclass(frozen=True)
class Photo:
    """A photo in a package and what a person sees there."""

    package: str
    version: str
    source: str
    path: str
    sha256: str
    licence: str
    shows: str
    objects: tuple[str, ...]
    """The classifier's names that a person would accept; may be none."""
    kinds: frozenset[str]
    """What kinds of things it shows: those of `objects`, and others where the line names some."""


def photos(path: Path = MANIFEST) -> list[Photo]:
    """The manifest. Raises ValueError with the line's number for what it cannot use."""
    found, names = [], set(class_names())
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            raw = json.loads(line)
            if raw["from"] not in fetch.SOURCES:
                raise ValueError(f"from must be one of {', '.join(fetch.SOURCES)}, not {raw['from']!r}")
            if unknown := set(raw["objects"]) - names:
                raise ValueError(f"objects holds what is no name of the classifier's: {', '.join(sorted(unknown))}")
            kinds = frozenset(raw["kinds"]).union(*map(kinds_of, raw["objects"]))
            found.append(Photo(raw["package"], raw["version"], raw["from"], raw["path"], raw["sha256"], raw["licence"],
                               raw["shows"], tuple(raw["objects"]), kinds))  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            said = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{path.name}, line {number}: {said}") from None
    return found


def confidences(logits: np.ndarray, temperature: float | np.ndarray) -> np.ndarray:
    """(n, classes) float32 and a temperature, or one for each row, to (n,): the likeliest class's probability."""
    scaled = (logits - logits.max(-1, keepdims=True)) / np.reshape(temperature, (-1, 1))
    return 1.0 / np.exp(scaled).sum(-1)


def losses(logits: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(temperatures of GRID, n): minus the log-likelihood of whether each first guess is right."""
    stated = np.stack([confidences(logits, temperature) for temperature in GRID]).clip(1e-9, 1 - 1e-9)
    return -np.where(right, np.log(stated), np.log1p(-stated))


def fit(costs: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The likeliest temperature, given `losses` and how often each photo counts (once)."""
    return float(GRID[(costs.sum(1) if weights is None else costs @ weights).argmin()])


def held_out(costs: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(n,): for each photo the temperature fitted without its group."""
    fitted = {group: fit(costs, (groups != group).astype(float)) for group in np.unique(groups)}
    return np.array([fitted[group] for group in groups])


def reliability(stated: np.ndarray, right: np.ndarray) -> list[tuple[float, float, int, int, float]]:
    """(from, to, photos, first guesses that are right, mean stated confidence) of each bin of EDGES."""
    bins = np.searchsorted(EDGES[1:-1], stated, side="right")
    rows = []
    for number, (low, high) in enumerate(zip(EDGES, EDGES[1:])):
        inside = bins == number
        mean = float(stated[inside].mean()) if inside.any() else 0.0
        rows.append((low, high, int(inside.sum()), int(right[inside].sum()), mean))
    return rows


def expected_error(stated: np.ndarray, right: np.ndarray) -> float:
    """Expected calibration error over the bins of EDGES: mean distance of stated from right, by photos."""
    return sum(abs(good - count * mean) for *_, count, good, mean in reliability(stated, right)) / len(stated)


def interval(measure: Any, groups: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of measure(indices) where whole groups are drawn."""
    members = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    draws, rng = [], np.random.default_rng(seed)
    for _ in range(RESAMPLES):
        draws.append(measure(np.concatenate([members[one] for one in rng.integers(0, len(members), len(members))])))
    low, high = np.percentile(draws, (2.5, 97.5))
    return float(low), float(high)


def by_chance(stated: np.ndarray, seed: int = 0) -> float:
    """The expected calibration error that so few photos would show, in the mean, were every stated confidence exact."""
    rng = np.random.default_rng(seed)
    return float(np.mean([expected_error(stated, rng.random(len(stated)) < stated) for _ in range(RESAMPLES // 4)]))


def share(good: int, count: int) -> str:
    """Percentage with its 95 % Wilson interval."""
    if not count:
        return "-"
    z, p = 1.96, good / count
    middle, half = p + z * z / (2 * count), z * np.sqrt(p * (1 - p) / count + (z / (2 * count)) ** 2)
    low, high = ((middle + side * half) / (1 + z * z / count) for side in (-1, 1))
    return f"{p:.0%} ({low:.0%} to {high:.0%})"


def table(title: str, stated: np.ndarray, right: np.ndarray, groups: np.ndarray) -> list[str]:
    """Markdown: the reliability table and the calibration error."""
    lines = [f"**{title}**", "", "| stated | photos | right | mean stated |", "|---|---|---|---|"]
    for low, high, count, good, mean in reliability(stated, right):
        cells = f"{good}, {share(good, count)} | {mean:.0%}" if count else "- | -"
        lines.append(f"| {low:.0%} to {high:.0%} | {count} | {cells} |")
    low, high = interval(lambda chosen: expected_error(stated[chosen], right[chosen]), groups)
    likelihood = -np.where(right, np.log(stated), np.log1p(-stated.clip(0, 1 - 1e-9))).mean()
    lines += ["", f"Expected calibration error {expected_error(stated, right):.3f} (95 % {low:.3f} to {high:.3f}; were all "
              f"exact: {by_chance(stated):.3f}), mean stated {stated.mean():.1%}, right {right.mean():.1%}, negative "
              f"log-likelihood {likelihood:.3f}.", ""]  # fmt: skip
    return lines


def looked_at(listed: Sequence[Any], network: lite0.Lite0) -> tuple[np.ndarray, np.ndarray]:
    """Logits (n, 1000), and whether each first guess is one that a person accepts (n,). Raises fetch.FetchError."""
    names, rows, right = class_names(), [], []
    for photo in tqdm(listed, desc="photos", leave=False):
        data = fetch.file_in(fetch.archive(photo.package, photo.version, photo.source), photo.path)
        if isinstance(photo, Photo) and hashlib.sha256(data).hexdigest() != photo.sha256:
            raise fetch.FetchError(
                f"{photo.package} {photo.version}: {photo.path} is not the picture that was labelled (another SHA-256); "
                "delete its folder in runs/training/real, or label it anew"
            )
        rows.append(lite0.logits(network, open_picture(data)).numpy())
        right.append(names[int(rows[-1].argmax())] in photo.objects)
    return np.stack(rows), np.array(right)


def wordings(listed: Sequence[Photo], logits: np.ndarray) -> list[str]:
    """Markdown: how often what the notes say is right, and the reliability of the kinds. (n, 1000) logits."""
    names, groups = class_names(), np.array([photo.package for photo in listed])
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    found = [seen([(names[c], float(row[c])) for c in np.argsort(-row)[:TOP]]) for row in shares]
    counts = {case: [0, 0] for case in ("name", "kind", "probably kind", "maybe name", "weak guess", "nothing")}
    for photo, best in zip(listed, found):
        case = best.level or ("weak guess" if best.confidence >= GUESS else "nothing")
        counts[case][0] += 1
        counts[case][1] += best.kind in photo.kinds if "kind" in case else best.name in photo.objects
    lines = ["**What the notes say**", "", "| the notes give | photos | right |", "|---|---|---|"]
    lines += [f"| {case} | {count} | {good}, {share(good, count)} |" for case, (count, good) in counts.items()]
    ours = np.array([bool(best.kind) for best in found])
    stated = np.array([best.kind_confidence for best in found])
    right = np.array([best.kind in photo.kinds for photo, best in zip(listed, found)])
    return [*lines, "", *table("Kinds (of all guesses of the kind together)", stated[ours], right[ours], groups[ours])]


def report(listed: Sequence[Photo], logits: np.ndarray, right: np.ndarray) -> tuple[list[str], float]:
    """Lines of markdown, and the temperature fitted on all."""
    groups, named = np.array([photo.package for photo in listed]), np.array([bool(photo.objects) for photo in listed])
    costs = losses(logits, right)
    temperature, apart = fit(costs), held_out(costs, groups)
    low, high = interval(lambda chosen: fit(costs, np.bincount(chosen, minlength=len(right)).astype(float)), groups)
    lines = [f"{len(right)} photos of {len(set(groups))} packages; a class fits {named.sum()} of them.", ""]
    lines += table("Before (temperature 1)", confidences(logits, 1.0), right, groups)
    lines += table("After (each photo by a fit without its package)", confidences(logits, apart), right, groups)
    lines += [f"Temperature on all: {temperature:.2f} (95 % {low:.2f} to {high:.2f}); without one package "
              f"{apart.min():.2f} to {apart.max():.2f}; only photos that a class fits: {fit(costs, named.astype(float)):.2f}.", ""]  # fmt: skip
    return lines + wordings(listed, logits), temperature


def main(arguments: list[str] | None = None) -> None:
    """Fetch, classify, fit, and print markdown."""
    parser = argparse.ArgumentParser(prog="python -m training.calibrate", description=__doc__.splitlines()[0])
    parser.add_argument("--guesses", action="store_true", help="also list every photo with its first guess")
    options = parser.parse_args(arguments)
    try:
        listed, network = photos(), lite0.load(ensure(None).classifier)
        logits, right = looked_at(listed, network)
        others = [entry for entry in real.entries() if entry.kind == "photo"]
        other_logits, other_right = looked_at(others, network)
    except (fetch.FetchError, ValueError) as error:
        raise SystemExit(f"training.calibrate: {error}") from None
    lines, temperature = report(listed, logits, right)
    other_groups = np.array([entry.package for entry in others])
    for title, used in (("before", 1.0), ("after", temperature)):
        stated = confidences(other_logits, used)
        title = f"The {len(others)} photos of real.jsonl, which no fit saw, {title}"
        lines += table(title, stated, other_right, other_groups)
    if options.guesses:
        names, before, after = class_names(), confidences(logits, 1.0), confidences(logits, temperature)
        lines += ["| photo | first guess | before | after | |", "|---|---|---|---|---|"]
        for n, photo in enumerate(listed):
            lines.append(f"| {photo.package}: {photo.shows} | {names[int(logits[n].argmax())]} | {before[n]:.0%} | "
                         f"{after[n]:.0%} | {'right' if right[n] else 'wrong'} |")  # fmt: skip
    print("\n".join(lines))
    print(f"The fit would divide the logits by {temperature:.2f}; the front end divides by nothing.")


if __name__ == "__main__":
    main()
