"""Which nodes may be one: proposals for a person, an agent, or the policy `exact-alias`. Nothing here merges.

An alias never resolves a write by itself, so that arrival order decides nothing; what it suggests is said here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from graph.columns import numbers
from graph.likeness import (
    ALIAS_OF_OTHER_KIND,
    EXACT,
    NEIGHBOURS,
    OTHER_KIND,
    SPELLING,
    Tie,
    alike_in_neighbours,
    alike_in_spelling,
    kind_of,
    name_of,
)
from graph.queries import MOST_ROWS, Caps, checked_confidence, kind_wanted, space_wanted
from graph.visible import seen_edges
from graph.visible_reads import find_nodes

if TYPE_CHECKING:
    from graph.reading import Reading

DEFAULT_LIMIT = 50
GROUPS = 5_000
NODES_OF_A_FORM = 20
NODES_COMPARED = 10_000
EDGES_COMPARED = 50_000
SECONDS = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SuggestionQuery:
    """Within one namespace and below (both nodes lie there), touching one kind, of at least this score."""

    namespace: str | None = None
    kind: str | None = None
    min_score: float | None = None
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """Two nodes that may be one, as arguments of a merge, and why. 1.0: a form of one is a form of the other."""

    from_key: str
    into_key: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SuggestionPage:
    """The best suggestions first. `truncated`: there are more, or not everything could be compared."""

    suggestions: tuple[Suggestion, ...]
    truncated: bool
    cut: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pair:
    """What speaks for one pair, the direction of its best reason first."""

    score: float = 0.0
    from_key: str = ""
    reasons: list[str] = field(default_factory=list)

    def because(self, score: float, from_key: str, reason: str) -> None:
        if score > self.score:
            self.score, self.from_key = score, from_key
        if reason not in self.reasons:
            self.reasons.append(reason)


@dataclass(frozen=True, slots=True)
class _Search:
    """One search, its filters checked."""

    reading: Reading
    kind: str | None
    space: str | None
    pairs: defaultdict[tuple[str, str], _Pair]

    def note(self, one: str, other: str, score: float, reason: str) -> None:
        """Something that speaks for merging ``one`` into ``other``."""
        if self.kind in (None, kind_of(one), kind_of(other)):
            self.pairs[min(one, other), max(one, other)].because(score, one, reason)


def merge_suggestions(reading: Reading, query: SuggestionQuery) -> SuggestionPage:
    """Score descending, then the two keys."""
    caps = Caps()
    limit = caps.count(query.limit, argument="limit", most=MOST_ROWS)
    lowest = checked_confidence(query.min_score, argument="minScore")
    search = _Search(reading, kind_wanted(query.kind), space_wanted(query.namespace), defaultdict(_Pair))
    reading.bound_time(SECONDS)
    short = _by_forms(search)
    if lowest <= SPELLING:
        short |= _by_comparison(search, neighbours=lowest <= NEIGHBOURS)
    found = sorted(
        (
            Suggestion(
                from_key=pair.from_key,
                into_key=keys[1] if pair.from_key == keys[0] else keys[0],
                score=pair.score,
                reasons=tuple(pair.reasons),
            )
            for keys, pair in search.pairs.items()
            if pair.score >= lowest
        ),
        key=lambda each: (-each.score, each.from_key, each.into_key),
    )
    return SuggestionPage(suggestions=tuple(found[:limit]), truncated=short or len(found) > limit, cut=caps.cut)


def _by_forms(search: _Search) -> bool:
    """Forms that two nodes share; whether there were more than could be looked at."""
    suggestions, reading = search.reading.tables.suggestions, search.reading
    parameters = {"kind": search.kind, "space": search.space, "most": NODES_OF_A_FORM + 1, "groups": GROUPS + 1}
    if reading.sees_everything:
        rows = reading.conn.execute(suggestions.shared_forms, parameters, prepare=False).fetchall()
    else:
        asked = {**parameters, **reading.acl}
        rows = reading.conn.execute(suggestions.visible_shared_forms, asked, prepare=False).fetchall()
    short = len(rows) > GROUPS
    for form, _, keys in rows[:GROUPS]:
        short |= len(keys) > NODES_OF_A_FORM
        for one, other in combinations(keys[:NODES_OF_A_FORM], 2):
            _note_form(search, form, one, other)
    return short


def _note_form(search: _Search, form: str, one: str, other: str) -> None:
    """The node that is called so gives way to the one that is also called so; of two equals, the later key does."""
    names = (name_of(one) == form, name_of(other) == form)
    goes, stays = (one, other) if names == (True, False) else (other, one)
    if kind_of(one) == kind_of(other):
        said = f"{goes} is an alias of {stays}" if any(names) else f"both have the alias {form}"
        search.note(goes, stays, EXACT, said)
    elif all(names):
        search.note(goes, stays, OTHER_KIND, "the same name under another kind")
    else:
        search.note(goes, stays, ALIAS_OF_OTHER_KIND, f"both are called {form}, under two kinds")


def _by_comparison(search: _Search, *, neighbours: bool) -> bool:
    """Spelling and neighbours of the first nodes; whether there were more."""
    nodes = _nodes_compared(search)
    keys = dict(nodes[:NODES_COMPARED])
    for one, other, score in alike_in_spelling(keys.values()):
        search.note(other, one, score, "spelled alike")
    short = len(nodes) > NODES_COMPARED
    if neighbours:
        ties, cut = _ties(search.reading, keys)
        for one, other, score, common, every in alike_in_neighbours(ties):
            search.note(other, one, score, f"{common} of {every} neighbours in common")
        short |= cut
    return short


def _nodes_compared(search: _Search) -> list[tuple[int, str]]:
    reading = search.reading
    asked = {"kind": search.kind, "space": search.space, "limit": NODES_COMPARED + 1}
    if reading.sees_everything:
        return reading.conn.execute(reading.tables.suggestions.keys_in_order, asked, prepare=False).fetchall()
    everywhere = {"ids": None, "name": None, "like": None, "after_place": 0, "after_key": None}
    return [(number, key) for number, key, _ in find_nodes(reading, {**everywhere, **asked})]


def _ties(reading: Reading, keys: dict[int, str]) -> tuple[dict[str, set[Tie]], bool]:
    """What each compared node is tied to; whether there were more edges than could be looked at."""
    asked = {"ids": numbers(keys), "limit": EDGES_COMPARED + 1}
    rows = reading.conn.execute(reading.tables.suggestions.edges_among, asked, prepare=False).fetchall()
    ties: defaultdict[str, set[Tie]] = defaultdict(set)
    for source, target, predicate in _visible(reading, rows[:EDGES_COMPARED]):
        if source in keys:
            ties[keys[source]].add((str(target), predicate, True))
        if target in keys:
            ties[keys[target]].add((str(source), predicate, False))
    return ties, len(rows) > EDGES_COMPARED


def _visible(reading: Reading, rows: Sequence[tuple[int, int, int, str]]) -> Iterator[tuple[int, int, str]]:
    seen = None if reading.sees_everything else seen_edges(reading, [row[0] for row in rows])
    for number, source, target, predicate in rows:
        if seen is None or number in seen:
            yield source, target, predicate
