"""Sessions and their spawn trees: who counts as family, and what is swept when a session goes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Protocol

from psycopg import sql

from facts.deletes import delete_session_facts
from facts.errors import Conflict, InvalidArgument, NotFound
from facts.limits import checked_agent_id, checked_count, checked_session_id
from facts.tables import fact_tables

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.connections import Database
    from facts.tables import FactTables


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A registered session."""

    session_id: str
    parent_session_id: str | None
    agent_id: str | None
    created_at: datetime
    deleted_at: datetime | None

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Session:
        return cls(session_id=row[0], parent_session_id=row[1], agent_id=row[2], created_at=row[3], deleted_at=row[4])


class LineageResolver(Protocol):
    """An application's session catalogue. Cycles and unknown sessions must be survived."""

    def tree(self, conn: Connection, session_id: str) -> frozenset[str]:
        """The live members of the session's spawn tree, without itself."""

    def descendants(self, conn: Connection, session_id: str) -> frozenset[str]:
        """Everything below the session, deleted or not, without itself."""

    def gone(self, conn: Connection, session_ids: Collection[str]) -> frozenset[str]:
        """Those that the catalogue says are deleted; one that it does not know is not."""


class SqlLineage:
    """Lineage over a query that yields (session_id, parent_session_id, deleted) for every session of a catalogue."""

    def __init__(self, catalogue: sql.Composable) -> None:
        self._lineage = _over("lineage", catalogue)
        self._gone = _over("gone", catalogue)

    @classmethod
    def of_query(cls, text: str) -> SqlLineage:
        """Over the operator's own query (setting `lineage_query`); it takes no parameters."""
        # The operator's text, never a caller's; `%` would read as a placeholder.
        return cls(sql.SQL(text.strip().removesuffix(";").replace("%", "%%")))

    def tree(self, conn: Connection, session_id: str) -> frozenset[str]:
        return self._members(conn, session_id, only_below=False)

    def descendants(self, conn: Connection, session_id: str) -> frozenset[str]:
        return self._members(conn, session_id, only_below=True)

    def gone(self, conn: Connection, session_ids: Collection[str]) -> frozenset[str]:
        rows = conn.execute(self._gone, {"session_ids": sorted(session_ids)}).fetchall()
        return frozenset(str(row[0]) for row in rows)

    def _members(self, conn: Connection, session_id: str, *, only_below: bool) -> frozenset[str]:
        rows = conn.execute(self._lineage, {"session_id": session_id, "only_below": only_below}).fetchall()
        return frozenset(str(row[0]) for row in rows)


@cache
def own_lineage(schema: str) -> SqlLineage:
    """Lineage over the product's own table of sessions."""
    return SqlLineage(fact_tables(schema).sessions.catalogue)


def _over(stem: str, catalogue: sql.Composable) -> sql.Composed:
    text = resources.files("facts").joinpath("sql", f"{stem}.sqlpart").read_text(encoding="utf-8")
    return sql.SQL(text).format(catalogue=catalogue)


