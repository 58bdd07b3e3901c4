"""How often every stretch of a text was followed by what: a suffix automaton that counts, and trees grown from it."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from ..drafter.reference_suffix import Suffix
from .tree import TreeBuilder


class Frequencies(Suffix):
    """`counts[state]`: occurrences of the strings that lead to a state, in one string built online. As a trie of all
    suffixes would say them, at a size that grows with the text alone."""

    def __init__(self) -> None:
        super().__init__()
        self.counts = [0]

    def append(self, token: int) -> None:
        super().append(token)
        at, counts, links = self.last, self.counts, self.links
        while at > 0:
            counts[at] += 1
            at = links[at]

    def extend(self, tokens: Iterable[int], banned: frozenset[int]) -> None:
        """Append tokens; a banned one never matches."""
        for token in tokens:
            if token in banned:
                self.append_break()
            else:
                self.append(token)

    def repeated(self, state: int, length: int) -> Iterator[tuple[int, int]]:
        """The state itself, whose match has this length, and those of all shorter suffixes of the match that occur more
        often, with their lengths."""
        while state > 0:
            yield state, length
            state = self.links[state]
            length = self.lengths[state]

    def find(self, tokens: Iterable[int]) -> int:
        """The state of a string, 0 if it does not occur."""
        state = 0
        for token in tokens:
            state = self.edges[state].get(token, 0)
            if not state:
                break
        return state

    def _add(self, link: int) -> int:
        self.counts.append(0)
        return super()._add(link)

    def _split(self, at: int, token: int, original: int) -> int:
        self.counts.append(self.counts[original])
        return super()._split(at, token, original)


def grow(
    tree: TreeBuilder, source: Frequencies, state: int, most: int, banned: frozenset[int], *, least: float = 0.0,
    depth: int = 1 << 30, deep_first: bool = False,
) -> float:
    """Add what followed a state to a tree below its root until the tree has `most` candidates; the sum of their
    estimated probabilities. A candidate's estimate is its parent's times its share among its siblings' counts.

    By default the likeliest candidate comes next, of equals the one seen first, and none below `least` is added. With
    `deep_first` the most frequent comes next, and of equals one continuation is followed to its end before another.
    """
    score, pushed = 0.0, 0
    heap: list[tuple[float, int, int, int, int, float]] = []

    def push(state: int, at: int, probability: float) -> None:
        nonlocal pushed
        edges = source.edges[state]
        if not edges or tree.depths[at] >= depth:
            return
        followed = [(token, child, source.counts[child]) for token, child in edges.items()]
        total = sum(count for _, _, count in followed)
        if len(followed) > 2 * most:  # there is no room for the others
            followed = heapq.nlargest(most + len(banned), followed, key=lambda one: one[2])
        for token, child, count in reversed(followed) if deep_first else followed:
            chance = probability * count / total
            if chance >= least and token not in banned:
                pushed += 1
                key = (-count, -pushed) if deep_first else (-chance, pushed)
                heapq.heappush(heap, (*key, at, token, child, chance))

    push(state, 0, 1.0)
    while heap and len(tree) <= most:
        _, _, parent, token, child, chance = heapq.heappop(heap)
        at = tree.add(parent, token, min(chance, tree.scores[parent]))
        score += chance
        push(child, at, chance)
    return score
