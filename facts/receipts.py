"""Acknowledgement: lock what is still pending in the version that was read, judge the rest, take it off the queue.

Functions over a connection that never commit: the graph runs them in the transaction of its own writes. Locks are
taken in the order facts (by scope key), then leases (by fact id), each once, at its final strength.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from facts.errors import Conflict
from facts.parameters import numbers, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from facts.tables import FactTables


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """The version of a fact that its holder has read."""

    scope_key: str
    etag: int


@dataclass(frozen=True, kw_only=True, slots=True)
class LockedFact:
    """A fact that this transaction has locked, in the version of its receipt, still pending."""

    fact_id: int
    scope_key: str
    etag: int
    deleted: bool
    owner_session_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CitedFact:
    """A live fact that a hand citation has locked and pinned."""

    fact_id: int
    scope_key: str
    etag: int
    owner_session_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimedFact:
    """A fact under the claimer's lease; `attempts` counts this one. A tombstone's value may be gone."""

    fact_id: int
    scope_key: str
    key: str
    value: Any
    etag: int
    deleted: bool
    session_id: str | None
    agent_id: str | None
    shared: bool
    tags: tuple[str, ...]
    attempts: int

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> ClaimedFact:
        """A row of the claims in `sql/claims.sql`."""
        return cls(
            fact_id=row[0], scope_key=row[1], key=row[2], value=row[3], etag=row[4], deleted=row[5], session_id=row[6],
            agent_id=row[7], shared=row[8], tags=tuple(row[9] or ()), attempts=row[10],
        )  # fmt: skip


class RefusedOutcome(StrEnum):
    STALE = "stale"
    GONE = "gone"


class StaleReason(StrEnum):
    CHANGED = "changed"
    ACKNOWLEDGED = "acknowledged"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """Why a receipt was not accepted; `reason` is set when it is stale."""

    outcome: RefusedOutcome
    reason: StaleReason | None = None


GONE = Refusal(outcome=RefusedOutcome.GONE)
CHANGED = Refusal(outcome=RefusedOutcome.STALE, reason=StaleReason.CHANGED)
ACKNOWLEDGED = Refusal(outcome=RefusedOutcome.STALE, reason=StaleReason.ACKNOWLEDGED)


def lock_pending(conn: Connection, tables: FactTables, receipts: Sequence[Receipt]) -> list[LockedFact]:
    """Lock the facts whose version is that of the receipt and still pending, in key order; the others are left out."""
    if not receipts:
        return []
    rows = conn.execute(
        tables.receipts.lock_pending,
        {
            "scope_keys": texts(receipt.scope_key for receipt in receipts),
            "etags": numbers(receipt.etag for receipt in receipts),
        },
    ).fetchall()
    return [
        LockedFact(fact_id=row[0], scope_key=row[1], etag=row[2], deleted=row[3], owner_session_id=row[4])
        for row in rows
    ]


def judge_refused(conn: Connection, tables: FactTables, receipts: Sequence[Receipt]) -> dict[str, Refusal]:
    """Why each of these receipts (those that lock_pending left out) was refused, by scope key."""
    if not receipts:
        return {}
    rows = conn.execute(
        tables.receipts.current_versions, {"scope_keys": texts(receipt.scope_key for receipt in receipts)}
    ).fetchall()
    current = {scope_key: (etag, crawled) for scope_key, etag, crawled in rows}
    return {receipt.scope_key: _judge(receipt, current.get(receipt.scope_key)) for receipt in receipts}


def _judge(receipt: Receipt, current: tuple[int, bool] | None) -> Refusal:
    if current is None:
        return GONE
    etag, crawled = current
    # The same version and pending again: somebody requeued it between the lock and this look.
    return ACKNOWLEDGED if etag == receipt.etag and crawled else CHANGED


def acknowledge(conn: Connection, tables: FactTables, facts: Sequence[LockedFact]) -> None:
    """Take locked facts off the queue, pin the live ones, unpin and blank the tombstones, forget their leases."""
    if not facts:
        return
    conn.execute(tables.receipts.acknowledge, {"fact_ids": numbers(fact.fact_id for fact in facts)})
    tombstones = [fact.fact_id for fact in facts if fact.deleted]
    if tombstones:
        conn.execute(tables.receipts.blank_tombstones, {"fact_ids": numbers(tombstones)})


def pin_cited(conn: Connection, tables: FactTables, scope_keys: Sequence[str]) -> list[CitedFact]:
    """Lock and pin the facts that a hand citation names. A key without a row is left out, a tombstone is refused."""
    if not scope_keys:
        return []
    rows = conn.execute(tables.receipts.lock_cited, {"scope_keys": texts(sorted(set(scope_keys)))}).fetchall()
    deleted = [row[1] for row in rows if row[3]]
    if deleted:
        raise Conflict(
            f"{', '.join(deleted)} is deleted; cite a fact that is alive, or store it again first", argument="evidence"
        )
    unpinned = [row[0] for row in rows if not row[4]]
    if unpinned:
        conn.execute(tables.receipts.pin, {"fact_ids": numbers(unpinned)})
    return [CitedFact(fact_id=row[0], scope_key=row[1], etag=row[2], owner_session_id=row[5]) for row in rows]


def pin_locked(conn: Connection, tables: FactTables, facts: Sequence[LockedFact]) -> None:
    """Pin live facts ahead of their acknowledgement: for a graph on another server, whose rows commit first."""
    alive = [fact.fact_id for fact in facts if not fact.deleted]
    if alive:
        conn.execute(tables.receipts.pin, {"fact_ids": numbers(alive)})


def unpin_reconciled(conn: Connection, tables: FactTables, facts: Sequence[CitedFact | LockedFact]) -> None:
    """Unpin locked tombstones that nothing in the graph refers to any more (`graph_remove_evidence`)."""
    if facts:
        conn.execute(tables.receipts.unpin_tombstones, {"fact_ids": numbers(fact.fact_id for fact in facts)})


def lock_cited(conn: Connection, tables: FactTables, scope_keys: Sequence[str]) -> list[LockedFact]:
    """Lock the rows of these keys, dead or alive, pending or not, in key order: before evidence is taken away."""
    if not scope_keys:
        return []
    rows = conn.execute(tables.receipts.lock_cited, {"scope_keys": texts(sorted(set(scope_keys)))}).fetchall()
    return [
        LockedFact(fact_id=row[0], scope_key=row[1], etag=row[2], deleted=row[3], owner_session_id=row[5])
        for row in rows
    ]


def requeue(conn: Connection, tables: FactTables, scope_keys: Sequence[str]) -> int:
    """Put facts back on the queue, attempts and parking cleared; returns how many were not plainly pending before."""
    if not scope_keys:
        return 0
    row = conn.execute(tables.receipts.requeue, {"scope_keys": texts(sorted(set(scope_keys)))}).fetchone()
    return int(row[0]) if row is not None else 0
