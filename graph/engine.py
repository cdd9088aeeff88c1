"""The one write path of the graph: replace what origins contribute, in whole batches of set-based statements.

Every write (harvest, hand assertion, removal, merge) is a list of OriginChange: the complete rows of an origin before
and after. The steps keep one order, and inside a step the order of keys, so that two writers cannot deadlock:

1. nodes: insert those that are missing, then lock all of them in one pass;
2. mentions and surfaces, then what changed nodes show;
3. evidence rows;
4. edges: insert those that are missing, lock the others, then observations, then their sums;
5. nodes that lost support: judged in a statement after the locks.

The caller has locked the facts, opened the transaction, and starts anew on InterruptedWriteError.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from psycopg import Connection

from facts.errors import NotFound
from graph.columns import flags, numbers, texts
from graph.edge_writes import write_edges
from graph.rows import NOWHERE, Mention, Observation, OriginChange
from graph.surfaces import raise_surfaces, rejudge_surfaces
from graph.tables import GraphTables

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
Row = TypeVar("Row", Mention, Observation)


class InterruptedWriteError(Exception):
    """Another writer deleted or merged a node between two steps; nothing is written, the transaction starts again."""


@dataclass(slots=True)
class Delta:
    """The rows that a write takes away and adds; everything else stays as it is."""

    dropped_mentions: list[Mention] = field(default_factory=list)
    added_mentions: list[Mention] = field(default_factory=list)
    dropped_observations: list[Observation] = field(default_factory=list)
    added_observations: list[Observation] = field(default_factory=list)
    recited: list[OriginChange] = field(default_factory=list)

    @classmethod
    def of(cls, changes: Iterable[OriginChange]) -> "Delta":
        """What differs between before and after."""
        delta = cls()
        for change in changes:
            if not change.before.mentions and not change.before.observations:
                delta.added_mentions += change.after.mentions
                delta.added_observations += change.after.observations
                continue
            _split(change.before.mentions, change.after.mentions, delta.dropped_mentions, delta.added_mentions)
            _split(
                change.before.observations,
                change.after.observations,
                delta.dropped_observations,
                delta.added_observations,
            )
            if change.before.keys != change.after.keys:
                delta.recited.append(change)
        return delta

    @property
    def keys(self) -> set[str]:
        """Every node that the write touches."""
        named = {mention.node_key for mentions in (self.dropped_mentions, self.added_mentions) for mention in mentions}
        for observations in (self.dropped_observations, self.added_observations):
            for row in observations:
                named.add(row.source_key)
                named.add(row.target_key)
        for change in self.recited:
            named |= {mention.node_key for mention in change.before.mentions}
            named |= {key for row in change.before.observations for key in row.edge[:2]}
        return named

    @property
    def strengthened(self) -> set[str]:
        """Nodes at which the write adds something: they must be there."""
        named = {mention.node_key for mention in self.added_mentions}
        return named | {key for row in self.added_observations for key in row.edge[:2]}

    @property
    def weakened(self) -> set[str]:
        """Nodes from which the write takes support away."""
        return {mention.node_key for mention in self.dropped_mentions}


def _split(before: Sequence[Row], after: Sequence[Row], dropped: list[Row], added: list[Row]) -> None:
    old = {row.content: row for row in before}
    new = {row.content: row for row in after}
    dropped += [row for content, row in old.items() if content not in new]
    added += [row for content, row in new.items() if content not in old]


@dataclass(frozen=True, slots=True)
class Effect:
    """What a write did: ids and counts of what appeared and went."""

    nodes_created: frozenset[str]
    nodes_deleted: int
    edges_created: int
    edges_deleted: int
    mentions_dropped: int
    observations_dropped: int
    loops: int


@dataclass(slots=True)
class _Nodes:
    """The locked nodes of a write: id by key, and which of them this write made."""

    ids: dict[str, int]
    namespaces: dict[str, list[str]]
    created: dict[str, int]


def replace_contributions(  # noqa: PLR0913 - what one write brings together
    conn: Connection,
    tables: GraphTables,
    changes: Sequence[OriginChange],
    *,
    scope_keys: dict[int, str],
    epoch: int,
    first: frozenset[int] = frozenset(),
    exclusive: frozenset[str] = frozenset(),
    verify: Callable[[], None] | None = None,
) -> Effect:
    """Apply the changes in this transaction.

    :param scope_keys: source id -> scope key, for every source cited before or after.
    :param epoch: the merge epoch under which the rows were resolved.
    :param first: sources that the graph has never referred to before (their evidence needs no look-up).
    :param exclusive: nodes to lock exclusively whatever happens to them; ``verify`` runs once all locks are held.
    :raises InterruptedWriteError: start the transaction again. NotFound: a hand edge names a node that is not there.
    """
    delta = Delta.of(changes)
    nodes = _lock_nodes(conn, tables, delta, exclusive)
    if verify is not None:
        verify()
    if epoch != current_epoch(conn, tables):
        raise InterruptedWriteError("keys were merged meanwhile")
    refresh = _write_mentions(conn, tables, delta, nodes)
    _refresh_nodes(conn, tables, refresh)
    _write_evidence(conn, tables, changes, nodes, scope_keys, first)
    edges = write_edges(
        conn, tables, changes, delta.dropped_observations, delta.added_observations, nodes.ids, scope_keys
    )
    deleted = _delete_empty(conn, tables, [nodes.ids[key] for key in delta.weakened])
    return Effect(
        nodes_created=frozenset(nodes.created),
        nodes_deleted=deleted,
        edges_created=edges.created,
        edges_deleted=edges.deleted,
        mentions_dropped=len(delta.dropped_mentions),
        observations_dropped=len(delta.dropped_observations),
        loops=sum(row.loop for row in delta.added_observations),
    )


def current_epoch(conn: Connection, tables: GraphTables) -> int:
    """How often keys were merged or unmerged so far."""
    row = conn.execute(tables.engine.merge_epoch).fetchone()
    if row is None:
        raise NotFound("the graph's merge epoch is missing; run `harvester doctor`")
    return int(row[0])


def hold_merges(conn: Connection, tables: GraphTables) -> int:
    """Keep merges away until this transaction ends; how often keys were merged so far. Facts are locked before."""
    conn.execute(tables.engine.hold_merges)
    return current_epoch(conn, tables)


def redirects_of(conn: Connection, tables: GraphTables, keys: Iterable[str]) -> dict[str, str]:
    """Where named keys resolve to, for those that recorded merges redirect."""
    rows = conn.execute(tables.engine.redirects_of, {"keys": texts(keys)}).fetchall()
    return dict(rows)


def _lock_nodes(conn: Connection, tables: GraphTables, delta: Delta, exclusive: frozenset[str]) -> _Nodes:
    keys = sorted(delta.keys | (exclusive if delta.keys else set()))
    if not keys:
        return _Nodes({}, {}, {})
    created = _insert_missing(conn, tables, keys, delta.added_mentions)
    weakened = delta.weakened | exclusive
    if weakened:
        exclusively = [key in weakened for key in keys]
        query, parameters = tables.engine.lock_nodes, {"keys": texts(keys), "exclusively": flags(exclusively)}
    else:
        query, parameters = tables.engine.share_nodes, {"keys": texts(keys)}
    rows = conn.execute(query, parameters).fetchall()
    nodes = _Nodes({key: number for number, key, _ in rows}, {key: spaces for _, key, spaces in rows}, created)
    needed = set(keys) - exclusive | delta.strengthened
    missing = [key for key in keys if key not in nodes.ids and key in needed]
    if missing:
        _explain_missing(missing, delta)
    return nodes


def _explain_missing(missing: list[str], delta: Delta) -> None:
    mentioned = {mention.node_key for mention in delta.added_mentions if mention.namespace != NOWHERE}
    for row in delta.added_observations:
        for argument, key in (("fromKey", row.source_key), ("toKey", row.target_key)):
            if row.origin < 0 and key in missing and key not in mentioned:
                raise NotFound(f"node {key} does not exist; make it first with graph_upsert_node", argument=argument)
    raise InterruptedWriteError(f"{missing[0]} was deleted meanwhile")


def _insert_missing(conn: Connection, tables: GraphTables, keys: list[str], mentions: list[Mention]) -> dict[str, int]:
    known = {key for (key,) in conn.execute(tables.engine.known_nodes, {"keys": texts(keys)})}
    fresh: dict[str, list[Mention]] = {}
    for mention in mentions:
        held = mention.namespace == NOWHERE and mention.attached is None
        if mention.node_key not in known and not held:
            fresh.setdefault(mention.node_key, []).append(mention)
    # Aliases without their name belong to a node that another writer deleted meanwhile: it stays missing, we start anew.
    fresh = {key: forms for key, forms in fresh.items() if any(each.named for each in forms)}
    if not fresh:
        return {}
    rows = [_shown(key, sorted(named, key=lambda mention: mention.rank)) for key, named in fresh.items()]
    columns = list(zip(*rows, strict=True))
    inserted = conn.execute(
        tables.engine.insert_nodes,
        {
            "keys": texts(columns[0]), "kinds": texts(columns[1]), "names": texts(columns[2]), "aliases": texts(columns[3]),
            "namespaces": texts(columns[4]), "writers": texts(columns[5]), "properties": texts(columns[6]),
            "label": tables.label_ids.node,
        },
    ).fetchall()  # fmt: skip
    return {key: number for number, key in inserted}


def _shown(key: str, mentions: list[Mention]) -> tuple[str, str, str, str, str, str, str]:
    """What a new node shows: key, kind, name, aliases, namespaces, writer, AGE properties; mentions in order of rank."""
    first = next(mention for mention in mentions if mention.named)
    aliases: dict[str, str] = {}
    for mention in mentions:
        aliases.setdefault(mention.form, mention.spelling)
    places = {mention.namespace for mention in mentions if mention.named}
    namespaces = sorted(places - {NOWHERE}) or [""]
    properties = {
        "node_key": key,
        "kind": first.kind,
        "name": first.spelling,
        "aliases": list(aliases.values()),
        "namespace": min(filter(None, namespaces), default=None),
        "created_by": first.writer,
    }
    shown = (key, first.kind, first.spelling, texts(aliases.values()), texts(namespaces), first.writer)
    return (*shown, _encode(properties)[:-1])


def _write_mentions(conn: Connection, tables: GraphTables, delta: Delta, nodes: _Nodes) -> set[int]:
    """Write the rows; returns the nodes (not the new ones) whose shown state may have changed."""
    changed: set[int] = set()
    if delta.dropped_mentions:
        origins = numbers(mention.origin for mention in delta.dropped_mentions)
        poses = numbers(mention.pos for mention in delta.dropped_mentions)
        conn.execute(tables.engine.delete_mentions, {"origins": origins, "poses": poses})
        changed |= {nodes.ids[mention.node_key] for mention in delta.dropped_mentions}
    if delta.added_mentions:
        _insert_mentions(conn, tables, delta.added_mentions, nodes)
        changed |= raise_surfaces(conn, tables, delta.added_mentions, nodes.ids)
        for mention in delta.added_mentions:
            placed = mention.named and mention.namespace != NOWHERE
            if placed and mention.namespace not in nodes.namespaces[mention.node_key]:
                changed.add(nodes.ids[mention.node_key])
    if delta.dropped_mentions:
        rejudge_surfaces(conn, tables, delta.dropped_mentions, nodes.ids)
    return changed - set(nodes.created.values())


def _insert_mentions(conn: Connection, tables: GraphTables, mentions: list[Mention], nodes: _Nodes) -> None:
    origins, poses, _, named_keys, forms, spellings, named, _, kinds, namespaces, writers, at, _ = zip(
        *mentions, strict=True
    )
    conn.execute(
        tables.engine.insert_mentions,
        {
            "origins": numbers(origins), "poses": numbers(poses), "nodes": numbers([nodes.ids[key] for key in at]),
            "named_keys": texts(named_keys), "forms": texts(forms), "spellings": texts(spellings),
            "ranks": numbers([mention.rank for mention in mentions]), "named": flags(named), "kinds": texts(kinds),
            "namespaces": texts(namespaces), "writers": texts(writers),
        },
    )  # fmt: skip
    moved = [m for m in mentions if m.attached is not None]
    if moved:
        conn.execute(
            tables.engine.restore_mention_order,
            {
                "origins": numbers(m.origin for m in moved),
                "poses": numbers(m.pos for m in moved),
                "attached": numbers(m.attached for m in moved),
            },
        )


def _refresh_nodes(conn: Connection, tables: GraphTables, ids: set[int]) -> None:
    if not ids:
        return
    wanted = numbers(sorted(ids))
    conn.execute(tables.engine.lock_shown, {"ids": wanted})
    conn.execute(tables.engine.refresh_nodes, {"ids": wanted, "label": tables.label_ids.node})


def _pairs(mentions: Iterable[Mention], keys: Sequence[int]) -> set[tuple[str, int]]:
    """(node, cited source) for mentions that carry evidence: the ends of a hand edge do not."""
    return {
        (mention.node_key, key)
        for mention in mentions
        if mention.named and mention.namespace != NOWHERE
        for key in keys
    }


def _write_evidence(
    conn: Connection,
    tables: GraphTables,
    changes: Sequence[OriginChange],
    nodes: _Nodes,
    scope_keys: dict[int, str],
    first: frozenset[int],
) -> None:
    """EVIDENCED_BY rows follow the pairs (node, cited source)."""
    labels = {"node_label": tables.label_ids.node, "fact_label": tables.label_ids.fact}
    known: list[tuple[int, int]] = []
    unknown: list[tuple[int, int]] = []
    lost: list[tuple[int, int]] = []
    for change in changes:
        before, after = (
            _pairs(change.before.mentions, change.before.keys),
            _pairs(change.after.mentions, change.after.keys),
        )
        (unknown if change.origin in first else known).extend(
            (nodes.ids[key], source) for key, source in after - before
        )
        lost.extend((nodes.ids[key], source) for key, source in before - after)
    if unknown:
        anchors = sorted({source for _, source in unknown})
        conn.execute(
            tables.engine.attach_first_evidence,
            _pair_columns(unknown)
            | labels
            | {"anchors": numbers(anchors), "scope_keys": texts(scope_keys[a] for a in anchors)},
        )
    if known:
        names = texts(scope_keys[source] for _, source in known)
        conn.execute(tables.engine.attach_evidence, {**_pair_columns(known), **labels, "scope_keys": names})
    if lost:
        conn.execute(tables.engine.detach_evidence, {**_pair_columns(lost), **labels})
        sources = numbers(sorted({source for _, source in lost}))
        conn.execute(tables.engine.drop_anchors, {"sources": sources, "fact_label": tables.label_ids.fact})


def _pair_columns(pairs: Sequence[tuple[int, int]]) -> dict[str, str]:
    nodes, sources = zip(*pairs, strict=True)
    return {"nodes": numbers(nodes), "sources": numbers(sources)}


def _delete_empty(conn: Connection, tables: GraphTables, candidates: list[int]) -> int:
    if not candidates:
        return 0
    empty = [number for (number,) in conn.execute(tables.engine.empty_nodes, {"ids": numbers(candidates)})]
    if empty:
        conn.execute(tables.engine.delete_nodes, {"ids": numbers(empty), "label": tables.label_ids.node})
    return len(empty)
