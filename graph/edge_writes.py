"""Edges, observations and what they add up to: the part of the write path between the nodes and the clean-up.

Sums move by what changed; only an edge on which hand assertions stand is counted from all its statements, since a
hand assertion may cite many keys and each key counts once.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring as _text

from psycopg import Connection

from graph.columns import numbers, texts
from graph.confidence import Strength
from graph.edge_state import EdgeState, OriginOnEdge, Statement, after_facts, recount
from graph.rows import Observation, OriginChange
from graph.tables import GraphTables

EdgeKey = tuple[int, int, str]
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class EdgeEffect:
    """How many edges appeared and went."""

    created: int = 0
    deleted: int = 0


@dataclass(frozen=True, slots=True)
class _Locked:
    """An edge that existed before this write, with the state that the write starts from."""

    edge_id: int
    state: EdgeState


def write_edges(  # noqa: PLR0913, PLR0917 - what one write brings together, called once
    conn: Connection,
    tables: GraphTables,
    changes: Sequence[OriginChange],
    dropped: Sequence[Observation],
    added: Sequence[Observation],
    node_ids: Mapping[str, int],
    scope_keys: Mapping[int, str],
) -> EdgeEffect:
    """Bring edges and observations to what the changes say. All endpoint nodes are locked and in ``node_ids``."""
    touched = _changes_by_edge(changes, dropped, added, node_ids)
    created, fresh = _insert_edges(conn, tables, touched)
    locked = _lock_edges(conn, tables, [key for key in touched if key not in created])
    edge_ids = created | {key: edge.edge_id for key, edge in locked.items()}
    _write_observations(conn, tables, dropped, added, node_ids, edge_ids)
    _project_new(conn, tables, created, fresh, scope_keys)
    deleted = _update_edges(conn, tables, locked, touched)
    return EdgeEffect(created=len(created), deleted=deleted)


def _project_new(
    conn: Connection,
    tables: GraphTables,
    created: Mapping[EdgeKey, int],
    fresh: Mapping[EdgeKey, EdgeState],
    scope_keys: Mapping[int, str],
) -> None:
    if not created:
        return
    properties = [
        _properties(key, fresh[key], [scope_keys[source] for source in fresh[key].evidence]) for key in created
    ]
    conn.execute(
        tables.edges.project_new_edges,
        {
            "ids": numbers(created.values()), "sources": numbers(key[0] for key in created),
            "targets": numbers(key[1] for key in created), "properties": texts(properties),
            "label": tables.label_ids.rel, "node_label": tables.label_ids.node,
        },
    )  # fmt: skip


def _properties(key: EdgeKey, state: EdgeState, evidence: list[str] | None) -> str:
    """The JSON text of an edge's AGE properties, left open for the members that only the database knows."""
    written = _properties_of(
        state.predicate,
        key[2],
        state.strength,
        tuple(sorted(state.writers)),
        min(filter(None, state.namespaces), default=None),
        state.model,
    )
    return written if evidence is None else f'{written},"evidence":[{",".join(map(_text, evidence))}]'


@lru_cache(maxsize=4_096)
def _properties_of(
    predicate: str, key: str, strength: Strength, writers: tuple[str, ...], namespace: str | None, model: str | None
) -> str:
    members = {
        "predicate": predicate,
        "predicate_key": key,
        "confidence": strength.confidence,
        "observations": strength.observations,
        "asserted_by": writers,
        "namespace": namespace,
        "model": model,
    }
    return _encode(members)[:-1]


def _edge_key(row: Observation, node_ids: Mapping[str, int]) -> EdgeKey:
    return node_ids[row.source_key], node_ids[row.target_key], row.predicate_key


def _changes_by_edge(
    changes: Sequence[OriginChange],
    dropped: Sequence[Observation],
    added: Sequence[Observation],
    node_ids: Mapping[str, int],
) -> dict[EdgeKey, list[OriginOnEdge]]:
    """For each edge that changes: the statements of each changing origin on it, before and after."""
    affected = {row.edge for rows in (dropped, added) for row in rows if not row.loop}
    for change in changes:
        if change.before.keys != change.after.keys:
            affected |= {row.edge for row in (*change.before.observations, *change.after.observations) if not row.loop}
    touched: dict[EdgeKey, list[OriginOnEdge]] = {}
    for change in changes:
        if not change.before.observations and not change.after.observations:
            continue
        before = _by_edge(change.before.observations, change.before.keys)
        after = _by_edge(change.after.observations, change.after.keys)
        for edge in before.keys() | after.keys():
            if edge in affected:
                key = (node_ids[edge[0]], node_ids[edge[1]], edge[2])
                on_edge = OriginOnEdge(change.origin, before.get(edge, ()), after.get(edge, ()))
                touched.setdefault(key, []).append(on_edge)
    return touched


