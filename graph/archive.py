"""Backup and restore: one file that holds facts, ledger, assertions, merges and queue, and a graph that is made anew from it.

A zip archive: a COPY text for each table, and a manifest with columns, counts and sequences. AGE's rows are not in it;
they are a projection of what is. Nothing but the driver is needed on either side.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from graphlib import TopologicalSorter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from facts.errors import Conflict, InvalidArgument, NotFound
from facts.migrations import fact_migrations
from facts.sqlfiles import Queries, load_queries
from graph.migrations import graph_migrations
from graph.projection import ensure_graph, project_all, repair_oid

if TYPE_CHECKING:
    from psycopg import Connection

    from graph.rebuild import Place

FORMAT = "harvester-backup"
VERSION = 1
MANIFEST = "manifest.json"
CHUNK = 1 << 16
# One row that the migration writes itself.
_MADE_BY_MIGRATION = "merge_epoch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Archived:
    """What an archive holds: rows by table, `facts.facts` and the like; when it was taken."""

    tables: Mapping[str, int]
    taken_at: datetime

    @property
    def facts(self) -> int:
        return self.tables.get("facts.facts", 0)

    @property
    def nodes(self) -> int:
        return self.tables.get("registry.node", 0)

    @property
    def edges(self) -> int:
        return self.tables.get("registry.edge", 0)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table by the role of its schema, so that an archive can be restored under other schema names."""

    role: str
    name: str
    columns: tuple[str, ...]

    @property
    def label(self) -> str:
        return f"{self.role}.{self.name}"


@dataclass(frozen=True, slots=True)
class _Schemas:
    """Both schemas of one place, in one transaction."""

    conn: Connection
    place: Place

    @property
    def queries(self) -> Queries:
        return load_queries("graph", "sql/archive", facts=self.place.facts.schema, registry=self.place.registry)

    def role(self, schema: str) -> str:
        return "facts" if schema == self.place.facts.schema else "registry"

    def schema(self, role: str) -> str:
        return self.place.facts.schema if role == "facts" else self.place.registry

    def tables(self) -> list[_Table]:
        """Every table, those that others refer to before them."""
        rows = self.conn.execute(self.queries.tables).fetchall()
        found = {_Table(self.role(schema), name, tuple(columns)) for schema, name, columns in rows}
        by_label = {table.label: table for table in found}
        order: TopologicalSorter[str] = TopologicalSorter({label: set() for label in sorted(by_label)})
        for schema, name, other_schema, other in self.conn.execute(self.queries.references).fetchall():
            order.add(f"{self.role(schema)}.{name}", f"{self.role(other_schema)}.{other}")
        return [by_label[label] for label in order.static_order()]

    def statement(self, template: sql.Composed, table: _Table) -> sql.Composed:
        """A query of `archive.sql` over one table; its names come from the catalogue."""
        return sql.SQL(template.as_string(None)).format(
            table=sql.Identifier(self.schema(table.role), table.name),
            columns=sql.SQL(", ").join(sql.Identifier(name) for name in table.columns),
        )


def back_up(place: Place, path: Path) -> Archived:
    """Write everything to a new file, as it is at one moment; writers go on meanwhile.

    :raises Conflict: the file is there already.
    """
    if path.exists():
        raise Conflict(f"{path} is there already; name another file, or move that one away", argument="file")
    part = path.with_name(f"{path.name}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive, place.db.transaction() as conn:
            manifest = _write(_Schemas(conn, place), archive)
        part.replace(path)
    except OSError as error:
        raise InvalidArgument(f"cannot write {path}: {error.strerror}", argument="file") from error
    finally:
        part.unlink(missing_ok=True)
    return _archived(manifest)


def _write(schemas: _Schemas, archive: zipfile.ZipFile) -> dict[str, Any]:
    schemas.conn.execute(schemas.queries.snapshot)
    tables = []
    for table in schemas.tables():
        with archive.open(f"{table.label}.copy", "w", force_zip64=True) as member:
            rows = _copy_out(schemas, table, member)
        tables.append({"table": table.label, "columns": table.columns, "rows": rows})
    # Sequences know no snapshot: they stand at or beyond every row that was copied.
    sequences = [
        {"role": schemas.role(schema), "sequence": name, "last": last}
        for schema, name, last in schemas.conn.execute(schemas.queries.sequences).fetchall()
    ]
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "takenAt": datetime.now(UTC).isoformat(),
        "migrations": _migrations(),
        "tables": tables,
        "sequences": sequences,
    }
    archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return manifest


def _copy_out(schemas: _Schemas, table: _Table, member: IO[bytes]) -> int:
    with schemas.conn.cursor() as cursor:
        with cursor.copy(schemas.statement(schemas.queries.copy_out, table)) as copy:
            for chunk in copy:
                member.write(chunk)
        return cursor.rowcount


