"""One embedded server a session, one migrated template, one cloned database a test."""

from __future__ import annotations

import importlib.util
import itertools
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from facts.connections import Database
from facts.embedded import EmbeddedServer
from facts.migrations import fact_migrations, migrate

if TYPE_CHECKING:
    from collections.abc import Iterator

TEMPLATE = "harvester_template"
CASES = Path(__file__).parent / "conformance" / "behaviour.jsonl"
_numbers = itertools.count(1)


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--cases FILE` runs another file of behaviour cases in tests/conformance."""
    parser.addoption(
        "--cases", type=Path, default=CASES, help="behaviour cases (JSON lines) that tests/conformance runs"
    )


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """An embedded server in a scratch folder; it does not wait for the disk, tests do not survive a power cut.

    Not in pytest's own folder: the next session of the same user closes that one to everybody else, and under root the
    server runs as a user of its own.
    """
    with (
        tempfile.TemporaryDirectory(prefix="harvester-tests-") as scratch,
        EmbeddedServer.start(Path(scratch) / "pgdata") as running,
    ):
        with psycopg.connect(running.url, autocommit=True) as connection:
            for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
                connection.execute(f"ALTER SYSTEM SET {setting}".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield running


def has_graph() -> bool:
    """Whether this checkout holds the graph package."""
    if importlib.util.find_spec("graph") is None:
        return False
    spec = importlib.util.find_spec("graph.migrations")
    return spec is not None and spec.origin is not None


@pytest.fixture(scope="session")
def template_url(server: EmbeddedServer) -> str:
    """A database with every migration of this checkout applied; nothing may stay connected to it."""
    url = server.create_database(TEMPLATE)
    with Database.open(url) as db:
        migrate(db, fact_migrations())
        if has_graph():
            from graph.migrations import graph_migrations  # noqa: PLC0415 - absent on a facts-only checkout

            migrate(db, graph_migrations())
            from crawler.migrations import serving_migrations  # noqa: PLC0415 - as above

            migrate(db, serving_migrations())
    return url


@pytest.fixture
def empty_database_url(server: EmbeddedServer) -> Iterator[str]:
    """A database without any schema of ours."""
    name = f"empty_{os.getpid()}_{next(_numbers)}"
    yield server.create_database(name)
    server.drop_database(name)


@pytest.fixture
def database_url(server: EmbeddedServer, template_url: str) -> Iterator[str]:
    """A migrated database of the test's own."""
    assert template_url
    name = f"test_{os.getpid()}_{next(_numbers)}"
    yield server.create_database(name, template=TEMPLATE)
    server.drop_database(name)
