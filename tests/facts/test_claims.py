"""The harvesters' queue: leases, expiry on the database's clock, attempts, back-off, parking."""

from __future__ import annotations

import threading

import pytest

from facts import DeleteFactInput, FactStore, StoreFactInput, open_fact_store
from facts.coverage import EVERYTHING, Coverage
from facts.errors import InvalidArgument
from facts.queue import Backoff, FailedClaim, claim, extend_leases, fail, release
from facts.receipts import (
    ACKNOWLEDGED,
    CHANGED,
    GONE,
    ClaimedFact,
    Receipt,
    acknowledge,
    judge_refused,
    lock_pending,
)
from facts.uncrawled import CrawlMark


def put(store: FactStore, *keys: str, value: object = 1) -> None:
    store.store([StoreFactInput(key=key, value=value, shared=True) for key in keys])


def take(
    store: FactStore, owner: str = "w", limit: int = 100, lease: float = 60, coverage: Coverage = EVERYTHING
) -> list[ClaimedFact]:
    return store.db.run(
        lambda conn: claim(conn, store.tables, owner=owner, limit=limit, lease=lease, coverage=coverage)
    )


def keys(claimed: list[ClaimedFact]) -> list[str]:
    return [fact.key for fact in claimed]


def finish(store: FactStore, claimed: list[ClaimedFact]) -> list[str]:
    receipts = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in claimed]
    with store.db.transaction() as conn:
        locked = lock_pending(conn, store.tables, receipts)
        acknowledge(conn, store.tables, locked)
    return [fact.scope_key for fact in locked]


def stumble(
    store: FactStore, claimed: list[ClaimedFact], *, owner: str = "w", delay: float = 0.0, terminal: bool = False
) -> int:
    failures = [
        FailedClaim(fact_id=f.fact_id, etag=f.etag, attempts=f.attempts, error=f"no {f.attempts}", terminal=terminal)
        for f in claimed
    ]
    policy = Backoff(first_s=delay, most_s=delay)
    return store.db.run(
        lambda conn: fail(conn, store.tables, failures, owner=owner, backoff=policy, jitter=lambda: 1.0)
    )


def lease_of(store: FactStore, key: str) -> tuple[int, bool, str | None] | None:
    with store.db.transaction() as conn:
        row = conn.execute(
            "SELECT attempts, parked, last_error FROM pilotswarm_facts.crawl_leases AS l"
            " JOIN pilotswarm_facts.facts AS f ON f.id = l.fact_id WHERE f.key = %s",
            [key],
        ).fetchone()
    return None if row is None else (row[0], row[1], row[2])


def test_claims_are_oldest_first_and_disjoint(store: FactStore) -> None:
    for n in range(6):
        put(store, f"k{n}")
    assert keys(take(store, "one", 4)) == ["k0", "k1", "k2", "k3"]
    assert keys(take(store, "two", 4)) == ["k4", "k5"]
    assert take(store, "three") == []


def test_a_claim_carries_what_an_extractor_needs(store: FactStore) -> None:
    put(store, "alive", value={"a": 1})
    put(store, "dead")
    store.delete(DeleteFactInput(key="dead", shared=True))
    alive, dead = take(store)
    assert (alive.value, alive.deleted, alive.attempts, alive.shared) == ({"a": 1}, False, 1, True)
    assert dead.deleted


def test_reading_takes_nothing_away_and_a_lease_ends_by_itself(store: FactStore) -> None:
    put(store, "a", "b")
    assert keys(take(store, lease=0.0)) == ["a", "b"]
    again = take(store, "other")
    assert [(f.key, f.attempts) for f in again] == [("a", 2)], "after an expired lease a fact is claimed alone"
    assert [(f.key, f.attempts) for f in take(store, "third")] == [("b", 2)]
    assert take(store, "third") == []


def test_an_acknowledgement_clears_attempts(store: FactStore) -> None:
    put(store, "a")
    take(store, lease=0.0)
    assert finish(store, take(store)) == ["shared:a"]
    assert lease_of(store, "a") is None


def test_a_new_version_is_claimed_at_once_and_starts_again(store: FactStore) -> None:
    put(store, "a")
    old = take(store, "slow")
    put(store, "a", value=2)
    new = take(store, "fast")
    assert [(f.value, f.attempts) for f in new] == [(2, 1)]
    assert finish(store, old) == []
    assert finish(store, new) == ["shared:a"]