def _migrations() -> dict[str, str]:
    """Every step of this program with its checksum: what the tables look like."""
    steps = [*fact_migrations().steps(), *graph_migrations().steps()]
    return {step.name: step.checksum for step in steps}


def _archived(manifest: Mapping[str, Any]) -> Archived:
    return Archived(
        tables={each["table"]: each["rows"] for each in manifest["tables"]},
        taken_at=datetime.fromisoformat(manifest["takenAt"]),
    )


def read_manifest(path: Path) -> Archived:
    """What an archive says that it holds."""
    with _opened(path) as archive:
        return _archived(_manifest(archive, path))


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}", argument="file") from None
    except (OSError, zipfile.BadZipFile) as error:
        raise InvalidArgument(f"{path} is no backup of harvester: {error}", argument="file") from error


def _manifest(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
    except (KeyError, ValueError) as error:
        raise InvalidArgument(f"{path} is no backup of harvester, or was cut off", argument="file") from error
    if (manifest.get("format"), manifest.get("version")) != (FORMAT, VERSION):
        raise InvalidArgument(f"{path} is no backup that this version reads", argument="file")
    if manifest["migrations"] != _migrations():
        raise Conflict(
            f"{path} was taken by another version of harvester; restore it with that one, then run `harvester migrate`",
            argument="file",
        )
    return manifest


def restore(place: Place, path: Path, on_table: Callable[[str], None] | None = None) -> Archived:
    """Read an archive into a database that was migrated and holds nothing yet, and make the graph; all or nothing.

    :raises Conflict: the database holds something, or the archive is of another version. InvalidArgument: no backup.
    """
    with _opened(path) as archive:
        manifest = _manifest(archive, path)
        damaged = archive.testzip()
        if damaged is not None:
            raise InvalidArgument(f"{path} is damaged: {damaged}", argument="file")
        try:
            with place.db.transaction() as conn:
                _read(_Schemas(conn, place), archive, manifest, on_table)
        except psycopg.DataError as error:
            raise InvalidArgument(f"{path} is damaged: {error}", argument="file") from error
    return _archived(manifest)


def _read(
    schemas: _Schemas,
    archive: zipfile.ZipFile,
    manifest: Mapping[str, Any],
    on_table: Callable[[str], None] | None,
) -> None:
    tables = list(_matched(schemas.tables(), manifest))
    _require_empty(schemas, [table for table, _ in tables])
    schemas.conn.execute(schemas.queries.silence_triggers)
    for table, rows in tables:
        if on_table is not None:
            on_table(table.label)
        with archive.open(f"{table.label}.copy") as member:
            _copy_in(schemas, table, member, rows)
    schemas.conn.execute(schemas.queries.wake_triggers)
    for each in manifest["sequences"]:
        if each["last"] is not None:
            where = {"schema": schemas.schema(each["role"]), "sequence": each["sequence"], "last": each["last"]}
            schemas.conn.execute(schemas.queries.set_sequence, where)
    graph = ensure_graph(schemas.conn, schemas.place.graph, schemas.place.registry)
    repair_oid(schemas.conn, schemas.place.graph, schemas.place.registry)
    project_all(schemas.conn, graph)


def _matched(here: Sequence[_Table], manifest: Mapping[str, Any]) -> Iterator[tuple[_Table, int]]:
    """The archive's tables with its columns, in an order in which foreign keys hold."""
    archived = {each["table"]: each for each in manifest["tables"]}
    unknown = sorted(archived.keys() - {table.label for table in here})
    if unknown:
        raise Conflict(f"the archive holds a table that this database lacks: {unknown[0]}", argument="file")
    for table in here:
        if table.label in archived:
            columns = tuple(archived[table.label]["columns"])
            lacking = sorted(set(columns) - set(table.columns))
            if lacking:
                raise Conflict(f"{table.label} lacks the column {lacking[0]}; add it first", argument="file")
            yield _Table(table.role, table.name, columns), archived[table.label]["rows"]


def _require_empty(schemas: _Schemas, tables: Sequence[_Table]) -> None:
    for table in tables:
        if table.name == _MADE_BY_MIGRATION:
            schemas.conn.execute(schemas.statement(schemas.queries.empty_table, table))
        elif schemas.conn.execute(schemas.statement(schemas.queries.rows_anywhere, table)).fetchone() == (True,):
            raise Conflict(f"the database is not empty: {table.label} has rows; restore into a new one")


def _copy_in(schemas: _Schemas, table: _Table, member: IO[bytes], rows: int) -> None:
    with schemas.conn.cursor() as cursor:
        with cursor.copy(schemas.statement(schemas.queries.copy_in, table)) as copy:
            while chunk := member.read(CHUNK):
                copy.write(chunk)
        if cursor.rowcount != rows:
            raise InvalidArgument(f"the archive is damaged: {table.label} has {cursor.rowcount} rows, not {rows}")
