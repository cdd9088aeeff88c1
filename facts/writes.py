"""Storing a checked batch: one statement, and a second one that reads the rows which it left as they were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from facts.access import Role
from facts.errors import Conflict, NotPermitted
from facts.parameters import texts
from facts.records import StoredFact

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.access import Writer
    from facts.inputs import CheckedFact
    from facts.reserved import ReservedRules
    from facts.sessions import LineageResolver
    from facts.tables import FactTables


def store_batch(
    conn: Connection,
    tables: FactTables,
    batch: Sequence[CheckedFact],
    writer: Writer,
    *,
    rules: ReservedRules,
    lineage: LineageResolver,
) -> list[StoredFact]:
    """Upsert the batch in one transaction and say what is stored, in the order given."""
    if writer.session_id is not None and not all(fact.shared for fact in batch):
        hold_session_open(conn, tables, writer.session_id, lineage)
    written = conn.execute(
        tables.writes.store,
        {
            "batch": "[" + ",".join(fact.as_json() for fact in batch) + "]",
            "agent_id": writer.agent_id,
            "session_id": writer.session_id,
        },
    ).fetchall()
    rows = {row[1]: (row, True) for row in written}
    rest = [fact.scope_key for fact in batch if fact.scope_key not in rows]
    if rest:
        untouched = conn.execute(tables.writes.untouched, {"scope_keys": texts(rest)}).fetchall()
        rows.update({row[1]: (row, False) for row in untouched})
    _refuse_foreign(batch, rows, writer, rules)
    return [_stored(fact, rows[fact.scope_key][0], changed=rows[fact.scope_key][1]) for fact in batch]


def hold_session_open(conn: Connection, tables: FactTables, session_id: str, lineage: LineageResolver) -> None:
    """Refuse a session that is deleted, here or in the application's catalogue.

    The lock keeps it from being deleted until the transaction ends.
    """
    conn.execute(tables.writes.lock_session, {"session_id": session_id})
    row = conn.execute(tables.writes.session_deleted, {"session_id": session_id}).fetchone()
    if row == (True,) or lineage.gone(conn, [session_id]):
        raise Conflict(
            f"session {session_id} is deleted; store from a live session, or as a shared fact", argument="session_id"
        )


def _refuse_foreign(
    batch: Sequence[CheckedFact], rows: dict[str, tuple[tuple[Any, ...], bool]], writer: Writer, rules: ReservedRules
) -> None:
    """Judged on the locked rows; raising undoes the batch."""
    if writer.role is None or writer.role is Role.FACTS_MANAGER:
        return
    for fact in batch:
        if fact.shared and rules.owners_only(fact.key) and rows[fact.scope_key][0][5] not in writer.tree:
            raise NotPermitted(f"{fact.key!r} belongs to another session; use a key of your own", argument="key")


def _stored(fact: CheckedFact, row: tuple[Any, ...], *, changed: bool) -> StoredFact:
    return StoredFact(
        fact_id=row[0],
        scope_key=row[1],
        key=row[2],
        shared=row[3],
        etag=row[4],
        cleaned=fact.value.cleaned,
        changed=changed,
    )
