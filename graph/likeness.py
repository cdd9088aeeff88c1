"""How alike two nodes are: pure, bounded work over names and neighbours; nothing here reads or writes anything."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations

from rapidfuzz import fuzz

EXACT = 1.0
OTHER_KIND = 0.9
ALIAS_OF_OTHER_KIND = 0.8
# Spelling and neighbours alone never say that two are one: their best scores stay below.
SPELLING = 0.89
NEIGHBOURS = 0.79

WINDOW = 8
LEAST_LETTERS = 4
LEAST_RATIO = 85.0
LEAST_COMMON = 2
LEAST_OVERLAP = 0.5
# A neighbour that more nodes share says little about any two of them, and would make as many pairs.
BUSIEST = 40


def kind_of(key: str) -> str:
    """The kind part of a key."""
    return key.partition(":")[0]


def name_of(key: str) -> str:
    """The name part of a key."""
    return key.partition(":")[2]


def alike_in_spelling(keys: Iterable[str]) -> Iterator[tuple[str, str, float]]:
    """Pairs of one kind whose names are spelled alike, with their score.

    Each name is compared with its next neighbours in three orders (as it is, reversed, by its words): work grows with
    the names, not with their pairs. Names whose digits differ are different things: versions, dates, parts.
    """
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for key in keys:
        if len(name_of(key)) >= LEAST_LETTERS:
            by_kind[kind_of(key)].append(name_of(key))
    for kind, names in by_kind.items():
        seen: set[tuple[str, str]] = set()
        for order in (str, _reversed, _by_words):
            row = sorted(names, key=order)
            for at, name in enumerate(row):
                for other in row[at + 1 : at + WINDOW]:
                    pair = (min(name, other), max(name, other))
                    if pair not in seen:
                        seen.add(pair)
                        ratio = _ratio(*pair)
                        if ratio:
                            yield f"{kind}:{pair[0]}", f"{kind}:{pair[1]}", round(SPELLING * ratio, 4)


def _reversed(name: str) -> str:
    return name[::-1]


def _by_words(name: str) -> list[str]:
    return sorted(name.split("-"))


def _ratio(name: str, other: str) -> float:
    if _digits(name) != _digits(other):
        return 0.0
    words = fuzz.token_sort_ratio(name.replace("-", " "), other.replace("-", " "), score_cutoff=LEAST_RATIO)
    return max(fuzz.ratio(name, other, score_cutoff=LEAST_RATIO), words) / 100


def _digits(name: str) -> list[str]:
    return sorted(char for char in name if char.isdigit())


Tie = tuple[str, str, bool]
"""A neighbour's key, the predicate, and whether the edge goes out."""


def alike_in_neighbours(ties: Mapping[str, Collection[Tie]]) -> Iterator[tuple[str, str, float, int, int]]:
    """Pairs of one kind with many neighbours in common: score, how many in common, of how many."""
    sharing: defaultdict[Tie, list[str]] = defaultdict(list)
    for key in sorted(ties):
        for tie in ties[key]:
            sharing[tie].append(key)
    common: Counter[tuple[str, str]] = Counter()
    for keys in sharing.values():
        if len(keys) <= BUSIEST:
            common.update(pair for pair in combinations(keys, 2) if kind_of(pair[0]) == kind_of(pair[1]))
    for (one, other), count in common.items():
        every = len({*ties[one], *ties[other]})
        if count >= LEAST_COMMON and count / every >= LEAST_OVERLAP:
            yield one, other, round(NEIGHBOURS * count / every, 4), count, every
