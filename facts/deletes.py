"""Deleting: lock what may go in key order, then bury it. A tombstone is hidden at once and on the queue again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from facts.access import Role
from facts.errors import InvalidArgument, NotPermitted
from facts.inputs import DeleteFactInput, DeleteScope
from facts.limits import KEY_BYTES, PATTERN_BYTES, checked_session_id, checked_text
from facts.parameters import numbers
from facts.patterns import Pattern, escape_like, parse_pattern
from facts.records import DeleteResult
from facts.scope_keys import scope_key

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.access import Writer
    from facts.reserved import ReservedRules
    from facts.tables import FactTables

LISTED_KEYS = 500


def delete_facts(
    conn: Connection, tables: FactTables, request: DeleteFactInput, writer: Writer, *, rules: ReservedRules
) -> DeleteResult:
    """Delete one fact or all that match, as far as the writer's rights reach."""
    scope = request.resolved_scope()
    _check_caller(scope, writer)
    if request.pattern or scope is DeleteScope.ALL:
        return _delete_matching(conn, tables, request, writer, scope=scope, rules=rules)
    key = checked_text(request.key, KEY_BYTES, argument="key", noun="a key")
    prefix = rules.refusing(writer, key)
    if prefix is not None:
        raise NotPermitted(f"{key!r} is below the reserved prefix {prefix!r}", argument="key")
    owner = None if scope is DeleteScope.SHARED else writer.session_id
    row = conn.execute(tables.deletes.lock_exact, {"scope_key": scope_key(key, owner)}).fetchone()
    if row is None or not _may_delete(row, writer, rules):
        return DeleteResult(deleted=0, scope_keys=(), dry_run=request.dry_run)
    if not request.dry_run:
        bury(conn, tables, [row[0]])
    return DeleteResult(deleted=1, scope_keys=(row[1],), dry_run=request.dry_run)


def delete_session_facts(conn: Connection, tables: FactTables, session_ids: Collection[str]) -> int:
    """Bury the private facts of these sessions, so that the graph lets go of them; shared ones stay."""
    rows = conn.execute(tables.deletes.lock_session_facts, {"session_ids": sorted(session_ids)}).fetchall()
    bury(conn, tables, [row[0] for row in rows])
    return len(rows)


def bury(conn: Connection, tables: FactTables, fact_ids: Sequence[int]) -> None:
    """Make locked live facts tombstones."""
    if fact_ids:
        conn.execute(tables.deletes.tombstone, {"fact_ids": numbers(fact_ids)})


def _check_caller(scope: DeleteScope, writer: Writer) -> None:
    if writer.role is Role.AGENT_TUNER:
        raise NotPermitted("an agent-tuner can change nothing")
    if scope is DeleteScope.ALL and not (writer.unrestricted or writer.role is Role.FACTS_MANAGER):
        raise NotPermitted("scope all is the facts manager's", argument="scope")
    if scope is DeleteScope.SESSION:
        if writer.session_id is None:
            raise InvalidArgument("scope session needs a session; say which, or delete shared facts", argument="scope")
        checked_session_id(writer.session_id)


def _may_delete(row: tuple[Any, ...], writer: Writer, rules: ReservedRules) -> bool:
    """Whether the writer may delete this row. A row out of its sight is absent, others are refused."""
    _, _, key, shared, owner = row
    if not shared or _any_owner(writer) or owner in writer.tree:
        return True
    if any(key.startswith(prefix) for prefix in writer.granted_prefixes):
        return True
    if rules.owners_only(key):
        return False
    raise NotPermitted(f"{key!r} belongs to another session; its owner or the facts manager deletes it", argument="key")


def _any_owner(writer: Writer) -> bool:
    return writer.role is None or writer.role is Role.FACTS_MANAGER


def _delete_matching(
    conn: Connection,
    tables: FactTables,
    request: DeleteFactInput,
    writer: Writer,
    *,
    scope: DeleteScope,
    rules: ReservedRules,
) -> DeleteResult:
    text = checked_text(request.key, PATTERN_BYTES, argument="key", noun="a pattern")
    # Scope `all` without a pattern is the exact key in every scope.
    pattern = parse_pattern(text) if request.pattern else Pattern((text,))
    if scope is not DeleteScope.SESSION and (prefix := rules.refusing_pattern(writer, pattern)) is not None:
        raise NotPermitted(
            f"{text!r} could match facts below the reserved prefix {prefix!r}; narrow the pattern", argument="key"
        )
    query = tables.deletes.matching if request.dry_run else tables.deletes.lock_matching
    rows = conn.execute(
        query,
        {
            "like": pattern.like() if request.pattern else escape_like(text),
            "scope": scope.value,
            "session_id": writer.session_id,
            "closed": list(rules.closed_to(writer)),
            "any_owner": _any_owner(writer),
            "tree": sorted(writer.tree),
            "granted": list(writer.granted_prefixes),
        },
        prepare=False,
    ).fetchall()
    if not request.dry_run:
        bury(conn, tables, [row[0] for row in rows])
    return DeleteResult(
        deleted=len(rows), scope_keys=tuple(row[1] for row in rows[:LISTED_KEYS]), dry_run=request.dry_run
    )
