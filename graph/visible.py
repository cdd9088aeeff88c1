"""Topology `visible`: nodes and edges as the caller's own evidence shows them, every name and number from visible rows.

A contribution is visible when the caller may read its fact, or one of the facts that a hand assertion cites; one that cites
nothing is for its author's session tree and for privileged callers. What no visible contribution names is not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from graph.columns import numbers
from graph.edge_state import Statement, recount
from graph.evidence import edge_evidence, node_evidence
from graph.keys import in_namespace
from graph.queries import DEFAULT_SPACE, EVIDENCE_SHOWN
from graph.rows import NOWHERE
from graph.views import EdgeView, Evidence, NodeView, edge_view, node_view

if TYPE_CHECKING:
    from graph.reading import Reading

Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenNode:
    """A node as its visible mentions show it."""

    key: str
    kind: str
    name: str
    aliases: tuple[str, ...]
    namespaces: tuple[str, ...]

    def view(self, evidence: Evidence, degree: int | None) -> NodeView:
        """As callers get it."""
        return node_view(self.key, self.kind, self.name, self.aliases, self.namespaces, evidence, degree)


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenEdge:
    """An edge as its visible statements add up."""

    from_key: str
    to_key: str
    predicate: str
    predicate_key: str
    confidence: float
    observations: int
    writers: tuple[str, ...]
    namespaces: tuple[str, ...]
    model: str | None
    first_seen: datetime
    last_seen: datetime

    def view(self, evidence: Evidence) -> EdgeView:
        """As callers get it."""
        return edge_view(
            self.from_key, self.to_key, self.predicate, self.predicate_key, self.confidence, self.observations, self.writers,
            self.namespaces, self.model, self.first_seen, self.last_seen, evidence,
        )  # fmt: skip


def visible_ids(reading: Reading, ids: Iterable[int]) -> set[int]:
    """Those of these nodes that the caller sees."""
    rows = reading.conn.execute(reading.tables.visible.visible_ids, {"ids": numbers(ids), **reading.acl}, prepare=False)
    return {number for (number,) in rows.fetchall()}


def seen_nodes(reading: Reading, ids: Collection[int]) -> dict[int, SeenNode]:
    """What the caller sees of these nodes; those out of sight are left out."""
    if not ids:
        return {}
    rows = reading.conn.execute(
        reading.tables.visible.visible_forms, {"ids": numbers(ids), **reading.acl}, prepare=False
    ).fetchall()
    said: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        said[row[0]].append(row)
    found = {number: _seen_node(sorted(of_node, key=lambda row: row[2])) for number, of_node in said.items()}
    return {number: node for number, node in found.items() if node is not None}


def _seen_node(rows: Sequence[Row]) -> SeenNode | None:
    """From (id, key, rank, named, form, spelling, kind, namespace), lowest rank first."""
    first = next((row for row in rows if row[3]), None)
    if first is None:
        return None
    aliases: dict[str, str] = {}
    for row in rows:
        aliases.setdefault(row[4], row[5])
    spaces = {row[7] for row in rows if row[3]}
    return SeenNode(
        key=first[1],
        kind=first[6],
        name=first[5],
        aliases=tuple(aliases.values()),
        namespaces=tuple(sorted(spaces - {NOWHERE})) or (DEFAULT_SPACE,),
    )


def seen_edges(reading: Reading, ids: Collection[int], *, lowest: float = 0.0) -> dict[int, SeenEdge]:
    """What the caller sees of these edges, those of at least this (visible) confidence."""
    if not ids:
        return {}
    rows = reading.conn.execute(
        reading.tables.visible.visible_statements, {"ids": numbers(ids), **reading.acl}, prepare=False
    ).fetchall()
    said: defaultdict[int, list[Row]] = defaultdict(list)
    for row in rows:
        said[row[0]].append(row)
    found = {number: _seen_edge(of_edge) for number, of_edge in said.items()}
    return {number: edge for number, edge in found.items() if edge is not None and edge.confidence >= lowest}


def _seen_edge(rows: Sequence[Row]) -> SeenEdge | None:
    """From (edge, from, to, predicate key, origin, rank, confidence, writer, namespace, predicate, model, keys, time)."""
    state = recount([Statement(*row[4:11], tuple(row[11])) for row in rows])
    if state is None:
        return None
    times = [row[12] for row in rows]
    return SeenEdge(
        from_key=rows[0][1],
        to_key=rows[0][2],
        predicate=state.predicate,
        predicate_key=rows[0][3],
        confidence=state.strength.confidence,
        observations=state.strength.observations,
        writers=tuple(state.writers),
        namespaces=tuple(state.namespaces),
        model=state.model,
        first_seen=min(times),
        last_seen=max(times),
    )


def lies_in(namespaces: Iterable[str], wanted: str | None) -> bool:
    """Whether something in these namespaces ('' is none) is in the wanted one ('': the default partition) or below it."""
    if wanted is None:
        return True
    return any(space == wanted or (wanted != DEFAULT_SPACE and in_namespace(space, wanted)) for space in namespaces)


def node_views(
    reading: Reading, ids: Sequence[int], *, shown: int = EVIDENCE_SHOWN, degrees: Mapping[int, int] | None = None
) -> dict[int, NodeView]:
    """Views of the nodes that the caller sees."""
    seen = seen_nodes(reading, ids)
    evidence = node_evidence(reading, list(seen), shown=shown)
    return {
        number: node.view(evidence.of(number), None if degrees is None else degrees.get(number, 0))
        for number, node in seen.items()
    }


def edge_views(reading: Reading, seen: Mapping[int, SeenEdge], *, shown: int = EVIDENCE_SHOWN) -> list[EdgeView]:
    """Views of edges, in their order."""
    evidence = edge_evidence(reading, list(seen), shown=shown)
    return [edge.view(evidence.of(number)) for number, edge in seen.items()]
