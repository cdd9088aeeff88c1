"""Searches, walks and numbers over what the caller sees (topology `visible`). Nothing hidden is walked through or counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from graph.columns import numbers
from graph.views import DEFAULT_NAMESPACE, EdgeRow, EdgeView, Neighbourhood, NodeView
from graph.visible import edge_views, lies_in, node_views, seen_edges, seen_nodes, visible_ids
from graph.walk import Walk, Walked, node_ids

if TYPE_CHECKING:
    from graph.reading import Reading

CANDIDATES = 500
SEARCH_SECONDS = 3.0
MOST_EDGES_LISTED = 2_000


def find_nodes(reading: Reading, parameters: dict[str, Any]) -> list[tuple[int, str, int]]:
    """(id, key, place) of the visible nodes that match, one more than the page holds."""
    visible = reading.tables.visible
    statement = visible.visible_by_key if parameters["name"] is None else visible.visible_by_name
    return reading.conn.execute(statement, {**parameters, **reading.acl}, prepare=False).fetchall()


def found_node_views(reading: Reading, ids: Sequence[int]) -> list[NodeView]:
    """Views of the nodes of a page, with the number of visible edges that touch each."""
    if not ids:
        return []
    rows = reading.conn.execute(
        reading.tables.visible.visible_degrees, {"ids": numbers(ids), **reading.acl}, prepare=False
    ).fetchall()
    views = node_views(reading, ids, degrees=dict(rows))
    return [views[number] for number in ids if number in views]


def find_edges(
    reading: Reading, parameters: dict[str, Any], limit: int
) -> tuple[list[EdgeView], tuple[str, str, str] | None]:
    """The visible edges of one page, and where the walk stopped when there may be more."""
    found: dict[int, EdgeRow] = {}
    give_up = monotonic() + SEARCH_SECONDS
    while True:
        asked = {**parameters, **reading.acl, "limit": CANDIDATES}
        rows = reading.conn.execute(reading.tables.visible.edge_candidates, asked, prepare=False).fetchall()
        seen = seen_edges(reading, [row[0] for row in rows], lowest=parameters["lowest"])
        inside = _in_space(reading, rows, seen, parameters["space"])
        for row in rows:
            if row[0] in inside:
                if len(found) == limit:
                    return edge_views(reading, found), _last(found)
                found[row[0]] = seen[row[0]]
            parameters = {**parameters, "after_from": row[1], "after_predicate": row[2], "after_to": row[3]}
        if len(rows) < CANDIDATES:
            return edge_views(reading, found), None
        if monotonic() > give_up:
            return edge_views(reading, found), rows[-1][1:4]


def _last(found: dict[int, EdgeRow]) -> tuple[str, str, str]:
    return next(reversed(found.values())).place


def _in_space(reading: Reading, rows: Sequence[Any], seen: dict[int, EdgeRow], space: str | None) -> set[int]:
    """Edges that visibly lie in a namespace, themselves or through an end."""
    if space is None:
        return set(seen)
    ends = seen_nodes(reading, {end for row in rows for end in row[4:6] if row[0] in seen})
    return {
        row[0]
        for row in rows
        if row[0] in seen
        and (
            lies_in(seen[row[0]].namespaces, space)
            or any(lies_in(ends[end].namespaces, space) for end in row[4:6] if end in ends)
        )
    }


def walk_visible(reading: Reading, anchors: Sequence[int], walk: Walk) -> Walked:
    """The same walk over visible edges; a node at the end of a visible edge is visible itself."""
    distances: dict[int, int] = {}
    visited, frontier = set(anchors), list(anchors)
    looked_at, truncated = 0, False
    give_up = monotonic() + walk.seconds
    for hop in range(1, walk.depth + 1):
        if not frontier:
            break
        if len(distances) >= walk.most_nodes or looked_at >= walk.most_edges or monotonic() > give_up:
            return Walked(distances=distances, truncated=True)
        ends, count = _hop(reading, frontier, walk, walk.most_edges - looked_at)
        looked_at += count
        frontier = sorted(ends - visited)
        visited |= ends
        listed = _listed(reading, frontier, walk.space)
        room = walk.most_nodes - len(distances)
        distances.update(dict.fromkeys(listed[:room], hop))
        truncated = len(listed) > room or looked_at >= walk.most_edges
        if truncated:
            break
    return Walked(distances=distances, truncated=truncated)


def _hop(reading: Reading, frontier: Sequence[int], walk: Walk, budget: int) -> tuple[set[int], int]:
    rows = reading.conn.execute(
        reading.tables.visible.edges_of_nodes,
        {"ids": numbers(frontier), "lowest": walk.lowest, "direction": walk.direction, "limit": budget},
    ).fetchall()
    seen = seen_edges(reading, [row[0] for row in rows], lowest=walk.lowest)
    inside = set(frontier)
    ends: set[int] = set()
    for number, source, target in rows:
        if number in seen:
            ends |= {target} if source in inside and walk.direction != "in" else set()
            ends |= {source} if target in inside and walk.direction != "out" else set()
    return ends, len(rows)


def _listed(reading: Reading, ids: Sequence[int], space: str | None) -> list[int]:
    """Those that visibly lie in the namespace, in key order."""
    seen = seen_nodes(reading, ids)
    return sorted(
        (number for number, node in seen.items() if lies_in(node.namespaces, space)),
        key=lambda number: seen[number].key,
    )


def visible_neighbourhood(reading: Reading, key: str, walk: Walk, shown: int) -> Neighbourhood:
    """A node and what lies around it, if the caller sees it."""
    anchor = node_ids(reading, [key]).get(key)
    if anchor is None or not visible_ids(reading, [anchor]):
        return Neighbourhood(anchor=None, nodes=(), edges=(), truncated=False)
    walked = walk_visible(reading, [anchor], walk)
    views = node_views(reading, [anchor, *walked.distances], shown=shown)
    edges, many = _edges_among(reading, anchor, walked, walk)
    return Neighbourhood(
        anchor=views[anchor],
        nodes=tuple(views[number] for number in walked.distances),
        edges=tuple(edge_views(reading, edges, shown=shown)),
        truncated=walked.truncated or many,
    )


def _edges_among(reading: Reading, anchor: int, walked: Walked, walk: Walk) -> tuple[dict[int, EdgeRow], bool]:
    every = [anchor, *walked.distances]
    near = [anchor, *(number for number, distance in walked.distances.items() if distance < walk.depth)]
    rows = reading.conn.execute(
        reading.tables.visible.edges_between,
        {
            "sources": numbers(near if walk.direction == "out" else every),
            "targets": numbers(near if walk.direction == "in" else every),
            "lowest": walk.lowest,
            "limit": walk.most_edges,
        },
    ).fetchall()
    seen = seen_edges(reading, [row[0] for row in rows], lowest=walk.lowest)
    apart = {row[0]: anchor not in row[1:] for row in rows}
    order = sorted(seen, key=lambda number: (apart[number], seen[number].place))
    return {number: seen[number] for number in order[:MOST_EDGES_LISTED]}, len(order) > MOST_EDGES_LISTED


def visible_totals(reading: Reading, space: str | None) -> dict[str, Any]:
    """Counts of what the caller sees, as the fields of Totals."""
    nodes = _rows(reading, reading.tables.visible.visible_node_totals, space)
    edges = _rows(reading, reading.tables.visible.visible_edge_totals, space)
    ((evidence,),) = _rows(reading, reading.tables.visible.visible_evidence_total, space)
    kinds: Counter[str] = Counter()
    spaces: Counter[str] = Counter()
    for kind, namespaces, count in nodes:
        kinds[kind] += count
        for namespace in namespaces:
            if lies_in([namespace], space):
                spaces[namespace or DEFAULT_NAMESPACE] += count
    return {
        "nodes": sum(kinds.values()),
        "edges": sum(count for _, count in edges),
        "evidence": evidence,
        "by_namespace": _largest_first(spaces.items()),
        "by_kind": _largest_first(kinds.items()),
        "by_predicate": _largest_first(edges),
    }


def _rows(reading: Reading, statement: Any, space: str | None) -> list[Any]:
    return reading.conn.execute(statement, {"space": space, **reading.acl}, prepare=False).fetchall()


def _largest_first(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(sorted(counts, key=lambda row: (-row[1], row[0])))
