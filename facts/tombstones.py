"""What becomes of deleted facts: statistics, purge, forced purge. A tombstone that the graph may refer to stays."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from facts.errors import InvalidArgument
from facts.limits import PURGE_ROWS, checked_count, checked_prefix, checked_seconds
from facts.parameters import numbers
from facts.patterns import below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from facts.tables import FactTables

DEFAULT_LIMIT = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class TombstoneStatistics:
    """pending_total = all tombstones = unreconciled + reconciled_unswept; ttl_blocked and pinned are parts of these."""

    pending_total: int
    unreconciled: int
    ttl_blocked: int
    reconciled_unswept: int
    pinned: int
    oldest_age_s: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ForcedPurge:
    """Settings of a forced purge; without a cutoff everything deleted up to now goes."""

    cutoff: datetime | None = None
    confirm: bool = False
    only_unreconciled: bool = False
    key_prefix: str | None = None
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgeResult:
    """`referenced` tombstones were left, because the graph has not let go of them yet."""

    purged: int
    referenced: int = 0


def tombstone_statistics(conn: Connection, tables: FactTables, *, ttl_s: float) -> TombstoneStatistics:
    ttl = checked_seconds(ttl_s, argument="ttl_seconds")
    [row] = conn.execute(tables.tombstones.statistics, {"ttl": ttl}).fetchall()
    total, unreconciled, blocked, pinned, age = row
    return TombstoneStatistics(
        pending_total=total,
        unreconciled=unreconciled,
        ttl_blocked=blocked,
        reconciled_unswept=total - unreconciled,
        pinned=pinned,
        oldest_age_s=age,
    )


def purge_tombstones(conn: Connection, tables: FactTables, *, ttl_s: float, limit: int = DEFAULT_LIMIT) -> PurgeResult:
    """Remove what nobody needs any more: locked in one statement, deleted in the next."""
    parameters = {
        "ttl": checked_seconds(ttl_s, argument="ttl_seconds"),
        "limit": checked_count(limit, argument="limit", most=PURGE_ROWS),
    }
    fact_ids = [row[0] for row in conn.execute(tables.tombstones.lock_purgeable, parameters).fetchall()]
    _remove(conn, tables, fact_ids)
    conn.execute(tables.tombstones.sweep_leases)
    conn.execute(tables.queue.fold_tally)
    return PurgeResult(purged=len(fact_ids))


def force_purge(conn: Connection, tables: FactTables, request: ForcedPurge) -> PurgeResult:
    """Remove tombstones whatever the TTL says."""
    if request.confirm is not True:
        raise InvalidArgument("a forced purge cannot be undone; say confirm: true", argument="confirm")
    if request.cutoff is not None and request.cutoff.tzinfo is None:
        raise InvalidArgument("the cutoff needs a time zone", argument="cutoff")
    parameters = {
        "cutoff": request.cutoff,
        "only_unreconciled": request.only_unreconciled,
        "like": None if request.key_prefix is None else below(checked_prefix(request.key_prefix)),
        "limit": checked_count(request.limit, argument="limit", most=PURGE_ROWS),
    }
    fact_ids = [row[0] for row in conn.execute(tables.tombstones.lock_forced, parameters).fetchall()]
    _remove(conn, tables, fact_ids)
    left = conn.execute(tables.tombstones.count_referenced, parameters).fetchone()
    return PurgeResult(purged=len(fact_ids), referenced=0 if left is None else left[0])


def _remove(conn: Connection, tables: FactTables, fact_ids: Sequence[int]) -> None:
    if fact_ids:
        conn.execute(tables.tombstones.remove, {"fact_ids": numbers(fact_ids)})
