"""The harvesters' side of the crawl queue: claim by lease, heartbeat, back-off, parking; on the database's clock."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import Rollback

from facts.coverage import EVERYTHING, Coverage
from facts.limits import checked_count, checked_text
from facts.parameters import numbers
from facts.receipts import ClaimedFact

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.tables import FactTables

CLAIM_LIMIT = 10_000
OWNER_BYTES = 256
ERROR_CHARACTERS = 2_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """How long a failed fact waits, and when it is given up: 5 s x 2^n up to 10 min, all of it jitter; 5 attempts."""

    first_s: float = 5.0
    most_s: float = 600.0
    max_attempts: int = 5

    def delay(self, attempts: int, jitter: Callable[[], float] = random.random) -> float:
        """Seconds until the next attempt, after `attempts` failed ones; full jitter, so that retries spread."""
        ceiling = min(self.first_s * 2.0 ** min(attempts - 1, 32), self.most_s)
        return ceiling * jitter()

    def gives_up(self, attempts: int) -> bool:
        """Whether a fact that failed this often is parked."""
        return attempts >= self.max_attempts


@dataclass(frozen=True, kw_only=True, slots=True)
class FailedClaim:
    """A claimed fact whose work failed. `terminal` parks it at once, whatever the count."""

    fact_id: int
    etag: int
    attempts: int
    error: str
    terminal: bool = False


def claim(
    conn: Connection, tables: FactTables, *, owner: str, limit: int, lease: float, coverage: Coverage = EVERYTHING
) -> list[ClaimedFact]:
    """Lease up to `limit` covered, due facts for `lease` seconds, oldest first; one whose lease ran out comes alone."""
    parameters = {
        "owner": checked_text(owner, OWNER_BYTES, argument="owner", noun="an owner"),
        "limit": checked_count(limit, argument="limit", most=CLAIM_LIMIT),
        "lease": lease,
        **coverage.parameters(),
    }
    [[expired, *_]] = conn.execute(tables.claims.look_ahead).fetchall()
    rows = _claim_expired(conn, tables, parameters) if expired else []
    if not rows:
        rows = conn.execute(tables.claims.claim_due, parameters, prepare=False).fetchall()
    return [ClaimedFact.from_row(row) for row in rows]


def _claim_expired(conn: Connection, tables: FactTables, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
    """At most one fact. A lease that its owner extended meanwhile is locked in vain, and not in the order of the claim
    that comes next; going back to the savepoint lets go of it.
    """
    with conn.transaction() as savepoint:
        rows = conn.execute(tables.claims.claim_expired, parameters, prepare=False).fetchall()
        if not rows:
            raise Rollback(savepoint)
        return rows
    conn.execute(tables.claims.join_in_order)
    return []


def extend_leases(conn: Connection, tables: FactTables, *, owner: str, lease: float) -> int:
    """The heartbeat: all of the owner's leases last `lease` seconds from now; returns how many there are."""
    return conn.execute(tables.claims.extend, {"owner": owner, "lease": lease}).rowcount


def fail(
    conn: Connection,
    tables: FactTables,
    failures: Sequence[FailedClaim],
    *,
    owner: str,
    backoff: Backoff | None = None,
    jitter: Callable[[], float] = random.random,
) -> int:
    """Record failed attempts; returns how many leases were still the caller's: a lost one is another's to judge."""
    policy = backoff or Backoff()
    rows = [
        {
            "fact_id": failure.fact_id,
            "etag": failure.etag,
            "delay": policy.delay(failure.attempts, jitter),
            "parked": failure.terminal or policy.gives_up(failure.attempts),
            "error": _storable(failure.error),
        }
        for failure in failures
    ]
    if not rows:
        return 0
    return conn.execute(tables.claims.fail, {"owner": owner, "failures": json.dumps(rows)}).rowcount


def release(conn: Connection, tables: FactTables, *, owner: str, fact_ids: Sequence[int] | None = None) -> int:
    """Give leases back unworked (all of the owner's unless named): due at once, the attempt uncounted."""
    named = None if fact_ids is None else numbers(fact_ids)
    return conn.execute(tables.claims.release, {"owner": owner, "fact_ids": named}).rowcount


def _storable(text: str) -> str:
    cut = text if len(text) <= ERROR_CHARACTERS else f"{text[: ERROR_CHARACTERS - 1]}…"
    return cut.replace("\x00", "").encode("utf-8", "replace").decode()
