"""The inputs of the fold: the ledger, the assertions and the merges, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.oracle import keys
from tests.oracle.keys import Identity


class Absent:
    """The namespace that was not given (None says: given, and none)."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()
Namespace = str | None | Absent


@dataclass(frozen=True, kw_only=True, slots=True)
class Ref:
    """An edge's endpoint named by kind and name."""

    kind: str
    name: str
    identity: Identity = "normal"

    @property
    def key(self) -> str:
        return keys.node_key(self.kind, self.name, self.identity)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mention:
    """A node that a fact lists."""

    kind: str
    name: str
    aliases: tuple[str, ...] = ()
    namespace: Namespace = ABSENT
    identity: Identity = "normal"

    @property
    def key(self) -> str:
        return keys.node_key(self.kind, self.name, self.identity)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """An edge that a fact states; endpoints by key (str) or by reference."""

    source: str | Ref
    target: str | Ref
    predicate: str
    confidence: float = 1.0
    namespace: Namespace = ABSENT


def endpoint_key(endpoint: str | Ref) -> str:
    """The key that an endpoint names."""
    return endpoint if isinstance(endpoint, str) else endpoint.key


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerRow:
    """The one extraction of a fact that the graph holds. An item that was struck by hand leaves its place: None."""

    fact_id: int
    scope_key: str
    etag: int
    writer: str
    namespace: str | None = None
    nodes: tuple[Mention | None, ...] = ()
    edges: tuple[Statement | None, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class HandNode:
    """One row that a hand call on a node left."""

    id: int
    kind: str
    name: str
    agent: str
    aliases: tuple[str, ...] = ()
    identity: Identity = "normal"
    cited: Mapping[str, int | None] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return keys.node_key(self.kind, self.name, self.identity)


@dataclass(frozen=True, kw_only=True, slots=True)
class HandEdge:
    """One row that a hand call on an edge left (endpoints as named)."""

    id: int
    source: str
    target: str
    predicate: str
    confidence: float
    agent: str
    cited: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Merge:
    """A recorded decision that two keys are one."""

    id: int
    duplicate: str
    survivor: str


NodeRecord = tuple[Literal["node"], str]
EdgeRecord = tuple[Literal["edge"], str, str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Assertions:
    """Everything made by hand that is not withdrawn.

    `namespaces` holds one value per (record as named, agent): the last one that the agent gave.
    """

    nodes: tuple[HandNode, ...] = ()
    edges: tuple[HandEdge, ...] = ()
    namespaces: Mapping[tuple[NodeRecord | EdgeRecord, str], str | None] = field(default_factory=dict)
