"""The public surface, the error tree, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import psycopg
import pytest
from psycopg import errors as pg

import facts
from facts import FactStore, StoreFactInput, is_enhanced, open_fact_store
from facts.connections import Database
from facts.errors import CONSTRAINTS, HarvesterError, InvalidArgument, NotFound, Unavailable, domain_error

SURFACE = [
    "AccessContext",
    "DeleteFactInput",
    "FactRecord",
    "FactStore",
    "FactsCapabilities",
    "ReadFactsQuery",
    "StoreFactInput",
    "is_enhanced",
    "open_fact_store",
]


def test_the_public_surface_is_as_documented() -> None:
    assert sorted(facts.__all__) == SURFACE


def test_a_store_without_search_is_not_enhanced(store: FactStore) -> None:
    assert not is_enhanced(store)
    assert "pilotswarm_facts" in repr(store)


def test_importing_opens_nothing_and_starts_nothing() -> None:
    code = "import facts, sys; assert 'pgserver' not in sys.modules; assert 'age' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unmigrated_database_is_refused_and_its_connections_closed(empty_database_url: str) -> None:
    with pytest.raises(Unavailable, match="harvester migrate"):
        open_fact_store(empty_database_url)


def test_every_code_of_the_error_tree_is_its_own() -> None:
    kinds = [kind for kind in HarvesterError.__subclasses__() if kind.__module__ == "facts.errors"]
    assert len({kind.default_code for kind in kinds}) == len(kinds) == 8
    assert HarvesterError("x").code == "internal"
    assert NotFound("x", argument="y").argument == "y"


def test_every_named_constraint_has_a_translation(store: FactStore) -> None:
    with store.db.transaction() as conn:
        names = {
            row[0]
            for row in conn.execute(
                "SELECT conname FROM pg_constraint WHERE connamespace = 'pilotswarm_facts'::regnamespace"
                " AND conrelid IN ('pilotswarm_facts.facts'::regclass, 'pilotswarm_facts.sessions'::regclass,"
                " 'pilotswarm_facts.crawl_leases'::regclass) AND contype IN ('c', 'u', 'f', 'x')"
            ).fetchall()
        }
    assert names == set(CONSTRAINTS)


def test_a_row_that_breaks_a_constraint_is_a_domain_error(store: FactStore) -> None:
    with pytest.raises(InvalidArgument) as raised, store.db.transaction() as conn:
        conn.execute(
            "INSERT INTO pilotswarm_facts.facts (scope_key, key, value, shared, transient)"
            " VALUES ('shared:k', 'k', '1', true, true)"
        )
    assert raised.value.argument == "shared"
    assert isinstance(raised.value.__cause__, pg.CheckViolation)


@pytest.mark.parametrize(
    "foreign", (pg.SerializationFailure, pg.DeadlockDetected, pg.LockNotAvailable, pg.QueryCanceled, pg.UndefinedTable,
                pg.UndefinedColumn, pg.InsufficientPrivilege, pg.ReadOnlySqlTransaction, pg.AdminShutdown,
                psycopg.OperationalError, psycopg.InterfaceError)
)  # fmt: skip
def test_what_a_server_may_do_to_us_is_mapped(foreign: type[psycopg.Error]) -> None:
    assert domain_error(foreign("what it said")) is not None


def test_a_fault_of_ours_stays_what_it_is(database_url: str) -> None:
    with Database.open(database_url) as db, pytest.raises(pg.SyntaxError), db.transaction() as conn:
        conn.execute("SELEC 1")


def test_facts_work_without_age(store: FactStore) -> None:
    with store.db.transaction() as conn:
        conn.execute("DROP EXTENSION IF EXISTS age CASCADE")
    store.store(StoreFactInput(key="k", value=1, shared=True))
    assert store.inspect("shared:k") is not None
