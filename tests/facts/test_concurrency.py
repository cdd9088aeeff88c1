"""Overlap: locks in key order, no deadlock, no lost version. Every overlap is proven by a barrier or by a waiter."""

from __future__ import annotations

import os
import random
import re
import threading
from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors as pg

from facts import DeleteFactInput, FactStore, StoreFactInput, open_fact_store
from facts.access import Writer
from facts.embedded import EmbeddedServer
from facts.errors import Conflict
from facts.queue import FailedClaim, claim, extend_leases, fail
from facts.receipts import Receipt, acknowledge, lock_pending, pin_cited, requeue
from facts.uncrawled import CrawlMark

KEYS = [f"k/{letter}" for letter in "abcdefg"]
MIDDLE = "k/d"
S1 = Writer(session_id="s1")

# `make soak` runs the longer one.
SOAK_BATCHES = int(os.environ.get("HARVESTER_SOAK_BATCHES", "2000"))
PATIENCE_S = 120 + SOAK_BATCHES


def wait_for_a_waiter(store: FactStore) -> None:
    with store.db.connect() as conn:
        for _ in range(200_000):
            row = conn.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
            if row != (0,):
                return
    raise AssertionError("nobody waits")


def scope_keys() -> list[str]:
    return [f"session:s1:{key}" for key in reversed(KEYS)]


def receipts(store: FactStore) -> list[Receipt]:
    rows = [store.inspect(key) for key in scope_keys()]
    return [Receipt(scope_key=row.scope_key, etag=row.etag) for row in rows if row is not None]


def buried(store: FactStore) -> None:
    store.delete(DeleteFactInput(key="k/*", pattern=True), S1)


def closed(store: FactStore) -> None:
    store.set_crawled(key_prefix="k/")


OPERATIONS: dict[str, tuple[Callable[[FactStore], object], Callable[[FactStore], object] | None]] = {
    "store": (lambda s: s.store([StoreFactInput(key=k, value="new") for k in reversed(KEYS)], S1), None),
    "store tags only": (
        lambda s: s.store([StoreFactInput(key=k, value=1, tags=["t"]) for k in reversed(KEYS)], S1),
        None,
    ),
    "delete by pattern": (lambda s: s.delete(DeleteFactInput(key="k/*", pattern=True), S1), None),
    "delete session facts": (lambda s: s.delete_session_facts("s1"), None),
    "delete session": (lambda s: s.sessions.delete("s1"), None),
    "acknowledge by hand": (lambda s: s.set_crawled([CrawlMark(scope_key=k) for k in scope_keys()]), None),
    "requeue by hand": (lambda s: s.set_crawled([CrawlMark(scope_key=k) for k in scope_keys()], crawled=False), closed),
    "flush a prefix": (lambda s: s.set_crawled(key_prefix="k/"), None),
    "requeue a prefix": (lambda s: s.set_crawled(key_prefix="k/", crawled=False), closed),
    "requeue": (lambda s: s.db.run(lambda conn: requeue(conn, s.tables, scope_keys())), closed),
    "lock pending": (lambda s: s.db.run(lambda conn: lock_pending(conn, s.tables, receipts(s))), None),
    "pin cited": (lambda s: s.db.run(lambda conn: pin_cited(conn, s.tables, scope_keys())), None),
    "erase": (lambda s: s.erase(scope_keys()), None),
    "erase tombstones": (lambda s: s.erase_tombstones(), buried),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_rows_are_locked_in_key_order(store: FactStore, database_url: str, name: str) -> None:
    """With the middle row held by somebody else, all rows before it are locked and none after it."""
    operation, prepare = OPERATIONS[name]
    for key in reversed(KEYS):
        store.store(StoreFactInput(key=key, value=1), S1)
    if prepare is not None:
        prepare(store)
    with open_fact_store(database_url) as other, psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM pilotswarm_facts.facts WHERE key = %s FOR UPDATE", [MIDDLE])
        thread = threading.Thread(target=operation, args=(other,))
        thread.start()
        wait_for_a_waiter(store)
        with psycopg.connect(database_url, autocommit=True) as looker:
            free = [
                row[0]
                for row in looker.execute("SELECT key FROM pilotswarm_facts.facts FOR UPDATE SKIP LOCKED").fetchall()
            ]
        holder.rollback()
        thread.join(20)
    assert sorted(free) == [key for key in KEYS if key > MIDDLE]


def test_a_purge_passes_over_rows_in_use(store: FactStore, database_url: str) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in KEYS])
    store.delete(DeleteFactInput(key="k/*", pattern=True, shared=True))
    store.set_crawled([CrawlMark(scope_key=f"shared:{key}") for key in KEYS])
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM pilotswarm_facts.facts WHERE key = %s FOR UPDATE", [MIDDLE])
        assert store.purge().purged == len(KEYS) - 1
    assert store.purge().purged == 1