def test_a_late_worker_is_stale_and_harms_nothing(store: FactStore) -> None:
    """Field report G02: the lease ran out, another one finished; the late answer affects no row."""
    put(store, "a")
    late = take(store, "late", lease=0.0)
    assert finish(store, take(store, "other")) == ["shared:a"]
    assert finish(store, late) == []
    with store.db.transaction() as conn:
        receipts = [Receipt(scope_key=f.scope_key, etag=f.etag) for f in late]
        assert judge_refused(conn, store.tables, receipts) == {"shared:a": ACKNOWLEDGED}


def test_the_heartbeat_keeps_a_lease(store: FactStore) -> None:
    put(store, "a")
    take(store, "w", lease=0.0)
    assert store.db.run(lambda conn: extend_leases(conn, store.tables, owner="w", lease=60)) == 1
    assert store.db.run(lambda conn: extend_leases(conn, store.tables, owner="x", lease=60)) == 0
    assert take(store, "thief") == []


def test_released_work_is_due_at_once_and_uncounted(store: FactStore) -> None:
    put(store, "a", "b")
    take(store, "w")
    assert store.db.run(lambda conn: release(conn, store.tables, owner="w")) == 2
    assert [(f.key, f.attempts) for f in take(store, "x")] == [("a", 1), ("b", 1)]
    held = take(store, "y")
    assert held == []


def test_one_of_several_leases_is_released(store: FactStore) -> None:
    put(store, "a", "b")
    first = take(store, "w")[0]
    assert store.db.run(lambda conn: release(conn, store.tables, owner="w", fact_ids=[first.fact_id])) == 1
    assert keys(take(store, "x")) == ["a"]


def test_a_failing_fact_backs_off_and_holds_nobody_back(store: FactStore) -> None:
    put(store, "bad")
    stumble(store, take(store), delay=600)
    put(store, "good")
    assert keys(take(store)) == ["good"]


def test_an_item_that_always_fails_is_parked_and_an_edit_opens_it(store: FactStore) -> None:
    """Field report G03."""
    put(store, *[f"k{n}" for n in range(10)])
    tries = 0
    while claimed := take(store):
        tries += 1
        bad = [f for f in claimed if f.key == "k4" or (f.key == "k7" and f.attempts <= 2)]
        finish(store, [f for f in claimed if f not in bad])
        stumble(store, bad)
    assert tries == 5
    assert lease_of(store, "k4") == (5, True, "no 5")
    assert lease_of(store, "k7") is None
    assert store.queue_statistics().parked == 1
    put(store, "k4", value=2)
    assert [(f.key, f.attempts) for f in take(store)] == [("k4", 1)]


def test_a_terminal_failure_parks_at_once(store: FactStore) -> None:
    put(store, "a")
    stumble(store, take(store), terminal=True)
    assert lease_of(store, "a") == (1, True, "no 1")


def test_failing_a_lost_lease_changes_nothing(store: FactStore) -> None:
    put(store, "a")
    late = take(store, "w", lease=0.0)
    take(store, "x")
    assert stumble(store, late, owner="w") == 0
    assert lease_of(store, "a") == (2, False, None)


def test_an_error_text_is_storable_whatever_it_holds(store: FactStore) -> None:
    put(store, "a")
    claimed = take(store)
    failure = FailedClaim(
        fact_id=claimed[0].fact_id, etag=claimed[0].etag, attempts=1, error="x\x00\ud800" + "y" * 9999
    )
    store.db.run(lambda conn: fail(conn, store.tables, [failure], owner="w"))
    lease = lease_of(store, "a")
    assert lease is not None
    assert lease[2] is not None
    assert len(lease[2]) <= 2_000


@pytest.mark.parametrize(
    ("coverage", "expected"),
    (
        (EVERYTHING, ["corpus/a", "corpus_a", "triple", "intake/triple", "dead-pinned", "dead"]),
        (Coverage(key_patterns=("corpus/%",)), ["corpus/a", "dead-pinned"]),
        (Coverage(key_patterns=("corpus/%",), pinned_tombstones=False), ["corpus/a"]),
        (Coverage(value_path="exists($.nodes)", outside_prefixes=("intake/",)), ["triple", "dead-pinned"]),
        (Coverage(), ["dead-pinned"]),
    ),
)
def test_a_claim_is_filtered_before_its_limit(store: FactStore, coverage: Coverage, expected: list[str]) -> None:
    put(store, "dead-pinned")
    finish(store, take(store))
    put(store, "corpus/a")
    put(store, "corpus_a")
    put(store, "triple", value={"nodes": []})
    put(store, "intake/triple", value={"nodes": []})
    put(store, "dead", value={"nodes": []})
    for key in ("dead", "dead-pinned"):
        store.delete(DeleteFactInput(key=key, shared=True))
    found: list[str] = []
    while claimed := take(store, limit=1, coverage=coverage):
        found += keys(claimed)
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(("field", "value"), (("owner", ""), ("limit", 0), ("limit", 1.5)))
def test_a_bad_claim_names_its_argument(store: FactStore, field: str, value: object) -> None:
    with pytest.raises(InvalidArgument) as raised:
        take(store, **{field: value})
    assert raised.value.argument == field


