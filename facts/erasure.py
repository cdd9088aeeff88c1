"""Erasing: what a fact said goes at once from every table of the fact store.

The graph's share (ledger, surface forms, evidence, merge records) is the graph's: it runs in the same transaction, for
the keys in `EraseResult.pinned`, and incorporates their tombstones; then nothing refers to them and purge removes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from facts.limits import PURGE_ROWS, checked_count, checked_prefix
from facts.parameters import numbers, texts
from facts.patterns import below

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.tables import FactTables


@dataclass(frozen=True, kw_only=True, slots=True)
class EraseResult:
    """`removed` rows are gone altogether; `pinned` keys are blank tombstones that the graph must let go of first."""

    erased: int
    removed: int
    pinned: tuple[str, ...]


def erase_facts(conn: Connection, tables: FactTables, scope_keys: Sequence[str]) -> EraseResult:
    """Erase these facts, dead or alive."""
    rows = conn.execute(tables.erasure.lock_erased, {"scope_keys": texts(sorted(set(scope_keys)))}).fetchall()
    return _erase(conn, tables, rows)


def erase_tombstones(
    conn: Connection, tables: FactTables, *, key_prefix: str | None = None, limit: int = PURGE_ROWS
) -> EraseResult:
    """Erase what deleted facts still hold, pending or not (`purge --erase`)."""
    parameters = {
        "like": None if key_prefix is None else below(checked_prefix(key_prefix)),
        "limit": checked_count(limit, argument="limit", most=PURGE_ROWS),
    }
    return _erase(conn, tables, conn.execute(tables.erasure.lock_dead, parameters).fetchall())


def _erase(conn: Connection, tables: FactTables, rows: Sequence[tuple[int, str, bool]]) -> EraseResult:
    if not rows:
        return EraseResult(erased=0, removed=0, pinned=())
    conn.execute(tables.erasure.erase, {"fact_ids": numbers(row[0] for row in rows)})
    unreferenced = [row[0] for row in rows if not row[2]]
    if unreferenced:
        conn.execute(tables.tombstones.remove, {"fact_ids": numbers(unreferenced)})
    return EraseResult(
        erased=len(rows), removed=len(unreferenced), pinned=tuple(scope_key for _, scope_key, pinned in rows if pinned)
    )
