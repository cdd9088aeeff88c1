"""From settings to open stores: which database, is it ours and current, does it have a graph. Decided once, at start.

A database that was never migrated is migrated by `migrate`, and, when it is the embedded one, by the commands that put
something in (`ingest`, `call`, `demo`), so that a first try needs no set-up. A database of an older version is changed
by `migrate` alone. Commands that only read never make a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from crawler.migrations import serving_migrations
from crawler.rules import RuleSet, read_rules
from crawler.settings import Settings
from facts import FactStore, open_fact_store
from facts.connections import Database
from facts.embedded import EmbeddedServer
from facts.errors import Unavailable, Unsupported
from facts.limits import FactLimits
from facts.migrations import fact_migrations, migrate, require_current
from facts.reserved import ReservedRules
from facts.settings import FactSettings
from facts.sqlfiles import load_queries
from graph.migrations import graph_migrations
from graph.rebuild import Place
from graph.store import GraphStore, open_graph_store

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """Open stores. ``graph`` None: this database has none, and ``no_graph`` says why."""

    url: str
    facts: FactStore
    graph: GraphStore | None
    no_graph: str | None = None

    def needed_graph(self) -> GraphStore:
        if self.graph is None:
            raise Unsupported(f"there is no graph: {self.no_graph}")
        return self.graph


@contextmanager
def open_database(settings: Settings, *, create: bool) -> Iterator[str]:
    """The URL of the facts' database; the embedded server runs inside the block."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    if not create and not (settings.pgdata / "PG_VERSION").exists():
        raise Unavailable(
            f"there is no database in {settings.data_dir}; `harvester ingest` or `harvester migrate` makes one, "
            "HARVESTER_DATABASE_URL names another"
        )
    with EmbeddedServer.start(settings.pgdata) as server:
        yield server.url


@contextmanager
def open_stores(settings: Settings, *, create: bool = False) -> Iterator[Stores]:
    """Both stores. ``create``: the command puts something in, so a fresh embedded database is set up on the way."""
    with open_database(settings, create=create) as url:
        if create and settings.database_url is None and is_fresh(url, settings):
            for name in migrate_all(url, settings):
                log.debug("migrated", step=name)
        with connect_stores(url, settings) as stores:
            yield stores


@contextmanager
def connect_stores(url: str, settings: Settings) -> Iterator[Stores]:
    """The stores of a database that is there; refused when its version is not this program's."""
    with open_fact_store(url, schema=settings.facts_schema, settings=fact_settings(settings)) as facts:
        reason = why_no_graph(facts.db, settings)
        if reason is not None:
            log.info("no_graph", reason=reason)
            yield Stores(url=url, facts=facts, graph=None, no_graph=reason)
            return
        with open_graph_store(
            settings.graph_url,
            facts=facts,
            graph=settings.graph_name,
            registry=settings.registry_schema,
            topology=settings.graph_topology,
        ) as graph:
            yield Stores(url=url, facts=facts, graph=graph)


@contextmanager
def open_place(settings: Settings, *, fresh: bool = False) -> Iterator[Place]:
    """Where the graph is, without asking whether AGE still has it: for the commands that look after it.

    ``fresh``: a database without our schemas is set up on the way.
    """
    with open_database(settings, create=fresh) as url:
        if fresh and is_fresh(url, settings):
            migrate_all(url, settings)
        with open_fact_store(url, schema=settings.facts_schema, settings=fact_settings(settings)) as facts:
            reason = why_no_graph(facts.db, settings)
            if reason is not None:
                raise Unsupported(f"there is no graph: {reason}")
            require_current(facts.db, graph_migrations(settings.graph_name, settings.registry_schema))
            yield Place(db=facts.db, facts=facts.tables, graph=settings.graph_name, registry=settings.registry_schema)


def migrate_all(url: str, settings: Settings) -> list[str]:
    """Bring a database to this version; the names of the steps applied."""
    with Database.open(url, max_size=2) as database:
        applied = migrate(database, fact_migrations(settings.facts_schema))
        if why_no_graph(database, settings) is None:
            applied += migrate(database, graph_migrations(settings.graph_name, settings.registry_schema))
        applied += migrate(database, serving_migrations(settings.facts_schema))
    return applied


def why_no_graph(database: Database, settings: Settings) -> str | None:
    """The one line that says why graph and queue tools are absent; None: they are not."""
    if not settings.has_graph:
        return "HARVESTER_GRAPH_URL is off"
    with database.transaction() as connection:
        row = connection.execute(load_queries("crawler", "sql/probe").server_has_age).fetchone()
    return None if row == (True,) else "this PostgreSQL server does not offer Apache AGE (extension `age`)"


def is_fresh(url: str, settings: Settings) -> bool:
    with Database.open(url, max_size=1) as database, database.transaction() as connection:
        row = connection.execute(
            load_queries("crawler", "sql/probe").has_schema, {"schema": settings.facts_schema}
        ).fetchone()
    return row == (False,)


def fact_settings(settings: Settings) -> FactSettings:
    return FactSettings(
        limits=FactLimits(value_bytes=settings.max_value_bytes),
        reserved=ReservedRules(settings.reserved_prefixes),
        lineage_query=settings.lineage_query,
        tombstone_ttl_s=settings.tombstone_ttl_seconds,
        pool_size=settings.pool_size,
        checkout_s=settings.checkout_seconds,
    )


def rules_of(config: Mapping[str, Any], settings: Settings) -> RuleSet:
    """The rules of a decoded ``harvest.toml`` under these settings."""
    return read_rules(config, reserved_prefixes=[each.prefix for each in settings.reserved_prefixes])