def test_receipts_are_judged_one_by_one(store: FactStore) -> None:
    """Field report G04: one stale item of a batch stays pending, the others are closed."""
    put(store, "a", "b", "c", "d", "e")
    claimed = take(store)
    put(store, "b", value=2)
    store.set_crawled([CrawlMark(scope_key="shared:c")])
    store.delete(DeleteFactInput(key="d", shared=True))
    store.set_crawled([CrawlMark(scope_key="shared:d")])
    store.purge()
    receipts = [Receipt(scope_key=f.scope_key, etag=f.etag) for f in claimed]
    assert finish(store, claimed) == ["shared:a", "shared:e"]
    with store.db.transaction() as conn:
        judged = judge_refused(conn, store.tables, receipts[1:4])
    assert judged == {"shared:b": CHANGED, "shared:c": ACKNOWLEDGED, "shared:d": GONE}
    assert [each.fact.key for each in store.read_uncrawled().facts] == ["b"]


def test_two_acknowledgements_of_one_version_give_one_success(store: FactStore, database_url: str) -> None:
    put(store, "a")
    claimed = take(store)
    receipts = [Receipt(scope_key=f.scope_key, etag=f.etag) for f in claimed]
    results: dict[str, int] = {}
    with open_fact_store(database_url) as other:

        def second() -> None:
            with other.db.transaction() as conn:
                results["second"] = len(lock_pending(conn, other.tables, receipts))

        thread = threading.Thread(target=second)
        with store.db.transaction() as first:
            locked = lock_pending(first, store.tables, receipts)
            thread.start()
            wait_for_a_waiter(store)
            acknowledge(first, store.tables, locked)
        thread.join(10)
    assert (len(locked), results["second"]) == (1, 0)


def wait_for_a_waiter(store: FactStore) -> None:
    """Overlap is proven, not hoped for: some backend of this database waits for a lock."""
    with store.db.connect() as conn:
        for _ in range(200_000):
            row = conn.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            ).fetchone()
            if row != (0,):
                return
    raise AssertionError("nobody waits")


def test_no_fact_is_claimed_twice_by_many(store: FactStore, database_url: str) -> None:
    put(store, *[f"k{n:04}" for n in range(400)])
    barrier = threading.Barrier(4)
    taken: list[list[int]] = [[] for _ in range(4)]

    def work(number: int) -> None:
        with open_fact_store(database_url) as mine:
            barrier.wait(20)
            while claimed := take(mine, f"w{number}", 7):
                taken[number] += [f.fact_id for f in claimed]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    together = [fact_id for part in taken for fact_id in part]
    assert len(together) == len(set(together)) == 400


def test_a_lease_committed_after_the_snapshot_is_respected(store: FactStore, database_url: str) -> None:
    """SKIP LOCKED looks at the fact's row only; the INSERT of the lease is what decides."""
    put(store, "a")
    with open_fact_store(database_url) as other:
        conn = other.db.connect(autocommit=False)
        # The second claimer's snapshot is taken inside its one statement, so hold it there: a lock on the lease table
        # lets its SELECT pass and its INSERT wait.
        blocker = store.db.connect(autocommit=False)
        blocker.execute("LOCK TABLE pilotswarm_facts.crawl_leases IN SHARE MODE")
        results: list[ClaimedFact] = []
        thread = threading.Thread(
            target=lambda: results.extend(claim(conn, other.tables, owner="second", limit=9, lease=60))
        )
        thread.start()
        wait_for_a_waiter(store)
        blocker.execute(
            "INSERT INTO pilotswarm_facts.crawl_leases (fact_id, etag, owner, leased_until)"
            " SELECT id, etag, 'first', now() + interval '1 hour' FROM pilotswarm_facts.facts"
        )
        blocker.commit()
        thread.join(20)
        conn.commit()
        conn.close()
        blocker.close()
    assert results == []
