"""Every named query is planned against the migrated schema, and used."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from facts.sqlfiles import all_queries, load_queries
from facts.tables import DEFAULT_SCHEMA

IDENTIFIERS = {"facts": DEFAULT_SCHEMA, "records": DEFAULT_SCHEMA, "record": "harvester_migrations"}
QUERIES = list(all_queries("facts", **IDENTIFIERS))
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in Path("facts").rglob("*.py"))


@pytest.mark.parametrize(("stem", "name"), [(stem, name) for stem, name, _ in QUERIES])
def test_a_named_query_is_planned_against_the_schema(database_url: str, stem: str, name: str) -> None:
    statement = getattr(load_queries("facts", stem, **IDENTIFIERS), name)
    text = re.sub(r"%\((\w+)\)s", "NULL", statement.as_string(None)).replace("%%", "%")
    if text.startswith("CREATE"):
        return
    with psycopg.connect(database_url) as connection:
        connection.execute(f"EXPLAIN {text}".encode())


@pytest.mark.parametrize(("stem", "name"), [(stem, name) for stem, name, _ in QUERIES])
def test_a_named_query_is_used(stem: str, name: str) -> None:
    room = "queries" if stem.endswith("migrations") else stem.rpartition("/")[2]
    assert re.search(rf"\b{room}\.{name}\b", SOURCES), f"nothing runs {stem}.{name}"
