"""Taking away by hand: what goes is struck from the ledger, so that the graph stays the fold of what is left.

The facts behind it are locked first (and put back on the queue, unless asked not to): what they still say comes back
when they are incorporated again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import Connection

from facts.errors import InvalidArgument
from facts.receipts import lock_cited, requeue, unpin_reconciled
from facts.tables import FactTables
from graph.columns import numbers, texts
from graph.contributions import checked_key, checked_namespace
from graph.engine import Effect, InterruptedWriteError, hold_merges, redirects_of
from graph.keys import in_namespace, namespace_of, predicate_key
from graph.model import Removal
from graph.releases import Doomed, Release, carry_out, release_sources, strike
from graph.rows import EDGE_BASE, NOWHERE, Mention, Observation, OriginChange
from graph.tables import GraphTables


@dataclass(frozen=True, slots=True)
class Removing:
    """One removal by hand: its transaction and tables, and whether the facts behind it go back on the queue."""

    conn: Connection
    facts: FactTables
    tables: GraphTables
    requeue: bool = True


def matches_guard(namespaces: Iterable[str], guard: str | None) -> bool:
    """Whether a record lies in the namespace that a caller gave as guard; None guards nothing."""
    if guard is None:
        return True
    wanted = namespace_of(guard)
    if wanted is None:
        return "" in namespaces
    return any(in_namespace(each, wanted) for each in namespaces)


def delete_node(removing: Removing, key: str, guard: str | None = None) -> bool:
    """Take a node away with every edge that touches it; False when there is none (in the namespace given)."""
    checked_key(key, "nodeKey")
    redirects = redirects_of(removing.conn, removing.tables, [key])
    target = redirects.get(key, key)
    row = removing.conn.execute(removing.tables.removal.node_by_key, {"key": target}).fetchone()
    if row is None or not matches_guard(row[1], guard):
        return False
    at_node = _Striking(lambda: _at_nodes(removing, [row[0]]), _touching({target}), [key], redirects)
    return _strike_locked(removing, at_node) is not None


def _touching(keys: set[str]) -> Doomed:
    return Doomed(
        lambda mention: mention.node_key in keys,
        lambda observation: observation.source_key in keys or observation.target_key in keys,
    )


def _at_nodes(removing: Removing, ids: list[int]) -> list[int]:
    return [
        origin for (origin,) in removing.conn.execute(removing.tables.removal.origins_at_nodes, {"ids": numbers(ids)})
    ]


def delete_edge(removing: Removing, from_key: str, to_key: str, predicate: str, guard: str | None = None) -> bool:
    """Take an edge away, whoever stated it; False when there is none (in the namespace given)."""
    checked_key(from_key, "fromKey")
    checked_key(to_key, "toKey")
    redirects = redirects_of(removing.conn, removing.tables, [from_key, to_key])
    edge = (redirects.get(from_key, from_key), redirects.get(to_key, to_key), predicate_key(predicate))
    place = dict(zip(("from_key", "to_key", "predicate_key"), edge, strict=True))
    row = removing.conn.execute(removing.tables.removal.edge_by_place, place).fetchone()
    if row is None or not matches_guard(row[1], guard):
        return False
    doomed = Doomed(lambda _: False, lambda observation: observation.edge == edge)
    find = {"ids": numbers([row[0]])}

    def origins() -> list[int]:
        return [origin for (origin,) in removing.conn.execute(removing.tables.removal.origins_at_edges, find)]

    return _strike_locked(removing, _Striking(origins, doomed, [from_key, to_key], redirects)) is not None


def delete_contributions(removing: Removing, namespace: str) -> Removal:
    """Take away every contribution in exactly this namespace; a node that nothing else mentions goes with all its edges."""
    wanted = checked_namespace(namespace)
    if not wanted:
        raise InvalidArgument("the default namespace cannot be deleted", argument="namespace")
    placed = {"namespace": wanted}
    inside = Doomed(lambda mention: mention.namespace == wanted, lambda observation: observation.namespace == wanted)
    lost: set[str] = set()

    def origins() -> list[int]:
        found = [origin for (origin,) in removing.conn.execute(removing.tables.removal.origins_in_namespace, placed)]
        lost.clear()
        lost.update(_unplaced(removing, found, inside))
        ids = [number for (number,) in removing.conn.execute(removing.tables.removal.node_ids, {"keys": texts(lost)})]
        return sorted({*found, *_at_nodes(removing, ids)})

    touching = _touching(lost)
    doomed = Doomed(
        lambda mention: inside.mention(mention) or touching.mention(mention),
        lambda observation: inside.observation(observation) or touching.observation(observation),
    )
    effect = _strike_locked(removing, _Striking(origins, doomed))
    if effect is None:
        return Removal()
    return Removal(
        nodes_deleted=effect.nodes_deleted,
        edges_deleted=effect.edges_deleted,
        contributions=effect.mentions_dropped + effect.observations_dropped,
    )


def _unplaced(removing: Removing, origins: list[int], inside: Doomed) -> set[str]:
    """Nodes that would lose their last mention (ends of hand edges do not hold them here)."""
    release = strike(removing.conn, removing.tables, origins, inside)
    losing = {row.node_key for change in release.changes for row in change.before.mentions if _places(row)}
    losing -= {row.node_key for change in release.changes for row in _held(change)}
    held = removing.conn.execute(
        removing.tables.removal.nodes_placed_by_others,
        {"keys": texts(losing), "origins": numbers(change.origin for change in release.changes)},
    )
    return losing - {key for (key,) in held}


def _places(row: Mention) -> bool:
    return row.named and row.namespace != NOWHERE


def _held(change: OriginChange) -> list[Mention]:
    """Mentions that stay. An end that was listed before has only lost its listing."""
    ends = {row.named_key for row in change.before.mentions if row.pos >= EDGE_BASE}
    return [row for row in change.after.mentions if _places(row) and (row.pos < EDGE_BASE or row.named_key in ends)]


@dataclass(frozen=True, slots=True)
class _Striking:
    """What to strike: where to find its origins, which of their rows go, and how the keys named by the caller resolved."""

    find: Callable[[], list[int]]
    doomed: Doomed
    named: Sequence[str] = ()
    redirects: Mapping[str, str] = field(default_factory=dict)


def _strike_locked(removing: Removing, striking: _Striking) -> Effect | None:
    """Lock the facts behind what goes, strike it, and put the live ones back on the queue: leases are locked last.

    None when nothing is there any more.
    """
    keys = _keys_of(removing, striking.find())
    locked = lock_cited(removing.conn, removing.facts, sorted(keys))
    epoch = hold_merges(removing.conn, removing.tables)
    if redirects_of(removing.conn, removing.tables, striking.named) != striking.redirects:
        raise InterruptedWriteError("the keys were merged meanwhile")
    origins = striking.find()
    if not _keys_of(removing, origins) <= keys:
        raise InterruptedWriteError("more facts came to stand behind it meanwhile")
    release = strike(removing.conn, removing.tables, origins, striking.doomed)
    if not release.changes:
        return None
    behind = _keys_of(removing, [change.origin for change in release.changes])
    effect = carry_out(removing.conn, removing.tables, release, epoch)
    if removing.requeue:
        requeue(removing.conn, removing.facts, [f.scope_key for f in locked if not f.deleted and f.scope_key in behind])
    return effect


def _keys_of(removing: Removing, origins: list[int]) -> set[str]:
    found = removing.conn.execute(removing.tables.removal.keys_of_origins, {"origins": numbers(origins)})
    return {key for (key,) in found}


def remove_evidence(removing: Removing, scope_key: str, guard: str | None = None) -> Removal:
    """Take away all that stands on one fact. With a namespace: only what was asserted in it."""
    if not isinstance(scope_key, str) or not scope_key:
        raise InvalidArgument("scopeKey must be a scope key", argument="scopeKey")
    locked = lock_cited(removing.conn, removing.facts, [scope_key])
    row = removing.conn.execute(removing.tables.removal.source_of_key, {"scope_key": scope_key}).fetchone()
    removal, went = (Removal(), False) if row is None else _remove_source(removing, int(row[0]), guard)
    if removing.requeue and went:
        requeue(removing.conn, removing.facts, [fact.scope_key for fact in locked if not fact.deleted])
    if guard is None:
        unpin_reconciled(removing.conn, removing.facts, [fact for fact in locked if fact.deleted])
    return removal


def _remove_source(removing: Removing, source: int, guard: str | None) -> tuple[Removal, bool]:
    """What a removal counts, and whether anything went at all: a self-edge that a merge made is not counted."""
    epoch = hold_merges(removing.conn, removing.tables)
    release = release_sources(removing.conn, removing.tables, [source])
    if guard is not None:
        release = _narrowed(removing, release, source, guard)
    effect = carry_out(removing.conn, removing.tables, release, epoch)
    changes = release.changes
    removal = Removal(
        node_evidence_removed=len(_nodes_on(changes, source, after=False) - _nodes_on(changes, source, after=True)),
        edge_evidence_removed=len(_edges_on(changes, source, after=False) - _edges_on(changes, source, after=True)),
        nodes_deleted=effect.nodes_deleted,
        edges_deleted=effect.edges_deleted,
    )
    went = [change.before for change in changes if change.before != change.after]
    return removal, any(rows.mentions or rows.observations for rows in went)


def _narrowed(removing: Removing, release: Release, source: int, guard: str) -> Release:
    """The same release, less what was asserted outside a namespace; the ledger row stays with what is left of it."""
    inside = Doomed(lambda row: _in_guard(row, guard), lambda row: _in_guard(row, guard))
    own = strike(removing.conn, removing.tables, [source], inside)
    citing = [change for change in release.changes if change.origin < 0 and any(inside.within(change.before))]
    return Release(
        changes=[*own.changes, *citing],
        citations=[(-change.origin, source) for change in citing],
        fallen=[-change.origin for change in citing if not change.after.keys],
        rewritten=own.rewritten,
    )


def _in_guard(row: Mention | Observation, guard: str) -> bool:
    return row.namespace != NOWHERE and matches_guard([row.namespace], guard)


def _nodes_on(changes: Iterable[OriginChange], source: int, *, after: bool) -> set[str]:
    """Nodes that this source is evidence of, by these origins."""
    sides = (change.after if after else change.before for change in changes)
    return {
        row.node_key
        for rows in sides
        if source in rows.keys
        for row in rows.mentions
        if row.named and row.namespace != NOWHERE
    }


def _edges_on(changes: Iterable[OriginChange], source: int, *, after: bool) -> set[tuple[str, str, str]]:
    """Edges that this source is evidence of, by these origins."""
    sides = (change.after if after else change.before for change in changes)
    return {row.edge for rows in sides if source in rows.keys for row in rows.observations if not row.loop}