def test_a_flush_does_not_close_what_is_being_deleted(store: FactStore, database_url: str) -> None:
    """The flush has the row in its snapshot as live; by the time it gets the lock it is a tombstone."""
    store.store(StoreFactInput(key="k", value=1, shared=True))
    with open_fact_store(database_url) as other, psycopg.connect(database_url) as holder:
        holder.execute("UPDATE pilotswarm_facts.facts SET deleted_at = now()")
        results: list[int] = []
        thread = threading.Thread(target=lambda: results.append(other.set_crawled(key_prefix="k").affected))
        thread.start()
        wait_for_a_waiter(store)
        holder.commit()
        thread.join(20)
    assert results == [0]
    row = store.inspect("shared:k")
    assert row is not None
    assert (row.deleted, row.crawled) == (True, False)


def test_a_receipt_does_not_close_what_is_being_edited(store: FactStore, database_url: str) -> None:
    etag = store.store(StoreFactInput(key="k", value=1, shared=True)).etag
    with open_fact_store(database_url) as other, psycopg.connect(database_url) as holder:
        holder.execute("UPDATE pilotswarm_facts.facts SET value = '2'")
        results: list[int] = []
        mark = CrawlMark(scope_key="shared:k", etag=etag)
        thread = threading.Thread(target=lambda: results.append(other.set_crawled([mark]).affected))
        thread.start()
        wait_for_a_waiter(store)
        holder.commit()
        thread.join(20)
    assert results == [0]
    assert len(store.read_uncrawled().facts) == 1


def test_a_purge_does_not_take_what_is_being_cited(store: FactStore, database_url: str) -> None:
    store.store(StoreFactInput(key="k", value=1, shared=True))
    with store.db.transaction() as conn:
        pin_cited(conn, store.tables, ["shared:k"])
    store.delete(DeleteFactInput(key="k", shared=True))
    assert store.purge(ttl_s=0).purged == 0
    assert store.inspect("shared:k") is not None


def test_storing_and_deleting_a_session_exclude_each_other(store: FactStore, database_url: str) -> None:
    with open_fact_store(database_url) as other:
        outcome: list[object] = []

        def late() -> None:
            try:
                outcome.append(other.store(StoreFactInput(key="late", value=1), S1))
            except Conflict as error:
                outcome.append(error.code)

        thread = threading.Thread(target=late)
        with store.db.transaction() as conn:
            store.sessions._bury(conn, ["s1"])
            thread.start()
            wait_for_a_waiter(store)
        thread.join(20)
    assert outcome == ["conflict"]
    assert store.inspect("session:s1:late") is None


def test_two_writers_of_one_new_key_leave_one_fact(store: FactStore, database_url: str) -> None:
    barrier = threading.Barrier(4)
    etags: list[int] = []

    def write(number: int) -> None:
        with open_fact_store(database_url) as mine:
            barrier.wait(20)
            etags.append(mine.store(StoreFactInput(key="k", value=number, shared=True)).etag)

    run(write, 4)
    row = store.inspect("shared:k")
    assert row is not None
    assert len(set(etags)) == 4
    assert row.etag in etags


