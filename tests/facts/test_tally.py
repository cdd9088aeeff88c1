"""The queue's length is kept, not counted: by whatever way facts change, and whoever changes them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg
import pytest

from facts import DeleteFactInput, FactStore, StoreFactInput, open_fact_store
from facts.coverage import Coverage
from facts.queue import claim
from facts.receipts import Receipt, acknowledge, lock_pending

if TYPE_CHECKING:
    from collections.abc import Callable

KEYS = [f"t/{n}" for n in range(6)]


def counted(store: FactStore) -> tuple[int, int]:
    with store.db.transaction() as conn:
        [row] = conn.execute(
            "SELECT count(*), count(*) FILTER (WHERE deleted_at IS NOT NULL)"
            " FROM pilotswarm_facts.facts WHERE last_crawled_at IS NULL"
        ).fetchall()
    return row[0], row[1]


def kept(store: FactStore) -> tuple[int, int]:
    numbers = store.queue_statistics()
    return numbers.pending, numbers.tombstones


def differences(store: FactStore) -> int:
    with store.db.transaction() as conn:
        [[found]] = conn.execute("SELECT count(*) FROM pilotswarm_facts.queue_tally").fetchall()
    return int(found)


def harvested(store: FactStore) -> int:
    found = store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=4, lease=60))
    receipts = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in found]
    store.db.run(lambda conn: acknowledge(conn, store.tables, lock_pending(conn, store.tables, receipts)))
    return len(receipts)


ACTS: dict[str, Callable[[FactStore], object]] = {
    "stored again": lambda s: s.store([StoreFactInput(key=key, value=1, shared=True) for key in KEYS]),
    "edited": lambda s: s.store(StoreFactInput(key=KEYS[0], value=2, shared=True)),
    "tagged": lambda s: s.store(StoreFactInput(key=KEYS[0], value=1, tags=["t"], shared=True)),
    "harvested": harvested,
    "harvested and edited": lambda s: (harvested(s), s.store(StoreFactInput(key=KEYS[0], value=3, shared=True))),
    "deleted": lambda s: s.delete(DeleteFactInput(key="t/*", pattern=True, shared=True)),
    "harvested and deleted": lambda s: (harvested(s), s.delete(DeleteFactInput(key="t/*", pattern=True, shared=True))),
    "deleted and harvested": lambda s: (s.delete(DeleteFactInput(key=KEYS[1], shared=True)), harvested(s)),
    "deleted and revived": lambda s: (
        s.delete(DeleteFactInput(key=KEYS[2], shared=True)),
        s.store(StoreFactInput(key=KEYS[2], value=1, shared=True)),
    ),
    "flushed": lambda s: s.set_crawled(key_prefix="t/"),
    "flushed and requeued": lambda s: (s.set_crawled(key_prefix="t/"), s.set_crawled(key_prefix="t/", crawled=False)),
    "purged pending": lambda s: (s.delete(DeleteFactInput(key="t/*", pattern=True, shared=True)), s.purge(ttl_s=0)),
    "erased": lambda s: s.erase([f"shared:{key}" for key in KEYS[:3]]),
}


@pytest.mark.parametrize("name", ACTS)
def test_the_kept_length_is_the_counted_one(store: FactStore, name: str) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in KEYS])
    ACTS[name](store)
    assert kept(store) == counted(store)


def test_what_is_undone_is_not_kept(store: FactStore) -> None:
    with store.db.transaction() as conn, conn.transaction(force_rollback=True):
        conn.execute(
            "INSERT INTO pilotswarm_facts.facts (scope_key, key, value, shared) VALUES ('shared:x', 'x', '1', true)"
        )
    assert kept(store) == (0, 0)


def test_emptying_the_table_empties_the_tally(store: FactStore) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in KEYS])
    with store.db.transaction() as conn:
        conn.execute("TRUNCATE pilotswarm_facts.facts")
    assert kept(store) == (0, 0)


def test_a_purge_folds_the_differences_and_the_length_stays(store: FactStore) -> None:
    for key in KEYS:
        store.store(StoreFactInput(key=key, value=1, shared=True))
    assert differences(store) == len(KEYS)
    store.purge()
    assert differences(store) == 1
    assert kept(store) == counted(store) == (len(KEYS), 0)


def test_folds_beside_each_other_and_beside_writers_lose_nothing(store: FactStore, database_url: str) -> None:
    barrier = threading.Barrier(3)

    def fold() -> None:
        with open_fact_store(database_url) as mine:
            barrier.wait(30)
            for _ in range(40):
                mine.purge(ttl_s=0)

    threads = [threading.Thread(target=fold) for _ in range(2)]
    for thread in threads:
        thread.start()
    barrier.wait(30)
    for n in range(60):
        store.store(StoreFactInput(key=f"t/{n}", value=n, shared=True))
    for thread in threads:
        thread.join(60)
    assert kept(store) == counted(store) == (60, 0)


def test_a_writer_with_rights_on_the_table_alone_is_counted_and_gets_versions(
    store: FactStore, database_url: str
) -> None:
    """Another product's role: it may write facts and knows nothing of ours."""
    with psycopg.connect(database_url) as conn:
        conn.execute("CREATE ROLE another_product")
        conn.execute("GRANT USAGE ON SCHEMA pilotswarm_facts TO another_product")
        conn.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON pilotswarm_facts.facts TO another_product")
        conn.execute("GRANT USAGE ON SEQUENCE pilotswarm_facts.facts_id_seq TO another_product")
        conn.execute("SET ROLE another_product")
        conn.execute(
            "INSERT INTO pilotswarm_facts.facts (scope_key, key, value, shared) VALUES ('shared:x', 'x', '1', true)"
        )
        conn.execute("UPDATE pilotswarm_facts.facts SET value = '2'")
        conn.execute("RESET ROLE")
        conn.commit()
        conn.execute("DROP OWNED BY another_product")
        conn.execute("DROP ROLE another_product")
    assert kept(store) == (1, 0)


def test_what_no_rule_covers_is_counted_fact_by_fact(store: FactStore) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in [*KEYS, "elsewhere"]])
    numbers = store.queue_statistics(coverage=Coverage(key_patterns=("t/%",)))
    assert (numbers.pending, numbers.no_rule) == (7, 1)
