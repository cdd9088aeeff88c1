"""The graph made again: nodes, edges, surfaces and every AGE row from ledger, hand assertions and merges; no model is asked.

One transaction, alone with the graph. It goes the way of every other write, so the result is what harvesting the same
extractions would have given. Works where AGE lost the graph, too. What hand assertions say is stored in their own rows
alone; these are kept, and stand at their nodes again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from facts.errors import Busy
from facts.receipts import requeue
from graph.columns import numbers, texts
from graph.engine import InterruptedWriteError, current_epoch, redirects_of, replace_contributions
from graph.merging import closure
from graph.origins import citations_of, mention_of, observation_of
from graph.projection import ensure_graph, project_all, repair_oid
from graph.recorded import recorded
from graph.rows import EDGE_BASE, NODE_SLOTS, NOWHERE, Mention, Observation, OriginChange, Rows

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.connections import Database
    from facts.tables import FactTables
    from graph.tables import GraphTables

BATCH = 1_000
RESTARTS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a graph is, whether or not AGE still has it."""

    db: Database
    facts: FactTables
    graph: str
    registry: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rebuilt:
    """What the graph was made from and holds; facts whose ledger row gives nothing went back on the queue instead."""

    facts: int
    assertions: int
    merges: int
    nodes: int
    edges: int
    requeued: int
    unreadable: tuple[str, ...] = ()


class _FactsFirst(Exception):
    """These facts must be locked and requeued before any graph lock: the transaction starts again with them."""

    def __init__(self, scope_keys: Iterable[str]) -> None:
        self.scope_keys = set(scope_keys)


def rebuild(place: Place, *, by_requeue: bool = False, on_batch: Callable[[int, int], None] | None = None) -> Rebuilt:
    """Make the graph again.

    :param by_requeue: empty the ledger and put its facts back on the queue instead: they are extracted anew.
    :param on_batch: told how many origins of how many are done.
    """
    again: set[str] = set()

    def attempt(conn: Connection) -> Rebuilt:
        return _Rebuild(conn, place, again, on_batch).run(by_requeue=by_requeue)

    for _ in range(RESTARTS):
        try:
            return place.db.run(attempt)
        except _FactsFirst as found:
            again.update(found.scope_keys)
        except InterruptedWriteError:
            continue
    raise Busy("other writers kept changing the ledger; try again")


