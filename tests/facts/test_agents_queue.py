"""The queue as agents and operators use it: receipts by hand, prefix flushes, requeues, listings."""

from __future__ import annotations

import pytest

from facts import DeleteFactInput, FactStore, StoreFactInput
from facts.access import Writer
from facts.coverage import Coverage
from facts.errors import InvalidArgument
from facts.queue import FailedClaim, claim, fail
from facts.receipts import requeue
from facts.uncrawled import CrawlMark, EntriesQuery, Forgiven, SkipReason, forgive, queue_entries


def put(store: FactStore, *keys: str, value: object = 1) -> dict[str, int]:
    stored = store.store([StoreFactInput(key=key, value=value, shared=True) for key in keys])
    return {fact.scope_key: fact.etag for fact in stored}


def marks(**etags: int | str | None) -> list[CrawlMark]:
    return [CrawlMark(scope_key=f"shared:{key}", etag=etag) for key, etag in etags.items()]


def pending(store: FactStore, **query: str) -> list[str]:
    return [each.fact.key for each in store.read_uncrawled(**query).facts]


def park(store: FactStore, error: str = "boom") -> None:
    claimed = store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=100, lease=60))
    failures = [
        FailedClaim(fact_id=f.fact_id, etag=f.etag, attempts=f.attempts, error=error, terminal=True) for f in claimed
    ]
    store.db.run(lambda conn: fail(conn, store.tables, failures, owner="w"))


def test_a_receipt_closes_the_version_it_names_only(store: FactStore) -> None:
    first = put(store, "a", "b", "c")
    put(store, "b", value=2)
    store.set_crawled([CrawlMark(scope_key="shared:c")])
    result = store.set_crawled(marks(a=first["shared:a"], b=first["shared:b"], c=first["shared:c"], none=4))
    assert (result.affected, result.skipped) == (1, 3)
    assert [skip.reason for skip in result.skipped_keys] == [SkipReason.ETAG, SkipReason.STATE, SkipReason.GONE]
    assert pending(store) == ["b"]


def test_without_an_etag_it_stomps_and_a_text_etag_is_read(store: FactStore) -> None:
    put(store, "a")
    second = put(store, "a", value=2)
    assert store.set_crawled(marks(a=str(second["shared:a"]))).affected == 1
    put(store, "a", value=3)
    assert store.set_crawled([CrawlMark(scope_key="shared:a")]).affected == 1


def test_a_purged_and_recreated_fact_is_not_closed_by_an_old_receipt(store: FactStore) -> None:
    first = put(store, "a", value="old")
    store.delete(DeleteFactInput(key="a", shared=True))
    store.set_crawled([CrawlMark(scope_key="shared:a")])
    assert store.purge().purged == 1
    put(store, "a", value="new")
    assert store.set_crawled(marks(a=first["shared:a"])).affected == 0
    assert pending(store) == ["a"]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    (
        ({}, "scope_keys"),
        ({"marks": marks(a=1), "key_prefix": "a"}, "scope_keys"),
        ({"marks": []}, "scope_keys"),
        ({"marks": [CrawlMark(scope_key=str(n)) for n in range(501)]}, "scope_keys"),
        ({"marks": [CrawlMark(scope_key="x"), CrawlMark(scope_key="x", etag=1)]}, "scope_keys[1]"),
        ({"marks": [CrawlMark(scope_key="x", etag=None)]}, "scope_keys[0].etag"),
        ({"marks": [CrawlMark(scope_key="x", etag="one")]}, "scope_keys[0].etag"),
        ({"marks": [CrawlMark(scope_key="")]}, "scope_keys[0]"),
        ({"key_prefix": ""}, "key_prefix"),
    ),
)
def test_a_bad_selector_names_its_argument(store: FactStore, arguments, argument: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        store.set_crawled(**arguments)
    assert raised.value.argument == argument


def test_a_prefix_flush_leaves_tombstones_alone(store: FactStore) -> None:
    put(store, "hull/1", "hull/2", "hull/3", "mast/1")
    store.set_crawled([CrawlMark(scope_key="shared:hull/2")])
    store.delete(DeleteFactInput(key="hull/3", shared=True))
    result = store.set_crawled(key_prefix="hull/")
    assert (result.affected, result.skipped) == (1, 1)
    assert [(s.scope_key, s.reason) for s in result.skipped_keys] == [("shared:hull/2", SkipReason.STATE)]
    assert pending(store) == ["hull/3", "mast/1"]


def test_a_prefix_requeue_takes_tombstones_too(store: FactStore) -> None:
    put(store, "hull/1", "hull/2", "hull/3")
    store.delete(DeleteFactInput(key="hull/3", shared=True))
    store.set_crawled([CrawlMark(scope_key="shared:hull/2"), CrawlMark(scope_key="shared:hull/3")])
    result = store.set_crawled(key_prefix="hull/", crawled=False)
    assert (result.affected, result.skipped) == (2, 1)
    assert len(pending(store, key_prefix="hull/")) == 3


def test_the_queue_is_read_oldest_first_in_pages(store: FactStore) -> None:
    for n in range(5):
        put(store, f"g/{n}")
    put(store, "g/0", value=2)
    first = store.read_uncrawled(limit=3)
    second = store.read_uncrawled(limit=3, cursor=first.cursor)
    assert [each.fact.key for each in (*first.facts, *second.facts)] == [f"g/{n}" for n in range(5)]
    assert second.cursor is None


def test_a_page_of_the_queue_is_cut_at_500(store: FactStore) -> None:
    put(store, *[f"grain/{n}" for n in range(510)])
    assert len(store.read_uncrawled(limit=900).facts) == 500


def test_a_namespace_is_the_value_itself_or_below_it(store: FactStore) -> None:
    put(store, "corpus/acme", "corpus/acme/x", "corpus/acme2")
    assert pending(store, namespace="/corpus/acme/") == ["corpus/acme", "corpus/acme/x"]
    with pytest.raises(InvalidArgument, match="not both"):
        store.read_uncrawled(namespace="a", key_prefix="b")
    with pytest.raises(InvalidArgument, match="blank"):
        store.read_uncrawled(namespace="/")


def test_facts_under_a_running_lease_are_left_out_and_parked_ones_listed_with_their_error(store: FactStore) -> None:
    put(store, "bad")
    park(store, "no such shape")
    put(store, "leased")
    store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=1, lease=60))
    put(store, "free")
    page = store.read_uncrawled()
    assert [(each.fact.key, each.parked, each.last_error) for each in page.facts] == [
        ("bad", True, "no such shape"),
        ("free", False, None),
    ]


