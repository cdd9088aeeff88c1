"""What readers get: nodes and edges as they are shown, with the evidence that the caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from graph.queries import DEFAULT_SPACE

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """Scope keys that the caller may see. `stale`: cited by hand in a version that the fact no longer has."""

    keys: tuple[str, ...] = ()
    truncated: bool = False
    stale: tuple[str, ...] = ()


NO_EVIDENCE = Evidence()


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeView:
    """One node. `namespaces` names `default` when a contribution names none; `degree` is None where it isn't counted."""

    node_key: str
    kind: str
    name: str
    namespace: str | None
    namespaces: tuple[str, ...]
    aliases: tuple[str, ...]
    evidence: tuple[str, ...]
    evidence_truncated: bool
    stale_evidence: tuple[str, ...]
    degree: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgeView:
    """One edge."""

    from_key: str
    to_key: str
    predicate: str
    predicate_key: str
    namespace: str | None
    namespaces: tuple[str, ...]
    confidence: float
    observations: int
    evidence: tuple[str, ...]
    evidence_truncated: bool
    stale_evidence: tuple[str, ...]
    asserted_by: tuple[str, ...]
    model: str | None
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class NodePage:
    """One page of nodes. `truncated`: the walk from the seeds was cut short; `cut`: arguments cut to their cap."""

    nodes: tuple[NodeView, ...]
    cursor: str | None
    truncated: bool = False
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class EdgePage:
    """One page of edges."""

    edges: tuple[EdgeView, ...]
    cursor: str | None
    cut: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbourhood:
    """The node asked for (None: unknown), what lies around it, nearest first, and whether a cap cut it short."""

    anchor: NodeView | None
    nodes: tuple[NodeView, ...]
    edges: tuple[EdgeView, ...]
    truncated: bool
    cut: tuple[str, ...] = ()


@lru_cache(maxsize=4_096)
def namespaces_shown(stored: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The smallest namespace named (None when none is), and all of them under the names that callers use.

    Sorted by code points, which order as UTF-8 bytes do. Remembered, since many records lie in the same ones.
    """
    named = sorted(space for space in stored if space != DEFAULT_SPACE)
    return named[0] if named else None, tuple(sorted(space or DEFAULT_NAMESPACE for space in stored))


class NodeRow(NamedTuple):
    """A node's columns, in the order of the queries that show nodes; the namespace '' is none."""

    key: str
    kind: str
    name: str
    aliases: Sequence[str]
    namespaces: Sequence[str]

    def view(self, evidence: Evidence, degree: int | None) -> NodeView:
        """The node as callers see it."""
        namespace, namespaces = namespaces_shown(tuple(self.namespaces))
        return NodeView(
            node_key=self.key,
            kind=self.kind,
            name=self.name,
            namespace=namespace,
            namespaces=namespaces,
            aliases=tuple(self.aliases),
            evidence=evidence.keys,
            evidence_truncated=evidence.truncated,
            stale_evidence=evidence.stale,
            degree=degree,
        )


class EdgeRow(NamedTuple):
    """An edge's columns, in the order of the queries that show edges; the namespace '' is none."""

    from_key: str
    to_key: str
    predicate: str
    predicate_key: str
    confidence: float
    observations: int
    writers: Sequence[str]
    namespaces: Sequence[str]
    model: str | None
    first_seen: datetime
    last_seen: datetime

    @property
    def place(self) -> tuple[str, str, str]:
        """The order of edges."""
        return self.from_key, self.predicate_key, self.to_key

    def view(self, evidence: Evidence) -> EdgeView:
        """The edge as callers see it."""
        namespace, namespaces = namespaces_shown(tuple(self.namespaces))
        return EdgeView(
            from_key=self.from_key,
            to_key=self.to_key,
            predicate=self.predicate,
            predicate_key=self.predicate_key,
            namespace=namespace,
            namespaces=namespaces,
            confidence=self.confidence,
            observations=self.observations,
            evidence=evidence.keys,
            evidence_truncated=evidence.truncated,
            stale_evidence=evidence.stale,
            asserted_by=tuple(sorted(self.writers)),
            model=self.model,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
        )
