"""The schema that the migrations make, as text: `docs/schema.txt` shows it, and a change of it is seen in review."""

import argparse
import difflib
import tempfile
from pathlib import Path

from psycopg import Connection, sql

from checks.tree import ROOT, finish
from crawler.migrations import serving_migrations
from facts.connections import Database
from facts.embedded import EmbeddedServer
from facts.migrations import fact_migrations, migrate
from facts.sqlfiles import Queries, load_queries
from graph.migrations import graph_migrations

PAGE = Path("docs/schema.txt")
SCHEMAS = ["pilotswarm_facts", "knowledge", "knowledge_registry"]
PARTS_OF_A_TABLE = ("columns", "constraints", "indexes", "triggers")
HEADING = "The migrated schema, written by `make schema`; `make check` compares."


def describe(connection: Connection, schemas: list[str]) -> str:
    """Everything of these schemas that a migration can change, in an order that depends on names alone."""
    queries = load_queries("checks", "schema")
    lines = [HEADING, "", *_column(connection, queries.extensions), ""]
    for oid, heading in connection.execute(queries.relations, {"schemas": schemas}).fetchall():
        lines.append(heading)
        if not heading.startswith("sequence"):
            lines += _parts(connection, queries, oid)
    lines += ["", *_column(connection, queries.functions, schemas=schemas)]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def _parts(connection: Connection, queries: Queries, oid: int) -> list[str]:
    return [line for part in PARTS_OF_A_TABLE for line in _column(connection, getattr(queries, part), relation=oid)]


def _column(connection: Connection, query: sql.Composed, **parameters: object) -> list[str]:
    return [str(row[0]) for row in connection.execute(query, parameters).fetchall()]


def migrated_schema() -> str:
    with tempfile.TemporaryDirectory(prefix="harvester-schema-") as folder:
        server = EmbeddedServer.start(Path(folder) / "pgdata")
        try:
            with Database.open(server.create_database("schema")) as db:
                migrate(db, fact_migrations())
                migrate(db, graph_migrations())
                migrate(db, serving_migrations())
                with db.transaction() as connection:
                    return describe(connection, SCHEMAS)
        finally:
            server.close()


def difference(committed: str, migrated: str) -> list[str]:
    lines = difflib.unified_diff(committed.splitlines(), migrated.splitlines(), str(PAGE), "migrated", n=1, lineterm="")
    return list(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page instead of comparing with it")
    page = ROOT / PAGE
    migrated = migrated_schema()
    if parser.parse_args().write:
        page.write_text(migrated)
    problems = difference(page.read_text() if page.exists() else "", migrated)
    if problems:
        problems.append(
            "the migrations make another schema than docs/schema.txt shows: `make schema`, and look at the diff"
        )
    finish("schema", problems)


if __name__ == "__main__":
    main()