def run(work: Callable[[int], None], count: int) -> None:
    faults: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - a thread's error would be lost
            faults.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert faults == []
    assert not any(thread.is_alive() for thread in threads)


def deadlocks(server: EmbeddedServer) -> str:
    """What the server's log says about deadlocks: of each, an error and who waited for whom with which statement."""
    text = server.log_path.read_text(encoding="utf-8", errors="replace")
    return "\n".join(entry for entry in re.split(r"\n(?=\d{4}-\d\d-\d\d )", text) if " 40P01 " in entry)


@pytest.mark.parametrize(
    "batches", (50, pytest.param(SOAK_BATCHES, marks=[pytest.mark.soak, pytest.mark.timeout(PATIENCE_S + 60)]))
)
def test_eight_writers_of_overlapping_batches_never_deadlock(
    store: FactStore, database_url: str, server: EmbeddedServer, batches: int
) -> None:
    """Batches of 50 in opposite key orders, mixed with flushes, requeues, deletes, claims and acknowledgements."""
    before = deadlocks(server)
    barrier = threading.Barrier(8)

    def write(number: int) -> None:
        dice = random.Random(number)
        with open_fact_store(database_url) as mine:
            barrier.wait(30)
            for n in range(batches):
                start = dice.randrange(60)
                keys = [f"hot/{k:03}" for k in range(start, start + 50)]
                ordered = keys if number % 2 else keys[::-1]
                mine.store([StoreFactInput(key=key, value=[number, n], shared=True) for key in ordered])
                disturb(mine, ordered, n, f"w{number}")

    run(write, 8)
    assert deadlocks(server) == before
    with store.db.transaction() as conn:
        assert conn.execute("SELECT count(*), count(DISTINCT scope_key) FROM pilotswarm_facts.facts").fetchone() in {
            (count, count) for count in range(50, 111)
        }


def disturb(store: FactStore, keys: list[str], n: int, owner: str) -> None:
    """One of the other multi-row statements over the same rows."""
    named = [f"shared:{key}" for key in keys]
    match n % 6:
        case 0:
            store.set_crawled([CrawlMark(scope_key=key) for key in named])
        case 1:
            store.set_crawled(key_prefix="hot/", crawled=False)
        case 2:
            store.delete(DeleteFactInput(key=f"{keys[0][:-1]}*", pattern=True, shared=True))
        case 3:
            store.db.run(lambda conn: requeue(conn, store.tables, named))
        case 4:
            store.set_crawled(key_prefix="hot/")
        case _:
            harvest(store, owner)


def harvest(store: FactStore, owner: str) -> None:
    claimed = store.db.run(lambda conn: claim(conn, store.tables, owner=owner, limit=50, lease=0.05))
    store.db.run(lambda conn: extend_leases(conn, store.tables, owner=owner, lease=60))
    finished = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in claimed[1:]]
    store.db.run(lambda conn: acknowledge(conn, store.tables, lock_pending(conn, store.tables, finished[::-1])))
    failures = [FailedClaim(fact_id=f.fact_id, etag=f.etag, attempts=1, error="x") for f in claimed[::-1]]
    store.db.run(lambda conn: fail(conn, store.tables, failures, owner=owner))


