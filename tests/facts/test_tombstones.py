"""Tombstones: what keeps them, what purges them, and that erased words are nowhere."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from facts import DeleteFactInput, FactStore, StoreFactInput
from facts.access import Writer
from facts.errors import Conflict, InvalidArgument
from facts.queue import FailedClaim, claim, fail
from facts.receipts import Receipt, acknowledge, lock_cited, lock_pending, pin_cited, unpin_reconciled
from facts.tombstones import ForcedPurge
from facts.uncrawled import CrawlMark, SkipReason


def bury(store: FactStore, *keys: str) -> None:
    store.store([StoreFactInput(key=key, value=f"canary of {key}", shared=True) for key in keys])
    for key in keys:
        store.delete(DeleteFactInput(key=key, shared=True))


def close(store: FactStore, *keys: str):
    return store.set_crawled([CrawlMark(scope_key=f"shared:{key}") for key in keys])


def age(store: FactStore, seconds: float) -> None:
    with store.db.transaction() as conn:
        conn.execute("UPDATE pilotswarm_facts.facts SET deleted_at = deleted_at - %s * interval '1 second'", [seconds])


def left(store: FactStore, *keys: str) -> list[str]:
    return [key for key in keys if store.inspect(f"shared:{key}") is not None]


def incorporate(store: FactStore, key: str) -> None:
    """What a graph does with a fact, as far as the fact store is concerned."""
    row = store.inspect(f"shared:{key}")
    assert row is not None
    with store.db.transaction() as conn:
        receipt = Receipt(scope_key=row.scope_key, etag=row.etag)
        acknowledge(conn, store.tables, lock_pending(conn, store.tables, [receipt]))


def test_an_acknowledged_tombstone_goes_whatever_its_age_and_a_pending_one_after_the_ttl(store: FactStore) -> None:
    bury(store, "a", "b")
    close(store, "b")
    assert store.purge(ttl_s=3600).purged == 1
    assert left(store, "a", "b") == ["a"]
    age(store, 7200)
    assert store.purge(ttl_s=3600).purged == 1
    assert left(store, "a", "b") == []


def test_reconciled_ones_go_first_then_the_oldest(store: FactStore) -> None:
    bury(store, "old")
    age(store, 9000)
    bury(store, "young", "acked")
    age(store, 7200)
    close(store, "acked")
    for expected in (["old", "young"], ["young"], []):
        store.purge(ttl_s=3600, limit=1)
        assert left(store, "old", "young", "acked") == expected


def test_an_acknowledged_tombstone_gives_up_its_value_without_a_new_version(store: FactStore) -> None:
    bury(store, "a")
    before = store.inspect("shared:a")
    assert before is not None
    assert before.value == "canary of a"
    close(store, "a")
    after = store.inspect("shared:a")
    assert after is not None
    assert (after.value, after.etag, after.crawled, after.updated_at) == (None, before.etag, True, before.updated_at)


def test_what_the_graph_refers_to_is_pinned_until_its_tombstone_is_reconciled(store: FactStore) -> None:
    store.store(StoreFactInput(key="a", value=1, shared=True))
    incorporate(store, "a")
    store.delete(DeleteFactInput(key="a", shared=True))
    result = close(store, "a")
    assert [skip.reason for skip in result.skipped_keys] == [SkipReason.REFERENCED]
    age(store, 1_000_000)
    assert store.purge(ttl_s=0).purged == 0
    forced = store.force_purge(ForcedPurge(confirm=True))
    assert (forced.purged, forced.referenced) == (0, 1)
    assert store.tombstone_statistics().pinned == 1
    incorporate(store, "a")
    assert store.purge(ttl_s=1_000_000_000).purged == 1


def test_a_hand_citation_pins_and_refuses_tombstones(store: FactStore) -> None:
    store.store([StoreFactInput(key=key, value=1, shared=True) for key in ("a", "b")])
    with store.db.transaction() as conn:
        cited = pin_cited(conn, store.tables, ["shared:b", "shared:a", "shared:unknown"])
    assert [each.scope_key for each in cited] == ["shared:a", "shared:b"]
    store.delete(DeleteFactInput(key="a", shared=True))
    with pytest.raises(Conflict, match="shared:a"), store.db.transaction() as conn:
        pin_cited(conn, store.tables, ["shared:b", "shared:a"])
    assert store.force_purge(ForcedPurge(confirm=True)).purged == 0
    with store.db.transaction() as conn:
        unpin_reconciled(conn, store.tables, lock_cited(conn, store.tables, ["shared:a", "shared:b"]))
    row = store.inspect("shared:b")
    assert row is not None
    assert row.pinned, "a live fact stays pinned"
    assert store.force_purge(ForcedPurge(confirm=True)).purged == 1


def test_statistics_say_what_keeps_tombstones(store: FactStore) -> None:
    bury(store, "a", "b", "c")
    close(store, "b")
    age(store, 100)
    bury(store, "d")
    stats = store.tombstone_statistics(ttl_s=50)
    assert (stats.pending_total, stats.unreconciled, stats.ttl_blocked, stats.reconciled_unswept) == (4, 3, 1, 1)
    assert stats.oldest_age_s is not None
    assert stats.oldest_age_s >= 100


def test_a_forced_purge_obeys_cutoff_prefix_and_state(store: FactStore) -> None:
    bury(store, "net/a", "net/b", "sea/c")
    close(store, "net/b")
    age(store, 100)
    bury(store, "net/d")
    cutoff = datetime.now(UTC) - timedelta(seconds=50)
    assert (
        store.force_purge(ForcedPurge(cutoff=cutoff, confirm=True, only_unreconciled=True, key_prefix="net/")).purged
        == 1
    )
    assert left(store, "net/a", "net/b", "sea/c", "net/d") == ["net/b", "sea/c", "net/d"]
    assert store.force_purge(ForcedPurge(cutoff=cutoff, confirm=True)).purged == 2
    assert left(store, "net/d") == ["net/d"]


@pytest.mark.parametrize(
    ("request_", "argument"),
    (
        (ForcedPurge(), "confirm"),
        (ForcedPurge(confirm=True, limit=0), "limit"),
        (ForcedPurge(confirm=True, key_prefix=""), "key_prefix"),
        (ForcedPurge(confirm=True, cutoff=datetime(2026, 1, 1)), "cutoff"),  # noqa: DTZ001 - that is the case
    ),
)
def test_a_bad_forced_purge_names_its_argument(store: FactStore, request_: ForcedPurge, argument: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        store.force_purge(request_)
    assert raised.value.argument == argument


def test_a_purge_sweeps_the_leases_of_what_is_gone(store: FactStore) -> None:
    bury(store, "a")
    store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=1, lease=0.0))
    with store.db.transaction() as conn:
        conn.execute("UPDATE pilotswarm_facts.facts SET last_crawled_at = now()")
    store.purge()
    with store.db.transaction() as conn:
        assert conn.execute("SELECT count(*) FROM pilotswarm_facts.crawl_leases").fetchone() == (0,)


# --- erasure


def everything(store: FactStore) -> str:
    """All rows of all tables of the fact store, as text."""
    with store.db.transaction() as conn:
        tables = conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'pilotswarm_facts'").fetchall()
        return "\n".join(
            str(row[0])
            for (table,) in tables
            for row in conn.execute(f"SELECT t::text FROM pilotswarm_facts.{table} AS t".encode()).fetchall()
        )


def test_erased_words_are_in_no_table(store: FactStore) -> None:
    writer = Writer(session_id="s1", agent_id="canary agent")
    store.store(
        [StoreFactInput(key=f"k{n}", value={"w": "canary"}, tags=["canary"], shared=True) for n in range(3)], writer
    )
    incorporate(store, "k0")
    store.delete(DeleteFactInput(key="k1", shared=True))
    claimed = store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=9, lease=60))
    failures = [FailedClaim(fact_id=f.fact_id, etag=f.etag, attempts=1, error="canary in an error") for f in claimed]
    store.db.run(lambda conn: fail(conn, store.tables, failures, owner="w"))
    result = store.erase(["shared:k0", "shared:k1", "shared:k2", "shared:nope"])
    assert (result.erased, result.removed, result.pinned) == (3, 2, ("shared:k0",))
    assert "canary" not in everything(store)
    row = store.inspect("shared:k0")
    assert row is not None
    assert (row.deleted, row.crawled, row.value) == (True, False, None)


def test_erasing_tombstones_leaves_live_facts_alone(store: FactStore) -> None:
    bury(store, "net/a", "sea/b")
    store.store(StoreFactInput(key="net/live", value="alive", shared=True))
    assert store.erase_tombstones("net/").removed == 1
    assert "canary of net/a" not in everything(store)
    assert left(store, "net/live", "sea/b") == ["net/live", "sea/b"]
    assert store.erase_tombstones().removed == 1