def test_requeueing_a_parked_fact_counts_and_opens_it(store: FactStore) -> None:
    put(store, "bad", "fine")
    park(store)
    put(store, "fine", value=2)
    result = store.set_crawled([CrawlMark(scope_key="shared:bad"), CrawlMark(scope_key="shared:fine")], crawled=False)
    assert (result.affected, [s.reason for s in result.skipped_keys]) == (1, [SkipReason.STATE])
    claimed = store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=9, lease=60))
    assert [(f.key, f.attempts) for f in claimed] == [("bad", 1), ("fine", 1)]


def test_requeueing_a_parked_prefix_counts_and_opens_it(store: FactStore) -> None:
    put(store, "p/bad")
    park(store)
    put(store, "p/fine")
    assert store.set_crawled(key_prefix="p/", crawled=False).affected == 1
    assert len(store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=9, lease=60))) == 2


def test_requeue_counts_what_was_not_plainly_pending(store: FactStore) -> None:
    put(store, "a", "b", "c")
    store.set_crawled([CrawlMark(scope_key="shared:a")])
    assert store.db.run(lambda conn: requeue(conn, store.tables, ["shared:c", "shared:a", "shared:nope"])) == 1
    assert pending(store) == ["a", "b", "c"]


def test_a_hand_acknowledgement_forgets_leases(store: FactStore) -> None:
    put(store, "a")
    park(store)
    store.set_crawled([CrawlMark(scope_key="shared:a")])
    store.set_crawled([CrawlMark(scope_key="shared:a")], crawled=False)
    assert store.read_uncrawled().facts[0].parked is False


def test_statistics_tell_due_leased_parked_and_uncovered_apart(store: FactStore) -> None:
    put(store, "bad")
    park(store)
    put(store, "corpus/leased")
    store.db.run(lambda conn: claim(conn, store.tables, owner="w", limit=1, lease=60))
    put(store, "corpus/free", "dead")
    store.delete(DeleteFactInput(key="dead", shared=True))
    stats = store.queue_statistics(coverage=Coverage(key_patterns=("corpus/%",)))
    assert (stats.pending, stats.leased, stats.parked, stats.tombstones, stats.no_rule) == (4, 1, 1, 1, 2)
    assert stats.oldest_pending_at is not None
    assert store.queue_statistics(namespace="corpus").pending == 2
    assert store.queue_statistics(namespace="corpus").last_crawled_at is None


def test_an_operator_lists_by_state_and_forgives(store: FactStore) -> None:
    put(store, "bad")
    park(store, "why")
    put(store, "due")

    def entries(state: str) -> list[tuple[str, str | None]]:
        with store.db.transaction() as conn:
            return [(e.scope_key, e.last_error) for e in queue_entries(conn, store.tables, EntriesQuery(state=state))]

    assert entries("parked") == [("shared:bad", "why")]
    assert entries("due") == [("shared:due", None)]
    assert entries("failed") == entries("leased") == []
    assert store.db.run(lambda conn: forgive(conn, store.tables, ["shared:due"])) == 0
    assert store.db.run(lambda conn: forgive(conn, store.tables, which=Forgiven.PARKED_AND_BACKED_OFF)) == 1
    assert len(entries("due")) == 2
    with pytest.raises(InvalidArgument, match="state"):
        entries("lost")


def test_a_private_fact_is_on_the_queue_as_well(store: FactStore) -> None:
    store.store(StoreFactInput(key="k", value=1), Writer(session_id="s1"))
    assert [each.fact.scope_key for each in store.read_uncrawled().facts] == ["session:s1:k"]
