"""AGE's library on the server and its catalogue in the database must be of one version: with a newer library over an older
catalogue writes went through while every read failed. So a graph of two versions is not opened at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from facts.errors import Unavailable

if TYPE_CHECKING:
    from psycopg import Connection

    from graph.tables import GraphTables

# The first release whose behaviour the tests pin (`ON CONFLICT` on label tables, `agtype::json`, label ids).
OLDEST = (1, 7)


def version_complaint(row: Sequence[Any] | None) -> str | None:
    """What is wrong with (catalogue's version, library's version) of AGE; None when nothing is."""
    if row is None:
        return "the extension age is not installed in this database"
    catalogue, library = row
    if library is None:
        return f"this server has no files of AGE, the database was made with {catalogue}"
    if catalogue != library:
        return f"AGE's library is {library}, the database's catalogue is of {catalogue}"
    if tuple(int(part) for part in str(catalogue).split(".")[:2] if part.isdigit()) < OLDEST:
        return f"AGE is {catalogue}, at least {'.'.join(map(str, OLDEST))} is needed"
    return None


def require_one_version(conn: Connection, tables: GraphTables) -> None:
    """Refuse a database whose AGE is of two versions, or too old."""
    complaint = version_complaint(conn.execute(tables.checks.versions).fetchone())
    if complaint is not None:
        raise Unavailable(f"{complaint}; `harvester doctor` says more, nothing is written until they agree")