def _by_edge(rows: Sequence[Observation], keys: tuple[int, ...]) -> Mapping[tuple[str, str, str], Sequence[Statement]]:
    found: dict[tuple[str, str, str], list[Statement]] = {}
    for row in rows:
        if row.source_key != row.target_key:
            found.setdefault(row.edge, []).append(Statement.of(row, keys))
    return found


def _insert_edges(
    conn: Connection, tables: GraphTables, touched: Mapping[EdgeKey, list[OriginOnEdge]]
) -> tuple[dict[EdgeKey, int], dict[EdgeKey, EdgeState]]:
    """Insert edges that nothing in this write stated before; those that another origin states exist and are left out."""
    fresh: dict[EdgeKey, EdgeState] = {}
    for key, origins in touched.items():
        if not any(origin.before for origin in origins):
            state = recount([statement for origin in origins for statement in origin.after])
            if state is not None:
                fresh[key] = state
    if not fresh:
        return {}, {}
    rows = conn.execute(
        tables.edges.insert_edges,
        {
            "sources": numbers(key[0] for key in fresh),
            "targets": numbers(key[1] for key in fresh),
            "predicate_keys": texts(key[2] for key in fresh),
            **_state_columns(list(fresh.values())),
        },
    ).fetchall()
    return {(source, target, predicate_key): number for number, source, target, predicate_key in rows}, fresh


def _state_columns(states: Sequence[EdgeState]) -> dict[str, str]:
    predicates, ranks, models, strengths, hand, writers, namespaces, evidence = zip(*states, strict=True)
    counts, certain, weights = zip(*strengths, strict=True)
    return {
        "predicates": texts(predicates),
        "ranks": numbers(ranks),
        "models": texts(models),
        "confidences": numbers([strength.confidence for strength in strengths]),
        "observations": numbers(counts),
        "certain": numbers(certain),
        "weights": numbers(weights),
        "hand": numbers(hand),
        "writers": texts([_counts(tuple(each.items())) for each in writers]),
        "namespaces": texts([_counts(tuple(each.items())) for each in namespaces]),
        "evidence": texts([numbers(each) for each in evidence]),
    }


@lru_cache(maxsize=4_096)
def _counts(items: tuple[tuple[str, int], ...]) -> str:
    return _encode(dict(items))


def _lock_edges(conn: Connection, tables: GraphTables, keys: Sequence[EdgeKey]) -> dict[EdgeKey, _Locked]:
    if not keys:
        return {}
    rows = conn.execute(
        tables.edges.lock_edges,
        {
            "sources": numbers(key[0] for key in keys),
            "targets": numbers(key[1] for key in keys),
            "predicate_keys": texts(key[2] for key in keys),
        },
    ).fetchall()
    locked: dict[EdgeKey, _Locked] = {}
    for (
        number,
        source,
        target,
        key,
        predicate,
        rank,
        model,
        count,
        certain,
        weight,
        hand,
        writers,
        spaces,
        evidence,
    ) in rows:
        strength = Strength(observations=count, certain=certain, weight=int(weight))
        state = EdgeState(predicate, rank, model, strength, hand, writers, spaces, tuple(evidence))
        locked[(source, target, key)] = _Locked(number, state)
    return locked


