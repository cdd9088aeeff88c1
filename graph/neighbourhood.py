"""What lies around a node, in one round trip: the walk, what it lists, and the evidence that the caller may see."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graph.columns import numbers
from graph.evidence import EvidenceTable, edge_evidence, first_evidence, node_evidence
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
from graph.views import EdgeView, Evidence, Neighbourhood, NodeView, edge_view, node_view
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Listing:
    """The rows of a neighbourhood: nodes in order, the anchor first; edges; scope keys of the visible sources."""

    nodes: Sequence[Row]
    edges: Sequence[Row]
    visible: Mapping[int, str]
    truncated: bool

    @property
    def merged(self) -> set[str]:
        """Keys of nodes into which a merge moved something."""
        return {row[2] for row in self.nodes if row[9]}


def _list(reading: Reading, key: str, walk: Walk, shown: int) -> _Listing | None:
    parts: tuple[list[Row], ...] = ([], [], [], [])
    parameters = {
        "key": key, "listed": MOST_EDGES_LISTED + 1, "origins": shown + 1, **walk.parameters, **reading.acl
    }  # fmt: skip
    for row in reading.conn.execute(reading.tables.reads.around, parameters).fetchall():
        parts[row[0]].append(row)
    if not parts[WALKED]:
        return None
    nodes = sorted(parts[NODE], key=lambda row: (row[8], row[2]))
    edges, many = parts[EDGE], len(parts[EDGE]) > MOST_EDGES_LISTED
    if many:
        edges = _nearest_edges(reading, nodes[0][1], edges, walk)
    keys = {row[1]: row[2] for row in nodes}
    (sources,) = parts[SOURCES]
    return _Listing(
        nodes=nodes,
        edges=_ordered(edges, keys, nodes[0][1]),
        visible=dict(zip(sources[10] or (), sources[5] or (), strict=True)),
        truncated=parts[WALKED][0][9] or many,
    )


def _nearest_edges(reading: Reading, anchor: int, edges: Sequence[Row], walk: Walk) -> list[Row]:
    """When there are more edges than are listed, those at the node itself are among the listed ones."""
    around = numbers({end for row in edges for end in row[11:13]} | {anchor})
    nearest = reading.conn.execute(
        reading.tables.reads.edges_at,
        {"anchor": anchor, "around": around, "lowest": walk.lowest, "direction": walk.direction,
         "listed": MOST_EDGES_LISTED, "origins": 1},
    ).fetchall()  # fmt: skip
    first = {row[1]: row for row in nearest}
    return [*first.values(), *(row for row in edges if row[1] not in first)][:MOST_EDGES_LISTED]


def _ordered(edges: Sequence[Row], keys: Mapping[int, str], anchor: int) -> list[Row]:
    """Those at the node itself first, each group by from key, predicate key, to key; ends as keys."""
    named = [(*row[:11], keys[row[11]], keys[row[12]], *row[13:], anchor not in row[11:13]) for row in edges]
    return sorted(named, key=lambda row: (row[-1], row[11], row[3], row[12]))


def _node_views(reading: Reading, listing: _Listing, shown: int) -> list[NodeView]:
    found = {row[1]: _first(listing, row, shown) for row in listing.nodes}
    rest = node_evidence(reading, [number for number, known in found.items() if known is None], shown=shown)
    return [
        node_view(row[2], row[3], row[4], row[5], row[6], found[row[1]] or rest.of(row[1]), None) for row in listing.nodes
    ]


def _edge_views(reading: Reading, listing: _Listing, shown: int) -> list[EdgeView]:
    merged = listing.merged
    found = {
        row[1]: None if row[11] in merged or row[12] in merged else _first(listing, row, shown) for row in listing.edges
    }
    rest = edge_evidence(reading, [number for number, known in found.items() if known is None], shown=shown)
    return [_edge_view(row, found, rest) for row in listing.edges]


def _edge_view(row: Row, found: Mapping[int, Evidence | None], rest: EvidenceTable) -> EdgeView:
    _, number, predicate, key, model, _, _, counts, observations, _, _, source, target, confidence, first, last, _ = row
    writers, spaces = names_counted(counts)
    return edge_view(
        source, target, predicate, key, confidence, observations, writers, spaces, model, first, last,
        found[number] or rest.of(number),
    )  # fmt: skip


@lru_cache(maxsize=4_096)
def names_counted(counts: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names in an edge's counts by writer and by namespace; many edges have the same."""
    writers, namespaces = json.loads(counts)
    return tuple(writers), tuple(namespaces)


def _first(listing: _Listing, row: Row, shown: int) -> Evidence | None:
    """The evidence that the first origins tell, None when they do not tell all that is to be shown."""
    return None if row[9] else first_evidence(row[10], listing.visible, shown)
