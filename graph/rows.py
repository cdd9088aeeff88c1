"""What one origin contributes to the graph, row by row, and the rank that decides what is shown.

An origin is a fact (its source id, positive) or a hand assertion (minus its id). Its position inside the extraction
is fixed by the item, never by what stands before it, so that an item struck out by hand moves no other.

Mentions and observations are named tuples: a drain makes millions of them, at a quarter of a frozen dataclass's cost.
"""

from collections.abc import Mapping
from typing import NamedTuple

_WEAK_BIT = 61
_MOVED_BIT = 60
_FACT_BIT = 59
_ORDER_BITS = 17

NOWHERE = "/"
"""The namespace of a mention that places its node in none, not even the default one: an end of a hand edge."""

NODE_SLOTS = 66
NODES_PER_FACT = 1_000
EDGES_PER_FACT = 2_000
EDGE_BASE = NODES_PER_FACT * NODE_SLOTS


def rank_of(*, weak: bool, moved: bool, hand: bool, order: int, pos: int) -> int:
    """Lower is shown first: strong before weak, own before moved by a merge, hand before facts, then age, position.

    ``order`` is the assertion id or ``facts.id``, at most 2**42.
    """
    return (weak << _WEAK_BIT) | (moved << _MOVED_BIT) | ((not hand) << _FACT_BIT) | (order << _ORDER_BITS) | pos


class Mention(NamedTuple):
    """One form that an origin gives a node; ``named`` marks the row of the mention itself. Namespace '' is none."""

    origin: int
    pos: int
    order: int
    named_key: str
    form: str
    spelling: str
    named: bool
    weak: bool
    kind: str
    namespace: str
    writer: str
    node_key: str = ""
    attached: int | None = None

    def resolved(self, node_key: str) -> "Mention":
        """The same contribution, standing at this node."""
        return self if node_key == self.node_key else self._replace(node_key=node_key)

    @property
    def rank(self) -> int:
        """Place among all that name the node."""
        moved = self.node_key != self.named_key
        return rank_of(weak=self.weak, moved=moved, hand=self.origin < 0, order=self.order, pos=self.pos)

    @property
    def content(self) -> tuple[object, ...]:
        """All that makes two rows the same contribution, time of attachment apart."""
        return self[:-1]


class Observation(NamedTuple):
    """One statement of an edge by an origin, keys as named beside the keys they resolve to."""

    origin: int
    pos: int
    order: int
    from_key: str
    to_key: str
    predicate_key: str
    predicate: str
    namespace: str
    confidence: float
    writer: str
    model: str | None
    source_key: str = ""
    target_key: str = ""
    attached: int | None = None

    def resolved(self, source_key: str, target_key: str) -> "Observation":
        """The same statement, between these nodes."""
        if source_key == self.source_key and target_key == self.target_key:
            return self
        return self._replace(source_key=source_key, target_key=target_key)

    @property
    def loop(self) -> bool:
        """A self-edge that a merge made: kept, not shown."""
        return self.source_key == self.target_key

    @property
    def edge(self) -> tuple[str, str, str]:
        """The edge it speaks of: source key, target key, predicate key."""
        return (self.source_key, self.target_key, self.predicate_key)

    @property
    def rank(self) -> int:
        """Place among all that state the edge."""
        moved = self.source_key != self.from_key or self.target_key != self.to_key
        return rank_of(weak=False, moved=moved, hand=self.origin < 0, order=self.order, pos=self.pos)

    @property
    def content(self) -> tuple[object, ...]:
        """All that makes two rows the same statement, time of attachment apart."""
        return self[:-1]


class Rows(NamedTuple):
    """Everything that one origin contributes, and the source ids that it cites (a fact: its own)."""

    mentions: tuple[Mention, ...] = ()
    observations: tuple[Observation, ...] = ()
    keys: tuple[int, ...] = ()

    @property
    def named_keys(self) -> set[str]:
        """Every key that the rows name."""
        named = {mention.named_key for mention in self.mentions}
        for row in self.observations:
            named.add(row.from_key)
            named.add(row.to_key)
        return named

    def resolved(self, redirects: Mapping[str, str]) -> "Rows":
        """The same rows, each at the node that its named key resolves to."""
        return Rows(
            tuple(row.resolved(redirects.get(row.named_key, row.named_key)) for row in self.mentions),
            tuple(
                row.resolved(redirects.get(row.from_key, row.from_key), redirects.get(row.to_key, row.to_key))
                for row in self.observations
            ),
            self.keys,
        )


class OriginChange(NamedTuple):
    """What an origin contributed before a write, and what it contributes after it. Both are complete."""

    origin: int
    before: Rows
    after: Rows

    @property
    def withdrawn(self) -> int:
        """How many mentions and statements the origin no longer makes."""
        if not self.before.mentions and not self.before.observations:
            return 0
        named = {mention.node_key for mention in self.before.mentions} - {
            mention.node_key for mention in self.after.mentions
        }
        stated = {row.edge for row in self.before.observations} - {row.edge for row in self.after.observations}
        return len(named) + len(stated)


def order_in(rank: int) -> int:
    """The assertion id or ``facts.id`` inside a rank."""
    return (rank & ((1 << _FACT_BIT) - 1)) >> _ORDER_BITS


def weak_in(rank: int) -> bool:
    """Whether a rank is that of a weakest mention."""
    return bool(rank >> _WEAK_BIT & 1)
