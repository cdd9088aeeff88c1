"""The values that cross the border of the graph: what callers say, and what they get back.

Those that a drain makes by the million are named tuples; pass their fields by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Literal, NamedTuple

from facts.limits import checked_agent_id
from graph.keys import Identity


class Absent(Enum):
    """The type of ABSENT: a namespace that was not given, as opposed to one given as none."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
NamespaceArgument = str | None | Absent


class NodeRef(NamedTuple):
    """An endpoint by kind and name."""

    kind: str
    name: str
    identity: Identity = "normal"


class NodeMention(NamedTuple):
    """A node as one fact (or one hand call) names it."""

    kind: str
    name: str
    aliases: Sequence[str] = ()
    namespace: NamespaceArgument = ABSENT
    identity: Identity = "normal"


class EdgeMention(NamedTuple):
    """A relation as one fact states it; an endpoint is a node key or a kind and name."""

    source: str | NodeRef
    target: str | NodeRef
    predicate: str
    confidence: float = 1.0
    namespace: NamespaceArgument = ABSENT


class Incorporation(NamedTuple):
    """All that one version of one fact says. A position that is None was struck out by hand."""

    scope_key: str
    etag: int
    namespace: str | None = None
    nodes: Sequence[NodeMention | None] = ()
    edges: Sequence[EdgeMention | None] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Who extracted: the extractor's name (or an agent id), and with what."""

    writer: str
    model: str | None = None
    extractor: str | None = None
    version: str | None = None


OutcomeKind = Literal["acked", "stale", "gone", "rejected"]


class Outcome(NamedTuple):
    """What became of one incorporation: counts of nodes and edges named, of rows withdrawn, of edges skipped."""

    scope_key: str
    outcome: OutcomeKind
    nodes: int = 0
    edges: int = 0
    withdrawn: int = 0
    skipped: int = 0
    reason: str | None = None
    errors: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeUpsert:
    """A hand assertion about a node."""

    kind: str
    name: str
    aliases: Sequence[str] = ()
    namespace: NamespaceArgument = ABSENT
    evidence: Sequence[str] = ()
    identity: Identity = "normal"


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeUpsert:
    """A hand assertion about an edge between two nodes that exist."""

    from_key: str
    to_key: str
    predicate: str
    confidence: float = 1.0
    namespace: NamespaceArgument = ABSENT
    evidence: Sequence[str] = ()
    model: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """The agent behind a hand write, and the session it acts in. :raises InvalidArgument: nobody in particular."""

    agent_id: str
    session_id: str | None = None

    def __post_init__(self) -> None:
        checked_agent_id(self.agent_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class UpsertedNode:
    """The node as stored after a hand write."""

    node_key: str
    kind: str
    name: str
    namespace: str | None
    aliases: Sequence[str]
    created: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class UpsertedEdge:
    """The edge as stored after a hand write."""

    from_key: str
    to_key: str
    predicate: str
    predicate_key: str
    namespace: str | None
    confidence: float
    observations: int
    reinforced: bool
    created: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Removal:
    """How much a removal took away."""

    node_evidence_removed: int = 0
    edge_evidence_removed: int = 0
    nodes_deleted: int = 0
    edges_deleted: int = 0
    contributions: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeRecord:
    """A recorded decision that two keys are one."""

    merge_id: int
    from_key: str
    into_key: str
    reason: str
    agent_id: str
    merged_at: datetime
    undone_at: datetime | None = field(default=None)
