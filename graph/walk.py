"""What lies around a node: a breadth-first walk in the database, bounded in depth, nodes, edges and time.

Never a variable-length Cypher pattern: those enumerate paths, and drop a whole-graph cache with every write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from facts.parameters import texts
from graph.columns import numbers
from graph.evidence import edge_evidence, node_evidence
from graph.queries import (
    EVIDENCE_SHOWN,
    MOST_DEPTH,
    MOST_NODES,
    Caps,
    Direction,
    NeighbourhoodQuery,
    checked_confidence,
    checked_direction,
    checked_key,
    space_wanted,
)
from graph.views import Neighbourhood, NodeView, ShownEdge, ShownNode

if TYPE_CHECKING:
    from graph.reading import Reading

MOST_EDGES_LISTED = 2_000
MOST_EDGES_WALKED = 20_000
WALK_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """One walk, checked: how far, which way, over which edges, and what of it is listed."""

    depth: int
    direction: Direction = "any"
    lowest: float = 0.0
    space: str | None = None
    most_nodes: int
    most_edges: int = MOST_EDGES_WALKED
    seconds: float = WALK_SECONDS


@dataclass(frozen=True, kw_only=True, slots=True)
class Walked:
    """The nodes reached, nearest first, with their distances, and whether a cap cut the walk short."""

    distances: dict[int, int]
    truncated: bool


def node_ids(reading: Reading, keys: Iterable[str]) -> dict[str, int]:
    """Ids of the nodes that these keys name, through recorded merges; unknown keys are left out."""
    rows = reading.conn.execute(reading.tables.reads.node_ids, {"keys": texts(keys)}).fetchall()
    return dict(rows)


def walk_from(reading: Reading, anchors: Sequence[int], walk: Walk) -> Walked:
    """Walk, in one round trip."""
    row = reading.conn.execute(
        reading.tables.reads.walk,
        {
            "anchors": numbers(anchors),
            "depth": walk.depth,
            "direction": walk.direction,
            "lowest": walk.lowest,
            "space": walk.space,
            "most_nodes": walk.most_nodes,
            "most_edges": walk.most_edges,
            "seconds": walk.seconds,
        },
    ).fetchone()
    assert row is not None, "a function with OUT parameters returns one row"  # noqa: S101
    return Walked(distances=dict(zip(row[0], row[1], strict=True)), truncated=row[2])


def neighbourhood(reading: Reading, query: NeighbourhoodQuery) -> Neighbourhood:
    """The node, its surroundings nearest first, and the edges that have both ends listed or the node itself.

    With direction `out` (`in`) the edges listed are those that the walk may follow: from (to) a node nearer than `depth`.
    """
    caps = Caps()
    walk = Walk(
        depth=caps.count(query.depth, argument="depth", most=MOST_DEPTH),
        direction=checked_direction(query.direction),
        lowest=checked_confidence(query.min_confidence),
        space=space_wanted(query.namespace),
        most_nodes=caps.count(query.max_nodes, argument="maxNodes", most=MOST_NODES),
    )
    shown = caps.count(query.evidence, argument="evidence", most=EVIDENCE_SHOWN)
    key = checked_key(query.node_key, argument="nodeKey")
    anchor = node_ids(reading, [key]).get(key)
    if anchor is None:
        return Neighbourhood(anchor=None, nodes=(), edges=(), truncated=False, cut=caps.cut)
    walked = walk_from(reading, [anchor], walk)
    edges, cut_short = _edges_among(reading, anchor, walked, walk)
    nodes = _nodes(reading, (anchor, *walked.distances), shown)
    evidence = edge_evidence(reading, [edge.id for edge in edges], shown=shown)
    return Neighbourhood(
        anchor=nodes.get(anchor),
        nodes=tuple(nodes[number] for number in walked.distances if number in nodes),
        edges=tuple(edge.view(evidence.of(edge.id)) for edge in edges),
        truncated=walked.truncated or cut_short,
        cut=caps.cut,
    )


def _nodes(reading: Reading, ids: Sequence[int], shown: int) -> dict[int, NodeView]:
    rows = reading.conn.execute(reading.tables.reads.nodes_by_id, {"ids": numbers(ids)})
    nodes = [ShownNode.from_row(row) for row in rows]
    evidence = node_evidence(reading, ids, shown=shown)
    return {node.id: node.view(evidence.of(node.id), None) for node in nodes}


def _edges_among(reading: Reading, anchor: int, walked: Walked, walk: Walk) -> tuple[list[ShownEdge], bool]:
    """The edges to list, those at the anchor first, each group in key order; and whether there are more."""
    every = [anchor, *walked.distances]
    near = [anchor, *(number for number, distance in walked.distances.items() if distance < walk.depth)]
    sources = near if walk.direction == "out" else every
    targets = near if walk.direction == "in" else every
    found = _edges_between(reading, sources, targets, walk.lowest)
    at_anchor = [edge for edge in found if anchor in (edge.source_id, edge.target_id)]
    if len(found) > MOST_EDGES_LISTED:
        at_anchor = [
            *_edges_between(reading, [anchor] if anchor in sources else [], targets, walk.lowest),
            *_edges_between(reading, sources, [anchor] if anchor in targets else [], walk.lowest),
        ]
    others = [edge for edge in found if anchor not in (edge.source_id, edge.target_id)]
    ordered = [*sorted(at_anchor, key=_place), *sorted(others, key=_place)]
    return ordered[:MOST_EDGES_LISTED], len(found) > MOST_EDGES_LISTED


def _place(edge: ShownEdge) -> tuple[str, str, str]:
    return edge.place


def _edges_between(reading: Reading, sources: Sequence[int], targets: Sequence[int], lowest: float) -> list[ShownEdge]:
    rows = reading.conn.execute(
        reading.tables.reads.edges_among,
        {
            "sources": numbers(sources),
            "targets": numbers(targets),
            "lowest": lowest,
            "limit": MOST_EDGES_LISTED + 1,
        },
    )
    return [ShownEdge.from_row(row) for row in rows]
