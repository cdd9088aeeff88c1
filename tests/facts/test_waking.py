"""Intake wakes the facts manager; a notification is a hint, and nobody's write depends on it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
import pytest

from facts import FactStore, StoreFactInput
from facts.access import Writer
from facts.connections import Database
from facts.wake import Cause, Listening, Wake, WakeListener, WakeTimes, intake_channel, notify_intake

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = WakeTimes(poll_s=0.05, coalesce_s=0.05, first_pause_s=0.01, most_pause_s=0.05)


def listener(store: FactStore, **options: object) -> WakeListener:
    return WakeListener(**{"connect": store.db.connect, "schema": store.tables.schema, "times": QUICK, **options})


@pytest.fixture
def heard(store: FactStore) -> Iterator[psycopg.Connection]:
    with store.db.connect() as connection:
        connection.execute(f"LISTEN {intake_channel(store.tables.schema)}".encode())
        yield connection


def notes(connection: psycopg.Connection) -> list[str]:
    return [note.payload for note in connection.notifies(timeout=0.2)]


def test_only_a_shared_intake_fact_wakes(store: FactStore, heard: psycopg.Connection) -> None:
    writer = Writer(session_id="s1")
    store.store(
        [StoreFactInput(key="intake/private", value=1), StoreFactInput(key="note", value=1, shared=True)], writer
    )
    assert notes(heard) == []
    stored = store.store(StoreFactInput(key="intake/kelp/s1", value=1, shared=True), writer)
    assert notes(heard) == [str(stored.fact_id)]


def test_a_long_key_and_a_large_batch_wake_with_short_payloads(store: FactStore, heard: psycopg.Connection) -> None:
    store.store(StoreFactInput(key="intake/" + "字" * 168, value="x" * 9_000, shared=True))
    store.store([StoreFactInput(key=f"intake/{n}", value=n, shared=True) for n in range(100)])
    assert [len(note) < 20 for note in notes(heard)] == [True, True]


def test_a_refused_batch_wakes_nobody(store: FactStore, heard: psycopg.Connection) -> None:
    with pytest.raises(Exception, match="nothing was stored"):
        store.store([StoreFactInput(key="intake/a", value=1, shared=True), StoreFactInput(key="", value=1)])
    assert notes(heard) == []


def test_a_hint_that_cannot_be_sent_is_no_failure(store: FactStore, database_url: str) -> None:
    db = Database.open(database_url)
    db.close()
    assert notify_intake(db, store.tables, [1]) is False


def test_two_stores_of_one_database_do_not_wake_each_other() -> None:
    long = "x" * 63
    assert intake_channel("a") != intake_channel("b")
    assert len(intake_channel(long)) <= 63


def test_a_listener_wakes_at_start_and_after_listening_began(store: FactStore) -> None:
    wakes = (watch := listener(store)).wakes()
    assert next(wakes) == Wake(cause=Cause.START)
    assert watch.status is Listening.CONNECTED
    # Stored after LISTEN, read after the Wake: nothing falls in between.
    stored = store.store([StoreFactInput(key=f"intake/{n}", value=n, shared=True) for n in range(2)])
    woken = next(wakes)
    assert woken.cause is Cause.NOTIFIED
    assert set(woken.fact_ids) <= {fact.fact_id for fact in stored}
    watch.stop()
    wakes.close()


def test_notifications_that_come_together_are_one(store: FactStore) -> None:
    wakes = (watch := listener(store, times=WakeTimes(poll_s=5, coalesce_s=0.3))).wakes()
    next(wakes)
    stored = [store.store(StoreFactInput(key=f"intake/{n}", value=n, shared=True)).fact_id for n in range(5)]
    assert next(wakes).fact_ids == tuple(stored)
    watch.stop()
    wakes.close()


def test_a_killed_listener_reconnects_and_looks_again(store: FactStore) -> None:
    """Field report G08: the backend goes, a fact comes; it is found, and the listener is back."""
    connections: list[psycopg.Connection] = []

    def connect() -> psycopg.Connection:
        connections.append(store.db.connect())
        return connections[-1]

    watch = listener(store, connect=connect)
    wakes = watch.wakes()
    next(wakes)
    with store.db.transaction() as conn:
        conn.execute("SELECT pg_terminate_backend(%s)", [connections[0].info.backend_pid])
    store.store(StoreFactInput(key="intake/missed", value=1, shared=True))
    assert next(wakes).cause is Cause.RECONNECTED
    assert watch.status is Listening.CONNECTED
    store.store(StoreFactInput(key="intake/heard", value=1, shared=True))
    assert next(wakes).cause is Cause.NOTIFIED
    watch.stop()
    wakes.close()


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        self.now += 3_600
        return self.now


def test_after_six_hours_it_looks_anyway(store: FactStore) -> None:
    watch = listener(store, clock=Clock())
    wakes = watch.wakes()
    next(wakes)
    assert next(wakes).cause is Cause.FALLBACK
    watch.stop()
    wakes.close()


def test_after_six_hours_it_looks_even_while_the_listener_cannot_connect(store: FactStore) -> None:
    attempts: list[int] = []

    def connect() -> psycopg.Connection:
        attempts.append(1)
        if len(attempts) > 1:
            raise psycopg.OperationalError("the server is away")
        return store.db.connect()

    pauses: list[float] = []
    watch = listener(store, connect=connect, clock=Clock(), sleep=pauses.append)
    wakes = watch.wakes()
    next(wakes)
    with store.db.transaction() as conn:
        conn.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
        )
    causes = [next(wakes).cause for _ in range(2)]
    assert causes == [Cause.FALLBACK, Cause.FALLBACK]
    assert pauses == sorted(pauses)
    watch.stop()
    wakes.close()


def test_stopping_ends_the_walk_while_the_server_is_away(store: FactStore) -> None:
    def connect() -> psycopg.Connection:
        raise psycopg.OperationalError("the server is away")

    watch = listener(store, connect=connect)
    thread = threading.Thread(target=lambda: list(watch.wakes()))
    thread.start()
    watch.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert watch.status is Listening.STOPPED
