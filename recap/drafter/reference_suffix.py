"""Python twin: suffix automaton over prompt + committed tokens (suffix.h)."""

from __future__ import annotations

import sys


class Suffix:
    """One string, built online. The longest suffix that also ends at an earlier position is the last state's link."""

    def __init__(self) -> None:
        self.lengths, self.links, self.first_ends = [0], [-1], [-1]
        self.edges: list[dict[int, int]] = [{}]
        self.last = 0
        self.last_is_break = False
        self.size = 0
        self.transitions = 0

    def append(self, token: int) -> None:
        state, at, edges, links = self._add(0), self.last, self.edges, self.links
        while at >= 0 and token not in edges[at]:
            edges[at][token] = state
            self.transitions += 1
            at = links[at]
        if at >= 0:
            target = edges[at][token]
            if self.lengths[target] != self.lengths[at] + 1:
                target = self._split(at, token, target)
            links[state] = target
        self.last, self.last_is_break = state, False

    def append_break(self) -> None:
        """A token that never matches: a symbol of its own. A run of them shares one state."""
        if self.last_is_break:
            self.lengths[self.last] = self.size + 1
            self.first_ends[self.last] = self.size
            self.size += 1
        else:
            self.last, self.last_is_break = self._add(0), True

    def match(self) -> tuple[int, int]:
        """Position after the earliest earlier occurrence of the longest repeated suffix, and that suffix's length; -1
        and 0 when none is repeated."""
        link = self.links[self.last]
        return (self.first_ends[link] + 1, self.lengths[link]) if link > 0 else (-1, 0)

    def step(self, state: int, length: int, token: int) -> tuple[int, int]:
        """The longest suffix of another text that occurs here, as state and length, when that text gets one more token."""
        while state > 0 and token not in self.edges[state]:
            state = self.links[state]
            length = self.lengths[state]
        following = self.edges[state].get(token)
        return (0, 0) if following is None else (following, length + 1)

    def _add(self, link: int) -> int:
        self.lengths.append(self.size + 1)
        self.links.append(link)
        self.first_ends.append(self.size)
        self.edges.append({})
        self.size += 1
        return len(self.lengths) - 1

    def _split(self, at: int, token: int, original: int) -> int:
        clone = len(self.lengths)
        self.lengths.append(self.lengths[at] + 1)
        self.links.append(self.links[original])
        self.first_ends.append(self.first_ends[original])
        self.edges.append(dict(self.edges[original]))
        self.transitions += len(self.edges[original])
        while at >= 0 and self.edges[at].get(token) == original:
            self.edges[at][token] = clone
            at = self.links[at]
        self.links[original] = clone
        return clone

    def bytes(self) -> int:
        """An estimate, cheap enough for every pass: lists, one small dict per state, three integers per state."""
        lists = sum(sys.getsizeof(part) for part in (self.lengths, self.links, self.first_ends, self.edges))
        return lists + len(self.edges) * (sys.getsizeof({}) + 3 * 28) + self.transitions * 100
