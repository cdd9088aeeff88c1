"""What lies around a node, in one round trip: the walk, what it lists, and the evidence that the caller may see."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from graph.columns import numbers
from graph.evidence import edge_evidence, first_evidence, node_evidence
from graph.queries import (
    EVIDENCE_SHOWN,
    MOST_DEPTH,
    MOST_NODES,
    Caps,
    NeighbourhoodQuery,
    checked_confidence,
    checked_direction,
    checked_key,
    space_wanted,
)
from graph.views import EdgeRow, EdgeView, Evidence, Neighbourhood, NodeRow, NodeView
from graph.visible_reads import visible_neighbourhood
from graph.walk import Walk

if TYPE_CHECKING:
    from graph.reading import Reading

MOST_EDGES_LISTED = 2_000

Row = tuple[Any, ...]
NODE, EDGE, SOURCES, WALKED = range(4)


def neighbourhood(reading: Reading, query: NeighbourhoodQuery) -> Neighbourhood:
    """The node, its surroundings nearest first, and the edges that have both ends listed or the node itself.

    With direction `out` (`in`) the edges listed are those that the walk may follow: from (to) a node nearer than `depth`.
    """
    caps = Caps()
    walk, shown = checked_walk(query, caps)
    key = checked_key(query.node_key, argument="nodeKey")
    if not reading.sees_everything:
        return replace(visible_neighbourhood(reading, key, walk, shown), cut=caps.cut)
    listing = _list(reading, key, walk, shown)
    if listing is None:
        return Neighbourhood(anchor=None, nodes=(), edges=(), truncated=False, cut=caps.cut)
    anchor, *nodes = _node_views(reading, listing, shown)
    return Neighbourhood(
        anchor=anchor,
        nodes=tuple(nodes),
        edges=tuple(_edge_views(reading, listing, shown)),
        truncated=listing.truncated,
        cut=caps.cut,
    )


def checked_walk(query: NeighbourhoodQuery, caps: Caps) -> tuple[Walk, int]:
    """The walk that a query asks for, and how many evidence keys an item shows."""
    walk = Walk(
        depth=caps.count(query.depth, argument="depth", most=MOST_DEPTH),
        direction=checked_direction(query.direction),
        lowest=checked_confidence(query.min_confidence),
        space=space_wanted(query.namespace),
        most_nodes=caps.count(query.max_nodes, argument="maxNodes", most=MOST_NODES),
    )
    return walk, caps.count(query.evidence, argument="evidence", most=EVIDENCE_SHOWN)


class _Node(NamedTuple):
    """A listed node, and what is known of its evidence."""

    id: int
    distance: int
    merged: bool
    origins: Sequence[int]
    row: NodeRow


class _Edge(NamedTuple):
    """A listed edge, whether it touches the node asked for, and what is known of its evidence."""

    id: int
    apart: bool
    unordered: bool
    origins: Sequence[int]
    row: EdgeRow


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listing:
    """What a neighbourhood holds: nodes in order, the anchor first; edges in order; scope keys of the visible sources."""

    nodes: Sequence[_Node]
    edges: Sequence[_Edge]
    visible: Mapping[int, str]
    truncated: bool


def _list(reading: Reading, key: str, walk: Walk, shown: int) -> _Listing | None:
    parameters = {"key": key, "listed": MOST_EDGES_LISTED + 1, "origins": shown + 1, **walk.parameters, **reading.acl}
    parts: tuple[list[Row], ...] = ([], [], [], [])
    for row in reading.conn.execute(reading.tables.reads.around, parameters).fetchall():
        parts[row[0]].append(row)
    if not parts[WALKED]:
        return None
    (walked,), (sources,) = parts[WALKED], parts[SOURCES]
    nodes = sorted((_node(row) for row in parts[NODE]), key=lambda node: (node.distance, node.row.key))
    keys, anchor, edges = {node.id: node.row.key for node in nodes}, nodes[0].id, parts[EDGE]
    many = len(edges) > MOST_EDGES_LISTED
    if many:
        edges = _nearest_edges(reading, anchor, edges, walk)
    listed = sorted((_edge(row, keys, anchor) for row in edges), key=lambda edge: (edge.apart, edge.row.place))
    return _Listing(
        nodes=nodes,
        edges=listed,
        visible=dict(zip(sources[10] or (), sources[5] or (), strict=True)),
        truncated=walked[9] or many,
    )


def _node(row: Row) -> _Node:
    _, number, key, kind, name, aliases, namespaces, _, distance, merged, origins, *_ = row
    return _Node(number, distance, merged, origins, NodeRow(key, kind, name, aliases, namespaces))


def _edge(row: Row, keys: Mapping[int, str], anchor: int) -> _Edge:
    (_, number, predicate, key, model, _, _, counts, observations, unordered, origins, source, target, confidence, first,
     last) = row  # fmt: skip
    writers, spaces = names_counted(counts)
    shown = EdgeRow(
        keys[source], keys[target], predicate, key, confidence, observations, writers, spaces, model, first, last
    )
    return _Edge(number, anchor not in {source, target}, unordered, origins, shown)


@lru_cache(maxsize=4_096)
def names_counted(counts: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names in an edge's counts by writer and by namespace; many edges have the same."""
    writers, namespaces = json.loads(counts)
    return tuple(writers), tuple(namespaces)


def _nearest_edges(reading: Reading, anchor: int, edges: Sequence[Row], walk: Walk) -> list[Row]:
    """When there are more edges than are listed, those at the node itself are among the listed ones."""
    around = numbers({end for row in edges for end in row[11:13]} | {anchor})
    nearest = reading.conn.execute(
        reading.tables.reads.edges_at,
        {
            "anchor": anchor,
            "around": around,
            "lowest": walk.lowest,
            "direction": walk.direction,
            "listed": MOST_EDGES_LISTED,
            "origins": 1,
        },
    ).fetchall()
    first = {row[1]: row for row in nearest}
    return [*first.values(), *(row for row in edges if row[1] not in first)][:MOST_EDGES_LISTED]


def _node_views(reading: Reading, listing: _Listing, shown: int) -> list[NodeView]:
    found = {
        node.id: None if node.merged else first_evidence(node.origins, listing.visible, shown) for node in listing.nodes
    }
    rest = node_evidence(reading, [number for number, known in found.items() if known is None], shown=shown)
    return [node.row.view(found[node.id] or rest.of(node.id), None) for node in listing.nodes]


def _edge_views(reading: Reading, listing: _Listing, shown: int) -> list[EdgeView]:
    merged = {node.row.key for node in listing.nodes if node.merged}
    found: dict[int, Evidence | None] = {}
    for edge in listing.edges:
        told = not (edge.unordered or edge.row.from_key in merged or edge.row.to_key in merged)
        found[edge.id] = first_evidence(edge.origins, listing.visible, shown) if told else None
    rest = edge_evidence(reading, [number for number, known in found.items() if known is None], shown=shown)
    return [edge.row.view(found[edge.id] or rest.of(edge.id)) for edge in listing.edges]