def test_crawlers_that_acknowledge_each_others_receipts_never_lose_a_version(
    store: FactStore, database_url: str
) -> None:
    """Two crawlers read, swap receipts, edit, delete and revive; what is off the queue was seen in its last version."""
    keys = [f"swap/{n}" for n in range(6)]
    store.store([StoreFactInput(key=key, value="first", shared=True) for key in keys])
    barrier = threading.Barrier(2)
    shelf: list[list[CrawlMark]] = [[], []]
    seen: set[tuple[str, int]] = set()

    def crawl(number: int) -> None:
        dice = random.Random(number)
        with open_fact_store(database_url) as mine:
            for n in range(25):
                page = mine.read_uncrawled(limit=6).facts
                seen.update((each.fact.scope_key, each.fact.etag) for each in page)
                shelf[number] = [CrawlMark(scope_key=e.fact.scope_key, etag=e.fact.etag) for e in page]
                barrier.wait(30)
                # Both are past their reads: from here on the two overlap.
                key = dice.choice(keys)
                if dice.random() < 0.3:
                    mine.delete(DeleteFactInput(key=key, shared=True))
                else:
                    mine.store(StoreFactInput(key=key, value=f"{number}.{n}", shared=True))
                others = shelf[1 - number]
                if others:
                    mine.set_crawled(others)
                barrier.wait(30)

    run(crawl, 2)
    for key in keys:
        row = store.inspect(f"shared:{key}")
        assert row is not None
        if row.crawled:
            assert (row.scope_key, row.etag) in seen
        else:
            assert row.scope_key in {each.fact.scope_key for each in store.read_uncrawled().facts}


def test_a_heartbeat_waits_for_nobody(store: FactStore, database_url: str) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in KEYS])
    store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=99, lease=60))
    with psycopg.connect(database_url) as holder:
        holder.execute("SELECT FROM pilotswarm_facts.crawl_leases ORDER BY fact_id LIMIT 1 FOR UPDATE")
        with psycopg.connect(database_url) as beater:
            beater.execute("SET lock_timeout = '1ms'")
            try:
                extended = extend_leases(beater, store.tables, owner="w", lease=60)
            except pg.LockNotAvailable:  # pragma: no cover - the failure that this test is about
                pytest.fail("the heartbeat waited")
    assert extended == len(KEYS) - 1


def wait_until_blocked_by(store: FactStore, holder: psycopg.Connection) -> None:
    with store.db.connect() as conn:
        for _ in range(200_000):
            row = conn.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))",
                [holder.info.backend_pid],
            ).fetchone()
            if row != (0,):
                return
    pytest.fail("nobody waits")


def test_a_claim_lets_go_of_an_expired_lease_that_its_owner_kept(store: FactStore, database_url: str) -> None:
    """Else it would hold a later lease while it waits for an earlier one, and somebody who takes both in order meets it."""
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in ("a", "b")])
    store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=9, lease=60))
    store.store(StoreFactInput(key="a", value=2, shared=True))
    later = "(SELECT id FROM pilotswarm_facts.facts WHERE key = 'b')"
    with store.db.transaction() as conn:
        conn.execute(f"UPDATE pilotswarm_facts.crawl_leases SET leased_until = now() WHERE fact_id = {later}".encode())
    claimed: list[str] = []

    def take() -> None:
        with open_fact_store(database_url) as mine:
            found = mine.db.run(lambda conn: claim(conn, mine.tables, owner="x", limit=9, lease=60))
            claimed.extend(fact.key for fact in found)

    with psycopg.connect(database_url) as owner, psycopg.connect(database_url) as earlier:
        earlier.execute(
            "SELECT FROM pilotswarm_facts.crawl_leases AS l JOIN pilotswarm_facts.facts AS f ON f.id = l.fact_id"
            " WHERE f.key = 'a' FOR UPDATE OF l"
        )
        extend_leases(owner, store.tables, owner="w", lease=60)
        thread = threading.Thread(target=take)
        thread.start()
        wait_until_blocked_by(store, owner)
        owner.commit()
        wait_until_blocked_by(store, earlier)
        with psycopg.connect(database_url) as looker:
            free = looker.execute(
                f"SELECT FROM pilotswarm_facts.crawl_leases WHERE fact_id = {later} FOR UPDATE SKIP LOCKED".encode()
            ).fetchall()
        earlier.rollback()
        thread.join(20)
    assert len(free) == 1
    assert claimed == ["a"]
