"""Letting go of facts: all that anyone asserted on the strength of them, worked out before it is withdrawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from psycopg import Connection

from graph.columns import numbers
from graph.origins import rows_of_origins
from graph.rows import OriginChange, Rows
from graph.tables import GraphTables


@dataclass(frozen=True, slots=True)
class Release:
    """What goes when sources are let go: their own contributions, citations of them, assertions left without a key."""

    sources: Sequence[int] = ()
    changes: Sequence[OriginChange] = ()
    fallen: Sequence[int] = ()


def release_sources(conn: Connection, tables: GraphTables, sources: Sequence[int]) -> Release:
    """Work out what the graph loses with these sources. Writes nothing."""
    if not sources:
        return Release()
    citing = [number for (number,) in conn.execute(tables.sources.assertions_citing, {"ids": numbers(sources)})]
    rows = rows_of_origins(conn, tables, [*sources, *(-number for number in citing)])
    gone = set(sources)
    changes = [OriginChange(source, rows[source], Rows()) for source in sources]
    fallen: list[int] = []
    for number in citing:
        before = rows[-number]
        keys = tuple(key for key in before.keys if key not in gone)
        if not keys:
            fallen.append(number)
        changes.append(OriginChange(-number, before, replace(before, keys=keys) if keys else Rows()))
    return Release(tuple(sources), tuple(changes), tuple(fallen))


def withdraw_citations(conn: Connection, tables: GraphTables, release: Release) -> None:
    """Before the contributions are replaced: hand assertions no longer cite what is let go."""
    if release.sources:
        conn.execute(tables.sources.withdraw_citations, {"ids": numbers(release.sources)})


def delete_released(conn: Connection, tables: GraphTables, release: Release) -> None:
    """After the contributions were replaced: assertions that fell and sources that nothing needs."""
    if release.fallen:
        conn.execute(tables.sources.delete_assertions, {"ids": numbers(release.fallen)})
    if release.sources:
        conn.execute(tables.sources.strike_ledger, {"ids": numbers(release.sources)})
        conn.execute(tables.sources.delete_sources, {"ids": numbers(release.sources)})
