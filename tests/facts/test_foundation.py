"""Embedded server, pool and migrations."""

from __future__ import annotations

import dataclasses

import psycopg
import pytest
from psycopg import errors as pg

from facts.connections import RETRIES, Database, checked_url
from facts.embedded import EmbeddedServer
from facts.errors import Busy, Conflict, InvalidArgument, Unavailable
from facts.migrations import MigrationSet, Step, fact_migrations, migrate, pending_steps, require_current


def test_a_second_migrate_applies_nothing(empty_database_url: str) -> None:
    with Database.open(empty_database_url) as db:
        assert migrate(db, fact_migrations())[0] == "0001_facts"
        assert migrate(db, fact_migrations()) == []
        require_current(db, fact_migrations())


def test_an_unmigrated_database_names_the_command(empty_database_url: str) -> None:
    with Database.open(empty_database_url) as db, pytest.raises(Unavailable, match="run `harvester migrate`"):
        require_current(db, fact_migrations())


def test_two_instances_share_one_database_under_other_names(empty_database_url: str) -> None:
    with Database.open(empty_database_url) as db:
        first = migrate(db, fact_migrations("here"))
        assert migrate(db, fact_migrations("there")) == first


def test_an_applied_step_that_changed_is_refused() -> None:
    with pytest.raises(Conflict, match="other content"):
        pending_steps([Step(name="1", text="SELECT 1")], {"1": "another checksum"}, "s")


def test_a_database_from_a_newer_version_is_refused() -> None:
    with pytest.raises(Unavailable, match="newer version"):
        pending_steps([], {"0099_later": "x"}, "s")


@pytest.mark.parametrize("url", ("mysql://u@h/db", "sqlite:///x.db", "nonsense"))
def test_a_url_that_is_not_postgresql_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument, match="postgresql://"):
        checked_url(url)


def test_an_unreachable_server_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="not reachable"):
        Database.open("postgresql://nobody@127.0.0.1:1/none")


def test_a_schema_name_that_is_no_identifier_is_refused(database_url: str) -> None:
    with Database.open(database_url) as db, pytest.raises(InvalidArgument, match="schema"):
        migrate(db, MigrationSet(package="facts.migrations", schema='a"b', identifiers={"facts": 'a"b'}))


def test_work_is_repeated_after_its_connection_was_cut(database_url: str) -> None:
    attempts: list[int] = []

    def work(connection: psycopg.Connection) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        connection.execute("SELECT 1")
        return "done"

    with Database.open(database_url) as db:
        assert db.run(work) == "done"
    assert len(attempts) == 2


def test_work_that_always_deadlocks_is_given_up_as_busy(database_url: str) -> None:
    attempts: list[int] = []

    def work(_: psycopg.Connection) -> None:
        attempts.append(1)
        raise pg.DeadlockDetected("deadlock detected")

    with Database.open(database_url) as db, pytest.raises(Busy):
        db.run(work)
    assert len(attempts) == RETRIES


def test_transactions_are_read_committed_whatever_the_database_says(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation TO 'serializable'".encode())
    with Database.open(database_url) as db, db.transaction() as connection:
        assert connection.execute("SHOW transaction_isolation").fetchone() == ("read committed",)


def test_the_embedded_server_logs_the_sqlstate(server: EmbeddedServer) -> None:
    with psycopg.connect(server.url) as connection, pytest.raises(pg.DivisionByZero):
        connection.execute("SELECT 1 / 0")
    assert " 22012 " in server.log_path.read_text(encoding="utf-8", errors="replace")


def test_migration_steps_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Step(name="1", text="").name = "2"  # type: ignore[misc]