@dataclass(frozen=True, slots=True)
class _Rebuild:
    """One attempt, in one transaction."""

    conn: Connection
    place: Place
    again: set[str]
    on_batch: Callable[[int, int], None] | None

    def run(self, *, by_requeue: bool) -> Rebuilt:
        requeued = requeue(self.conn, self.place.facts, sorted(self.again))
        tables = ensure_graph(self.conn, self.place.graph, self.place.registry)
        repair_oid(self.conn, self.place.graph, self.place.registry)
        self.conn.execute(tables.rebuild.lock_everything)
        self._strike(tables, by_requeue=by_requeue)
        self._clear(tables)
        self._write(tables)
        self.conn.execute(tables.rebuild.restore_edge_times)
        self.conn.execute(tables.rebuild.restore_node_times)
        project_all(self.conn, tables)
        facts, assertions, merges, nodes, edges = self.conn.execute(tables.rebuild.totals).fetchall()[0]
        return Rebuilt(
            facts=facts, assertions=assertions, merges=merges, nodes=nodes, edges=edges, requeued=requeued,
            unreadable=() if by_requeue else tuple(sorted(self.again)),
        )  # fmt: skip

    def _strike(self, tables: GraphTables, *, by_requeue: bool) -> None:
        """What was requeued leaves the ledger; by requeue, that must be all of it."""
        if self.again:
            self.conn.execute(tables.rebuild.strike_keys, {"scope_keys": texts(sorted(self.again))})
        if by_requeue:
            left = [key for (key,) in self.conn.execute(tables.rebuild.ledger_keys)]
            if left:
                raise _FactsFirst(left)

    def _clear(self, tables: GraphTables) -> None:
        self.conn.execute(tables.rebuild.ensure_epoch)
        self.conn.execute(tables.rebuild.drop_unfounded_mentions)
        self.conn.execute(tables.rebuild.drop_unfounded_observations)
        self.conn.execute(tables.rebuild.drop_unused_sources)
        self.conn.execute(tables.rebuild.clear_shown)
        self.conn.execute(tables.projection.clear_projection)
        before = [key for (key, _) in self.conn.execute(tables.merging.all_redirects).fetchall()]
        self.conn.execute(tables.merging.clear_redirects, {"keys": texts(before)})
        after = closure(self.conn.execute(tables.merging.standing_merges).fetchall())
        self.conn.execute(
            tables.merging.write_redirects, {"named_keys": texts(after), "target_keys": texts(after.values())}
        )

    def _write(self, tables: GraphTables) -> None:
        epoch = current_epoch(self.conn, tables)
        origins = [origin for (origin,) in self.conn.execute(tables.rebuild.origins)]
        for start in range(0, len(origins), BATCH):
            batch = origins[start : start + BATCH]
            self._write_batch(tables, batch, epoch)
            if self.on_batch is not None:
                self.on_batch(start + len(batch), len(origins))

    def _write_batch(self, tables: GraphTables, origins: Sequence[int], epoch: int) -> None:
        said = self._said(tables, origins)
        for drop in (tables.rebuild.drop_mentions, tables.rebuild.drop_observations):
            self.conn.execute(drop, {"origins": numbers(origins)})
        redirects = redirects_of(self.conn, tables, {key for rows in said.values() for key in rows.named_keys})
        cited = sorted({key for rows in said.values() for key in rows.keys})
        scope_keys: dict[int, str] = dict(
            self.conn.execute(tables.merging.scope_keys_of, {"ids": numbers(cited)}).fetchall()
        )
        facts = [origin for origin in said if origin > 0]
        by_hand = {key for (key,) in self.conn.execute(tables.rebuild.cited_by_hand, {"ids": numbers(facts)})}
        replace_contributions(
            self.conn,
            tables,
            [OriginChange(origin, Rows(), rows.resolved(redirects)) for origin, rows in said.items()],
            scope_keys=scope_keys,
            epoch=epoch,
            first=frozenset(facts) - by_hand,
        )

    def _said(self, tables: GraphTables, origins: Sequence[int]) -> dict[int, Rows]:
        """What each origin says: a fact by its ledger row, an assertion by its own rows; in the order given."""
        kept = self._kept(tables, origins)
        ledger = recorded(self.conn, tables, [origin for origin in origins if origin > 0])
        faulty = [each.scope_key for each in ledger.values() if each.fault is not None]
        if faulty:
            raise _FactsFirst(faulty)
        return {
            origin: _placed_as_before(ledger[origin].rows, kept[origin])
            if origin > 0
            else _with_all_named(kept[origin])
            for origin in origins
        }

    def _kept(self, tables: GraphTables, origins: Sequence[int]) -> dict[int, Rows]:
        wanted = {"origins": numbers(origins)}
        mentions: defaultdict[int, list[Mention]] = defaultdict(list)
        for row in self.conn.execute(tables.rebuild.kept_mentions, wanted):
            mentions[row[0]].append(mention_of(row))
        observations: defaultdict[int, list[Observation]] = defaultdict(list)
        for row in self.conn.execute(tables.rebuild.kept_observations, wanted):
            observations[row[0]].append(observation_of(row))
        cited = citations_of(self.conn, tables, [-origin for origin in origins if origin < 0])
        return {
            origin: Rows(
                tuple(mentions[origin]),
                tuple(observations[origin]),
                (origin,) if origin > 0 else tuple(cited[-origin]),
            )
            for origin in origins
        }


def _placed_as_before(rows: Rows, kept: Rows) -> Rows:
    """The same rows, each at its old place in the order of attachment where it had one."""
    mentions = {row.pos: row.attached for row in kept.mentions}
    observations = {row.pos: row.attached for row in kept.observations}
    return Rows(
        tuple(row._replace(attached=mentions.get(row.pos)) for row in rows.mentions),
        tuple(row._replace(attached=observations.get(row.pos)) for row in rows.observations),
        rows.keys,
    )


def _with_all_named(rows: Rows) -> Rows:
    """A hand assertion whose rows were damaged still names every key that they speak of, as its edge's ends do."""
    named = {row.named_key for row in rows.mentions if row.named}
    held = [
        Mention(
            origin=row.origin, pos=pos, order=row.order, named_key=key, form=key.partition(":")[2],
            spelling=key.partition(":")[2], named=True, weak=True, kind=key.partition(":")[0], namespace=NOWHERE,
            writer=row.writer, node_key=key, attached=row.attached,
        )
        for row in rows.observations
        for pos, key in ((EDGE_BASE, row.from_key), (EDGE_BASE + 1, row.to_key))
        if key not in named
    ]  # fmt: skip
    held += [
        row._replace(pos=NODE_SLOTS - 1, form=key.partition(":")[2], spelling=key.partition(":")[2], named=True)
        for key, row in {row.named_key: row for row in rows.mentions}.items()
        if key not in named
    ]
    by_place = {row.pos: row for row in (*rows.mentions, *held)}
    return rows._replace(mentions=tuple(by_place.values()))
