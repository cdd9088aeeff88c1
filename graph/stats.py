"""The graph and its queue in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from facts.coverage import EVERYTHING, Coverage
from facts.uncrawled import queue_statistics
from graph.queries import space_hint, space_wanted
from graph.views import DEFAULT_NAMESPACE
from graph.visible_reads import visible_totals

if TYPE_CHECKING:
    from psycopg.sql import Composed

    from graph.reading import Reading

STATS_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueFigures:
    """The crawl queue; `no_rule`: pending facts that no rule of the harvester covers."""

    pending: int
    leased: int
    parked: int
    tombstones: int
    no_rule: int
    oldest_pending_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Totals:
    """Nodes, edges, and pairs of a node and a fact behind it (EVIDENCED_BY), with nodes and edges by what they are."""

    nodes: int
    edges: int
    evidence: int
    by_namespace: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_predicate: Mapping[str, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphStats:
    """All of the graph, or one namespace and what lies below it; facts belong to a namespace by their key."""

    totals: Totals
    queue: QueueFigures
    last_crawled_at: datetime | None


def graph_stats(reading: Reading, *, namespace: str | None = None, coverage: Coverage = EVERYTHING) -> GraphStats:
    """Count what the caller sees."""
    space = space_wanted(namespace)
    reading.bound_time(STATS_SECONDS)
    counts = _totals(reading, space) if reading.sees_everything else Totals(**visible_totals(reading, space))
    queue = queue_statistics(reading.conn, reading.facts, coverage=coverage, namespace=namespace)
    return GraphStats(
        totals=counts,
        queue=QueueFigures(
            pending=queue.pending,
            leased=queue.leased,
            parked=queue.parked,
            tombstones=queue.tombstones,
            no_rule=queue.no_rule,
            oldest_pending_at=queue.oldest_pending_at,
        ),
        last_crawled_at=queue.last_crawled_at,
    )


def _totals(reading: Reading, space: str | None) -> Totals:
    stats, label = reading.tables.stats, reading.tables.label_ids.node
    if space is None:
        row = reading.conn.execute(stats.totals).fetchone()
    else:
        row = reading.conn.execute(stats.totals_in, {**_inside(space), "label": label}, prepare=False).fetchone()
    assert row is not None, "a SELECT without FROM has one row"  # noqa: S101
    by_namespace = _counts(reading, stats.by_namespace, space)
    return Totals(
        nodes=row[0],
        edges=row[1],
        evidence=row[2],
        by_namespace={name or DEFAULT_NAMESPACE: count for name, count in by_namespace.items()},
        by_kind=_counts(reading, stats.by_kind, space),
        by_predicate=_counts(reading, stats.by_predicate, space),
    )


def _inside(space: str | None) -> dict[str, str | None]:
    return {"space": space, "space_hint": space_hint(space)}


def _counts(reading: Reading, statement: Composed, space: str | None) -> dict[str, int]:
    """Counts by name, the largest first."""
    rows = reading.conn.execute(statement, _inside(space), prepare=False).fetchall()
    return dict(sorted(rows, key=lambda row: (-row[1], row[0])))
