"""Everything at once for a while: writers, harvesters that die, hand acknowledgements, purges, sessions that go."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable

import pytest

from facts import DeleteFactInput, FactStore, StoreFactInput, open_fact_store
from facts.access import Writer
from facts.embedded import EmbeddedServer
from facts.errors import Conflict
from facts.queue import Backoff, FailedClaim, claim, fail
from facts.receipts import Receipt, acknowledge, lock_pending, requeue
from facts.uncrawled import CrawlMark
from tests.facts.test_concurrency import deadlocks
from tests.facts.test_tally import counted, kept

LONG_S = float(os.environ.get("HARVESTER_SOAK_SECONDS", "3600"))
KEYS = [f"soak/{n:03}" for n in range(200)]
QUICK = Backoff(first_s=0.01, most_s=0.05)


def write(store: FactStore, dice: random.Random, turn: int) -> None:
    keys = dice.sample(KEYS, dice.randrange(1, 30))
    match turn % 4:
        case 0:
            store.delete(DeleteFactInput(key=keys[0], shared=True))
        case 1:
            store.store(StoreFactInput(key=keys[0], value=turn), Writer(session_id=f"s{turn % 5}"))
        case _:
            store.store([StoreFactInput(key=key, value=dice.randrange(4), shared=True) for key in keys])


def harvest(store: FactStore, dice: random.Random, turn: int) -> None:
    owner = f"w{dice.random()}"
    claimed = store.db.run(lambda conn: claim(conn, store.tables, owner=owner, limit=20, lease=0.2))
    if not claimed or turn % 9 == 0:
        return  # as if it had been killed between claim and answer
    bad, good = claimed[:1] if turn % 5 == 0 else [], claimed
    receipts = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in good if fact not in bad]
    store.db.run(lambda conn: acknowledge(conn, store.tables, lock_pending(conn, store.tables, receipts)))
    failures = [FailedClaim(fact_id=f.fact_id, etag=f.etag, attempts=f.attempts, error="x") for f in bad]
    store.db.run(lambda conn: fail(conn, store.tables, failures, owner=owner, backoff=QUICK))


def keep_house(store: FactStore, dice: random.Random, turn: int) -> None:
    match turn % 5:
        case 0:
            store.purge(ttl_s=0.0)
        case 1:
            store.db.run(lambda conn: requeue(conn, store.tables, [f"shared:{k}" for k in dice.sample(KEYS, 10)]))
        case 2:
            page = store.read_uncrawled(limit=10).facts
            if page:
                store.set_crawled([CrawlMark(scope_key=e.fact.scope_key, etag=e.fact.etag) for e in page])
        case 3:
            store.delete_session_facts(f"s{turn % 5}")
        case _:
            store.queue_statistics()


def soak(url: str, seconds: float) -> list[BaseException]:
    ends = time.monotonic() + seconds
    faults: list[BaseException] = []
    workers: list[Callable[[FactStore, random.Random, int], None]] = [write, write, write, harvest, harvest, keep_house]
    barrier = threading.Barrier(len(workers))

    def work(number: int) -> None:
        dice = random.Random(number)
        turn = 0
        try:
            with open_fact_store(url) as mine:
                barrier.wait(30)
                while time.monotonic() < ends:
                    turn += 1
                    workers[number](mine, dice, turn)
        except BaseException as error:  # noqa: BLE001 - a thread's error would be lost
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults


@pytest.mark.parametrize(
    "seconds", (3.0, pytest.param(LONG_S, marks=[pytest.mark.soak, pytest.mark.timeout(LONG_S + 300)]))
)
def test_under_everything_at_once_nothing_is_lost_or_left_over(
    store: FactStore, database_url: str, server: EmbeddedServer, seconds: float
) -> None:
    before = deadlocks(server)
    assert soak(database_url, seconds) == []
    assert deadlocks(server) == before
    assert kept(store) == counted(store)
    store.set_crawled(key_prefix="soak/", crawled=False)
    with store.db.transaction() as conn:
        conn.execute("UPDATE pilotswarm_facts.crawl_leases SET leased_until = now() - interval '1 second'")
    drained = 0
    while claimed := store.db.run(lambda conn: claim(conn, store.tables, owner="last", limit=500, lease=60)):
        receipts = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in claimed]
        with store.db.transaction() as conn:
            locked = lock_pending(conn, store.tables, receipts)
            acknowledge(conn, store.tables, locked)
        assert len(locked) == len(claimed)
        drained += len(locked)
    assert drained > 0
    stats = store.queue_statistics()
    assert (stats.pending, stats.parked) == (0, 0)
    store.purge(ttl_s=0.0, limit=10_000)
    with store.db.transaction() as conn:
        assert conn.execute("SELECT count(*) FROM pilotswarm_facts.crawl_leases").fetchone() == (0,)
        rows = conn.execute("SELECT count(*), count(DISTINCT etag) FROM pilotswarm_facts.facts").fetchone()
    assert rows is not None
    assert rows[0] == rows[1]


def test_a_session_deleted_under_its_writers_keeps_nothing(store: FactStore, database_url: str) -> None:
    barrier = threading.Barrier(3)
    refused: list[int] = []

    def scribble(number: int) -> None:
        with open_fact_store(database_url) as mine:
            barrier.wait(30)
            for n in range(200):
                try:
                    mine.store(StoreFactInput(key=f"k{number}/{n}", value=n), Writer(session_id="doomed"))
                except Conflict:
                    refused.append(n)
                    return

    threads = [threading.Thread(target=scribble, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    barrier.wait(30)
    store.sessions.delete("doomed")
    for thread in threads:
        thread.join(60)
    with store.db.transaction() as conn:
        left = conn.execute("SELECT count(*) FROM pilotswarm_facts.facts WHERE deleted_at IS NULL").fetchone()
    assert left == (0,)