def _write_observations(
    conn: Connection,
    tables: GraphTables,
    dropped: Sequence[Observation],
    added: Sequence[Observation],
    node_ids: Mapping[str, int],
    edge_ids: Mapping[EdgeKey, int],
) -> None:
    if dropped:
        origins, poses = numbers(row.origin for row in dropped), numbers(row.pos for row in dropped)
        conn.execute(tables.edges.delete_observations, {"origins": origins, "poses": poses})
    if not added:
        return
    (origin_ids, positions, _, from_keys, to_keys, predicate_keys, predicates, namespaces, confidences, writers, models,
     sources, targets, _) = zip(*added, strict=True)  # fmt: skip
    conn.execute(
        tables.edges.insert_observations,
        {
            "origins": numbers(origin_ids), "poses": numbers(positions),
            "edges": numbers([None if row.loop else edge_ids[_edge_key(row, node_ids)] for row in added]),
            "sources": numbers([node_ids[key] for key in sources]), "targets": numbers([node_ids[key] for key in targets]),
            "from_keys": texts(from_keys), "to_keys": texts(to_keys), "predicate_keys": texts(predicate_keys),
            "predicates": texts(predicates), "namespaces": texts(namespaces), "confidences": numbers(confidences),
            "writers": texts(writers), "models": texts(models), "ranks": numbers([row.rank for row in added]),
        },
    )  # fmt: skip
    moved = [row for row in added if row.attached is not None]
    if moved:
        places = {"origins": numbers(row.origin for row in moved), "poses": numbers(row.pos for row in moved)}
        conn.execute(
            tables.edges.restore_observation_order, {**places, "attached": numbers(row.attached for row in moved)}
        )


def _update_edges(
    conn: Connection,
    tables: GraphTables,
    locked: Mapping[EdgeKey, _Locked],
    touched: Mapping[EdgeKey, list[OriginOnEdge]],
) -> int:
    """Write the new sums of edges that existed; returns how many of them nothing states any more."""
    if not locked:
        return 0
    after = _states_after(conn, tables, locked, touched)
    gone = [number for number, state in after.items() if state is None]
    kept = {number: state for number, state in after.items() if state is not None}
    if kept:
        conn.execute(tables.edges.update_edges, {"ids": numbers(kept), **_state_columns(list(kept.values()))})
        keys = {edge.edge_id: key for key, edge in locked.items()}
        properties = texts(_properties(keys[number], state, None) for number, state in kept.items())
        conn.execute(
            tables.edges.project_edges, {"ids": numbers(kept), "properties": properties, "label": tables.label_ids.rel}
        )
    if gone:
        conn.execute(tables.edges.delete_edges, {"ids": numbers(gone), "label": tables.label_ids.rel})
    return len(gone)


def _states_after(
    conn: Connection,
    tables: GraphTables,
    locked: Mapping[EdgeKey, _Locked],
    touched: Mapping[EdgeKey, list[OriginOnEdge]],
) -> dict[int, EdgeState | None]:
    after: dict[int, EdgeState | None] = {}
    by_hand: list[int] = []
    unshown: list[int] = []
    short: list[int] = []
    for key, edge in locked.items():
        if edge.state.hand or any(origin.origin < 0 for origin in touched[key]):
            by_hand.append(edge.edge_id)
            continue
        step = after_facts(edge.state, touched[key])
        after[edge.edge_id] = step.state
        if step.shown_withdrawn:
            unshown.append(edge.edge_id)
        if step.evidence_short:
            short.append(edge.edge_id)
    after.update(_recounted(conn, tables, by_hand))
    _show_lowest(conn, tables, after, unshown)
    _refill_evidence(conn, tables, after, short)
    return after


def _recounted(conn: Connection, tables: GraphTables, ids: Sequence[int]) -> dict[int, EdgeState | None]:
    if not ids:
        return {}
    statements: dict[int, list[Statement]] = {number: [] for number in ids}
    for row in conn.execute(tables.edges.statements_of_edges, {"ids": numbers(ids)}):
        number, origin, rank, confidence, writer, namespace, predicate, model, _, keys = row
        statement = Statement(origin, rank, confidence, writer, namespace, predicate, model, tuple(keys))
        statements[number].append(statement)
    return {number: recount(found) for number, found in statements.items()}


def _show_lowest(conn: Connection, tables: GraphTables, after: dict[int, EdgeState | None], ids: Sequence[int]) -> None:
    if not ids:
        return
    for number, rank, predicate, model in conn.execute(tables.edges.lowest_statements, {"ids": numbers(ids)}):
        state = after[number]
        if state is not None:
            after[number] = state._replace(shown_rank=rank, predicate=predicate, model=model)


def _refill_evidence(
    conn: Connection, tables: GraphTables, after: dict[int, EdgeState | None], ids: Sequence[int]
) -> None:
    if not ids:
        return
    for number, evidence in conn.execute(tables.edges.newest_evidence, {"ids": numbers(ids)}):
        state = after[number]
        if state is not None:
            after[number] = state._replace(evidence=tuple(evidence))