class Sessions:
    """The register of sessions of one fact store."""

    def __init__(self, db: Database, tables: FactTables, lineage: LineageResolver) -> None:
        self._db = db
        self._tables = tables
        self.lineage = lineage

    def __repr__(self) -> str:
        return f"Sessions({self._tables.schema})"

    def register(
        self, session_id: str, *, parent_session_id: str | None = None, agent_id: str | None = None
    ) -> Session:
        """Make a session known, or move a known one; a deleted one is refused."""
        parameters = {
            **_family(session_id, parent_session_id),
            "agent_id": None if agent_id is None else checked_agent_id(agent_id),
        }
        row = self._db.run(lambda conn: conn.execute(self._tables.sessions.register, parameters).fetchone())
        if row is None:
            raise Conflict(f"session {session_id} is deleted; use a new id", argument="session_id")
        return Session.from_row(row)

    def reparent(self, session_id: str, parent_session_id: str | None) -> Session:
        """Put a session under another parent (None: it becomes a root)."""
        parameters = _family(session_id, parent_session_id)
        row = self._db.run(lambda conn: conn.execute(self._tables.sessions.reparent, parameters).fetchone())
        if row is None:
            raise NotFound(f"there is no live session {session_id}; register it first", argument="session_id")
        return Session.from_row(row)

    def get(self, session_id: str) -> Session | None:
        with self._db.transaction() as conn:
            row = conn.execute(self._tables.sessions.get, {"session_id": session_id}).fetchone()
        return None if row is None else Session.from_row(row)

    def list(self, *, include_deleted: bool = False, limit: int = 1_000, after: str = "") -> tuple[Session, ...]:
        """Sessions by id, after the one named."""
        parameters = {
            "include_deleted": include_deleted,
            "limit": checked_count(limit, argument="limit"),
            "after": after,
        }
        with self._db.transaction() as conn:
            rows = conn.execute(self._tables.sessions.list, parameters).fetchall()
        return tuple(Session.from_row(row) for row in rows)

    def tree(self, session_id: str) -> frozenset[str]:
        """The session's relatives: what a reader of it is granted besides itself."""
        checked = checked_session_id(session_id)
        return self._db.run(lambda conn: self.lineage.tree(conn, checked))

    def below(self, session_id: str) -> frozenset[str]:
        """Every session that this one spawned, and what those spawned, deleted or not."""
        checked = checked_session_id(session_id)
        return self._db.run(lambda conn: self.lineage.descendants(conn, checked))

    def spawn(self, session_id: str, *, parent_session_id: str | None = None, agent_id: str | None = None) -> Session:
        """Make a new session known, and never move or adopt one that somebody else is in: families read each other's
        private facts. Saying the same again changes nothing.

        :raises Conflict: the id is taken.
        """
        parameters = {
            **_family(session_id, parent_session_id),
            "agent_id": None if agent_id is None else checked_agent_id(agent_id),
        }

        def make(conn: Connection) -> tuple[Any, ...] | None:
            conn.execute(self._tables.sessions.lock_session_for_deletion, {"session_id": session_id})
            conn.execute(self._tables.sessions.spawn, parameters)
            return conn.execute(self._tables.sessions.get, {"session_id": session_id}).fetchone()

        row = self._db.run(make)
        made = None if row is None else Session.from_row(row)
        if made is None or made.deleted_at is not None or made.parent_session_id != parent_session_id:
            raise Conflict(f"session {session_id} is taken; use a new id", argument="session_id")
        return made

    def delete(self, session_id: str) -> int:
        """Delete one session with its private facts; returns how many facts went."""
        checked = checked_session_id(session_id)
        return self._db.run(lambda conn: self._bury(conn, [checked]))

    def sweep_tree(self, session_id: str) -> int:
        """Delete a session and everything below it with their private facts; returns how many facts went."""
        checked = checked_session_id(session_id)
        return self._db.run(lambda conn: self._bury(conn, {checked, *self.lineage.descendants(conn, checked)}))

    def sweep_gone(self) -> int:
        """Bury the private facts of every session that the catalogue says is gone; returns how many facts went."""

        def sweep(conn: Connection) -> int:
            rows = conn.execute(self._tables.sessions.private_sessions).fetchall()
            gone = self.lineage.gone(conn, [str(row[0]) for row in rows])
            # Odd ids of an adopted table have no place in the register, but their facts go all the same.
            return self._bury(conn, gone, registered={session_id for session_id in gone if ":" not in session_id})

        return self._db.run(sweep)

    def _bury(
        self, conn: Connection, session_ids: Collection[str], *, registered: Collection[str] | None = None
    ) -> int:
        """All facts in one statement, so that they are locked in one order; `registered`: ids that the register takes."""
        ordered = sorted(set(session_ids if registered is None else registered))
        for session_id in ordered:
            conn.execute(self._tables.sessions.lock_session_for_deletion, {"session_id": session_id})
        conn.execute(self._tables.sessions.mark_deleted, {"session_ids": ordered})
        return delete_session_facts(conn, self._tables, session_ids)


def _family(session_id: str, parent_session_id: str | None) -> dict[str, str | None]:
    parent = None if parent_session_id is None else checked_session_id(parent_session_id, argument="parent_session_id")
    checked = checked_session_id(session_id)
    if parent == checked:
        raise InvalidArgument("a session cannot be its own parent", argument="parent_session_id")
    return {"session_id": checked, "parent_session_id": parent}
