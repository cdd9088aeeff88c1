"""Topology `visible`: nodes and edges as the caller's own evidence shows them, every name and number from visible rows.

A contribution is visible when the caller may read its fact, or one of the facts that a hand assertion cites; one that cites
nothing is for its author's session tree and for privileged callers. What no visible contribution names is not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graph.columns import numbers
from graph.edge_state import Statement, recount
from graph.evidence import edge_evidence, node_evidence
from graph.keys import in_namespace
from graph.queries import DEFAULT_SPACE, EVIDENCE_SHOWN
from graph.rows import NOWHERE
from graph.views import EdgeRow, EdgeView, NodeRow, NodeView

if TYPE_CHECKING:
    from graph.reading import Reading

Row = tuple[Any, ...]


def visible_ids(reading: Reading, ids: Iterable[int]) -> set[int]:
    """Those of these nodes that the caller sees."""
    rows = reading.conn.execute(reading.tables.visible.visible_ids, {"ids": numbers(ids), **reading.acl}, prepare=False)
    return {number for (number,) in rows.fetchall()}


def seen_nodes(reading: Reading, ids: Collection[int]) -> dict[int, NodeRow]:
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


def _seen_node(rows: Sequence[Row]) -> NodeRow | None:
    """From (id, key, rank, named, form, spelling, kind, namespace), lowest rank first."""
    first = next((row for row in rows if row[3]), None)
    if first is None:
        return None
    aliases: dict[str, str] = {}
    for row in rows:
        aliases.setdefault(row[4], row[5])
    spaces = {row[7] for row in rows if row[3]}
    return NodeRow(
        key=first[1],
        kind=first[6],
        name=first[5],
        aliases=tuple(aliases.values()),
        namespaces=tuple(sorted(spaces - {NOWHERE})) or (DEFAULT_SPACE,),
    )


def seen_edges(reading: Reading, ids: Collection[int], *, lowest: float = 0.0) -> dict[int, EdgeRow]:
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


def _seen_edge(rows: Sequence[Row]) -> EdgeRow | None:
    """From (edge, from, to, predicate key, origin, rank, confidence, writer, namespace, predicate, model, keys, time)."""
    state = recount([Statement._make((*row[4:11], tuple(row[11]))) for row in rows])
    if state is None:
        return None
    times = [row[12] for row in rows]
    return EdgeRow(
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


def edge_views(reading: Reading, seen: Mapping[int, EdgeRow], *, shown: int = EVIDENCE_SHOWN) -> list[EdgeView]:
    """Views of edges, in their order."""
    evidence = edge_evidence(reading, list(seen), shown=shown)
    return [edge.view(evidence.of(number)) for number, edge in seen.items()]
