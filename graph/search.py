"""Finding nodes and edges: a total order, a cursor that yields every item once, evidence as the caller may see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from facts.parameters import texts
from facts.patterns import escape_like
from facts.scope_keys import parse_scope_key
from graph.columns import numbers
from graph.evidence import edge_evidence, node_evidence
from graph.keys import form
from graph.queries import (
    MOST_DEPTH,
    MOST_ROWS,
    Caps,
    EdgeQuery,
    NodeQuery,
    checked_confidence,
    checked_key,
    checked_seeds,
    decode_position,
    encode_position,
    kind_wanted,
    name_wanted,
    predicate_wanted,
    space_hint,
    space_wanted,
)
from graph.views import EdgePage, EdgeRow, EdgeView, NodePage, NodeRow, NodeView
from graph.visible import visible_ids
from graph.visible_reads import find_edges, find_nodes, found_node_views, walk_visible
from graph.walk import Walk, node_ids, walk_from

if TYPE_CHECKING:
    from graph.reading import Reading

NODES_AROUND_SEEDS = 10_000
_NODES, _EDGES = "nodes", "edges"
Row = tuple[Any, ...]


def search_nodes(reading: Reading, query: NodeQuery) -> NodePage:
    """One page of the nodes that match: exact name matches first, then prefixes, then others, each in key order."""
    caps = Caps()
    limit = caps.count(query.limit, argument="limit", most=MOST_ROWS)
    depth = caps.count(query.depth, argument="depth", most=MOST_DEPTH)
    parameters = node_filters(query, limit)
    lowest, seeds = checked_confidence(query.min_confidence), checked_seeds(query.seeds)
    reading.bound_time()
    truncated = False
    if seeds:
        around, truncated = _around_seeds(reading, seeds, depth, lowest)
        parameters["ids"] = numbers(around)
    nodes, last = _node_page(reading, parameters, limit)
    return NodePage(
        nodes=tuple(nodes),
        cursor=None if last is None else encode_position(_NODES, *last),
        truncated=truncated,
        cut=caps.cut,
    )


def _node_page(
    reading: Reading, parameters: dict[str, Any], limit: int
) -> tuple[list[NodeView], tuple[int, str] | None]:
    """The views of one page, and its last position when there is more."""
    if not reading.sees_everything:
        found = find_nodes(reading, parameters)
        last = (found[limit - 1][2], found[limit - 1][1]) if len(found) > limit else None
        return found_node_views(reading, [row[0] for row in found[:limit]]), last
    reads = reading.tables.reads
    statement = reads.nodes_by_key if parameters["name"] is None else reads.nodes_by_name
    rows = reading.conn.execute(statement, parameters, prepare=False).fetchall()
    last = (rows[limit - 1][6], rows[limit - 1][1]) if len(rows) > limit else None
    return _node_views(reading, rows[:limit]), last


def space_filter(namespace: str | None) -> dict[str, str | None]:
    """The parameters of a namespace filter."""
    space = space_wanted(namespace)
    return {"space": space, "space_hint": space_hint(space)}


def node_filters(query: NodeQuery, limit: int) -> dict[str, Any]:
    """The parameters of the node searches; one row more than asked tells whether there is a next page."""
    name = name_wanted(query.name_like)
    place, key = (0, None) if query.cursor is None else decode_position(query.cursor, _NODES, int, str)
    return {
        "ids": None,
        "kind": kind_wanted(query.kind),
        "name": name,
        "like": None if name is None else f"%{escape_like(name)}%",
        **space_filter(query.namespace),
        "after_place": place,
        "after_key": key,
        "limit": limit + 1,
    }


def resolve_nodes(reading: Reading, text: str, *, kind: str | None = None) -> tuple[NodeView, ...]:
    """The node of this key, else the nodes that bear this name or alias (in any spelling of it): an index probe each."""
    key = checked_key(text, argument="nodeKey")
    if not key.strip():
        return ()
    known = list(node_ids(reading, [key]).values())
    if not known:
        asked = {"form": form(key), "kind": kind_wanted(kind), "limit": MOST_ROWS}
        known = [row[0] for row in reading.conn.execute(reading.tables.reads.nodes_by_form, asked).fetchall()]
    parameters = {**node_filters(NodeQuery(kind=kind), MOST_ROWS), "ids": numbers(known)}
    views, _ = _node_page(reading, parameters, MOST_ROWS) if known else ([], None)
    return tuple(view for view in views if view.node_key == key or _bears(view, key) or reading.sees_everything)


def _bears(node: NodeView, name: str) -> bool:
    """Whether a spelling that the caller sees is one of this name."""
    return any(form(spelling) == form(name) for spelling in (node.name, *node.aliases))


def _around_seeds(reading: Reading, seeds: Sequence[str], depth: int, lowest: float) -> tuple[list[int], bool]:
    """The seeds' nodes and all within reach. A fact that the caller may not see is as unknown as one that isn't there."""
    anchors = list(node_ids(reading, seeds).values())
    scope_keys = [seed for seed in seeds if parse_scope_key(seed) is not None]
    if scope_keys:
        rows = reading.conn.execute(
            reading.tables.reads.seeded_nodes, {"scope_keys": texts(scope_keys), **reading.acl}, prepare=False
        )
        anchors += [number for (number,) in rows]
    anchors = list(dict.fromkeys(anchors))
    if not reading.sees_everything:
        anchors = sorted(visible_ids(reading, anchors))
    if not anchors:
        return [], False
    walk = Walk(depth=depth, lowest=lowest, most_nodes=NODES_AROUND_SEEDS)
    walked = walk_from(reading, anchors, walk) if reading.sees_everything else walk_visible(reading, anchors, walk)
    return [*anchors, *walked.distances], walked.truncated


def _node_views(reading: Reading, rows: Sequence[Row]) -> list[NodeView]:
    """Views of rows that start with id, key, kind, name, aliases, namespaces."""
    ids = [row[0] for row in rows]
    if not ids:
        return []
    counted = reading.conn.execute(reading.tables.reads.degrees, {"ids": numbers(ids)}).fetchall()
    degrees: dict[int, int] = dict(counted)
    evidence = node_evidence(reading, ids)
    return [NodeRow._make(row[1:6]).view(evidence.of(row[0]), degrees[row[0]]) for row in rows]


def search_edges(reading: Reading, query: EdgeQuery) -> EdgePage:
    """One page of the edges that match, by from key, predicate key, to key."""
    caps = Caps()
    limit = caps.count(query.limit, argument="limit", most=MOST_ROWS)
    parameters = edge_filters(query, limit)
    ends = _ends(reading, query)
    if ends is None:
        return EdgePage(edges=(), cursor=None, cut=caps.cut)
    reading.bound_time()
    edges, last = _edge_page(reading, {**parameters, **ends}, limit)
    return EdgePage(edges=tuple(edges), cursor=None if last is None else encode_position(_EDGES, *last), cut=caps.cut)


def _edge_page(
    reading: Reading, parameters: dict[str, Any], limit: int
) -> tuple[list[EdgeView], tuple[str, str, str] | None]:
    """The views of one page, and its last position (from key, predicate key, to key) when there is more."""
    if not reading.sees_everything:
        return find_edges(reading, parameters, limit)
    rows = reading.conn.execute(reading.tables.reads.search_edges, parameters, prepare=False).fetchall()
    page = rows[:limit]
    evidence = edge_evidence(reading, [row[0] for row in page])
    edges = {row[0]: EdgeRow._make(row[1:12]) for row in page}
    last = edges[page[-1][0]].place if len(rows) > limit else None
    return [edge.view(evidence.of(number)) for number, edge in edges.items()], last


def edge_filters(query: EdgeQuery, limit: int) -> dict[str, Any]:
    """The parameters of the edge search, endpoints apart."""
    after = (None, None, None) if query.cursor is None else decode_position(query.cursor, _EDGES, str, str, str)
    return {
        "predicate_key": predicate_wanted(query),
        "lowest": checked_confidence(query.min_confidence),
        **space_filter(query.namespace),
        "after_from": after[0],
        "after_predicate": after[1],
        "after_to": after[2],
        "limit": limit + 1,
    }


def _ends(reading: Reading, query: EdgeQuery) -> dict[str, int | None] | None:
    """The ids of the endpoints asked for, through recorded merges; None when one of them is unknown."""
    asked = {
        "source": None if query.from_key is None else checked_key(query.from_key, argument="fromKey"),
        "target": None if query.to_key is None else checked_key(query.to_key, argument="toKey"),
    }
    known = node_ids(reading, [key for key in asked.values() if key is not None]) if any(asked.values()) else {}
    if any(key is not None and key not in known for key in asked.values()):
        return None
    return {end: None if key is None else known[key] for end, key in asked.items()}
