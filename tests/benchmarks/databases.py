"""A fresh database for each run, by template clone: of the raw graph's labels, or of our own migrated schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import psycopg

from crawler.migrations import serving_migrations
from facts.connections import Database
from facts.embedded import EmbeddedServer
from facts.migrations import fact_migrations, migrate
from graph.migrations import graph_migrations
from tests.benchmarks import raw

RAW, OURS = "bench_raw", "bench_ours"
_numbers = count(1)


def make_templates(server: EmbeddedServer) -> None:
    """Both templates; nothing may stay connected to them."""
    for name in (RAW, OURS):
        server.drop_database(name)
    with psycopg.connect(server.create_database(RAW)) as connection:
        raw.create_labels(connection)
    with Database.open(server.create_database(OURS)) as db:
        migrate(db, fact_migrations())
        migrate(db, graph_migrations())
        migrate(db, serving_migrations())


@contextmanager
def fresh(server: EmbeddedServer, template: str) -> Iterator[str]:
    """The URL of a clone, dropped afterwards; a checkpoint first, so that no run pays for the one before."""
    name = f"{template}_{next(_numbers)}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    url = server.create_database(name, template=template)
    try:
        yield url
    finally:
        server.drop_database(name)
