"""A facts table that another product made is adopted: nothing rewritten, and no receipt closes what nobody saw."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from facts import DeleteFactInput, FactStore, ReadFactsQuery, StoreFactInput, open_fact_store
from facts.access import UNRESTRICTED, Writer
from facts.connections import Database
from facts.migrations import fact_migrations, migrate
from facts.queue import claim
from facts.receipts import Receipt, acknowledge, lock_pending
from facts.uncrawled import CrawlMark

if TYPE_CHECKING:
    from collections.abc import Iterator

# The other product's schema: its trigger counts etag up per row, so that a re-created row starts at 1 again.
FOREIGN = (Path(__file__).parent / "foreign_facts.sql").read_text(encoding="utf-8")
UPSERT = """
    INSERT INTO pilotswarm_facts.facts (scope_key, key, value, shared, session_id, agent_id)
    VALUES ('shared:' || %(key)s, %(key)s, %(value)s::jsonb, true, 'f', 'foreign')
    ON CONFLICT (scope_key) DO UPDATE SET value = EXCLUDED.value, deleted_at = NULL, updated_at = now()
    RETURNING etag
"""


@pytest.fixture
def foreign(empty_database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(FOREIGN.encode())
        yield connection


@pytest.fixture
def adopted(foreign: psycopg.Connection, empty_database_url: str) -> Iterator[FactStore]:
    for n in range(5):
        for value in range(n + 1):
            foreign.execute(UPSERT, {"key": f"old/{n}", "value": str(value)})
    foreign.execute(
        "INSERT INTO pilotswarm_facts.facts (scope_key, key, value, session_id, transient)"
        " VALUES ('session:odd:one:k', 'k', '1', 'odd:one', true)"
    )
    with Database.open(empty_database_url) as db:
        migrate(db, fact_migrations())
    with open_fact_store(empty_database_url) as store:
        yield store


def rows(connection: psycopg.Connection) -> list[tuple[object, ...]]:
    return connection.execute(
        "SELECT id, scope_key, key, value, session_id, tags, created_at, updated_at, etag, last_crawled_at, xmin"
        " FROM pilotswarm_facts.facts ORDER BY id"
    ).fetchall()


def test_no_row_is_lost_or_rewritten(foreign: psycopg.Connection, empty_database_url: str) -> None:
    for n in range(3):
        foreign.execute(UPSERT, {"key": f"old/{n}", "value": "1"})
    before = rows(foreign)
    with Database.open(empty_database_url) as db:
        migrate(db, fact_migrations())
    assert rows(foreign) == before


def test_an_index_that_is_there_under_another_name_is_not_made_again(adopted: FactStore) -> None:
    with adopted.db.transaction() as conn:
        names = {
            row[0]
            for row in conn.execute("SELECT indexname FROM pg_indexes WHERE schemaname = 'pilotswarm_facts'").fetchall()
        }
    assert "ps_facts_tags" in names
    assert "facts_tags_idx" not in names
    assert "facts_pending_idx" in names


def test_versions_go_on_above_all_that_were_ever_counted(adopted: FactStore) -> None:
    highest = max(fact.etag for fact in adopted.read(ReadFactsQuery(limit=99), UNRESTRICTED).facts)
    assert adopted.store(StoreFactInput(key="new", value=1, shared=True)).etag > highest


def test_the_foreign_writer_gets_our_versions_and_our_queue(adopted: FactStore, foreign: psycopg.Connection) -> None:
    adopted.store(StoreFactInput(key="both", value=1, shared=True))
    adopted.set_crawled([CrawlMark(scope_key="shared:both")])
    before = adopted.inspect("shared:both")
    foreign.execute(UPSERT, {"key": "both", "value": "1"})
    same = adopted.inspect("shared:both")
    foreign.execute(UPSERT, {"key": "both", "value": "2"})
    after = adopted.inspect("shared:both")
    assert before is not None
    assert same is not None
    assert after is not None
    assert (same.etag, same.crawled) == (before.etag, True)
    assert after.etag != before.etag
    assert not after.crawled


def test_a_row_that_the_foreign_product_recreates_does_not_start_again(
    adopted: FactStore, foreign: psycopg.Connection
) -> None:
    first = foreign.execute(UPSERT, {"key": "again", "value": "1"}).fetchone()
    foreign.execute("DELETE FROM pilotswarm_facts.facts WHERE key = 'again'")
    second = foreign.execute(UPSERT, {"key": "again", "value": "2"}).fetchone()
    assert first is not None
    assert second is not None
    assert adopted.set_crawled([CrawlMark(scope_key="shared:again", etag=first[0])]).affected == 0
    assert adopted.set_crawled([CrawlMark(scope_key="shared:again", etag=second[0])]).affected == 1


def test_nulling_a_tombstones_value_moves_neither_version_nor_queue(adopted: FactStore) -> None:
    adopted.store(StoreFactInput(key="gone", value=1, shared=True))
    adopted.delete(DeleteFactInput(key="gone", shared=True))
    before = adopted.inspect("shared:gone")
    adopted.set_crawled([CrawlMark(scope_key="shared:gone")])
    after = adopted.inspect("shared:gone")
    assert before is not None
    assert after is not None
    assert (after.etag, after.crawled, after.value) == (before.etag, True, None)


def test_rows_with_odd_session_ids_stay_readable_and_deletable(adopted: FactStore) -> None:
    found = adopted.read(ReadFactsQuery(scope_keys=["session:odd:one:k"]), UNRESTRICTED).facts
    assert [fact.session_id for fact in found] == ["odd:one"]
    assert adopted.delete(DeleteFactInput(key="k", scope="all"), Writer(unrestricted=True)).deleted == 1


def test_a_row_beyond_our_limits_can_still_be_acknowledged(
    foreign: psycopg.Connection, empty_database_url: str
) -> None:
    foreign.execute(UPSERT, {"key": "x" * 600, "value": "1"})
    with Database.open(empty_database_url) as db:
        migrate(db, fact_migrations())
    with open_fact_store(empty_database_url) as store:
        assert store.set_crawled([CrawlMark(scope_key="shared:" + "x" * 600)]).affected == 1


def test_an_adopted_row_is_claimed_and_acknowledged(adopted: FactStore) -> None:
    claimed = adopted.db.run(lambda conn: claim(conn, adopted.tables, owner="w", limit=99, lease=60))
    assert len(claimed) == 6
    with adopted.db.transaction() as conn:
        receipts = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in claimed]
        acknowledge(conn, adopted.tables, lock_pending(conn, adopted.tables, receipts))
    assert adopted.queue_statistics().pending == 0


def test_with_both_writing_no_receipt_acknowledges_unseen_content(  # noqa: C901 - two writers and a crawler
    adopted: FactStore, foreign: psycopg.Connection, empty_database_url: str
) -> None:
    """Whoever acknowledges has read the content: what is off the queue at the end was seen in its last version."""
    seen: dict[str, set[object]] = {}
    barrier = threading.Barrier(3)

    def ours() -> None:
        dice = random.Random(1)
        with open_fact_store(empty_database_url) as store:
            barrier.wait(20)
            for n in range(150):
                key = f"both/{dice.randrange(5)}"
                if n % 7 == 0:
                    store.delete(DeleteFactInput(key=key, shared=True))
                else:
                    store.store(StoreFactInput(key=key, value=f"ours {n}", shared=True))

    def theirs() -> None:
        dice = random.Random(2)
        barrier.wait(20)
        for n in range(150):
            key = f"both/{dice.randrange(5)}"
            if n % 11 == 0:
                foreign.execute("DELETE FROM pilotswarm_facts.facts WHERE key = %s", [key])
            else:
                foreign.execute(UPSERT, {"key": key, "value": f'"theirs {n}"'})

    writers = [threading.Thread(target=ours), threading.Thread(target=theirs)]
    for writer in writers:
        writer.start()
    barrier.wait(20)
    rounds_after = 0
    while rounds_after < 2:
        if not any(writer.is_alive() for writer in writers):
            rounds_after += 1
        page = adopted.read_uncrawled(limit=3)
        for each in page.facts:
            seen.setdefault(each.fact.scope_key, set()).add(None if each.fact.deleted else each.fact.value)
        if page.facts:
            adopted.set_crawled([CrawlMark(scope_key=e.fact.scope_key, etag=e.fact.etag) for e in page.facts])
            rounds_after = 0
    for n in range(5):
        row = adopted.inspect(f"shared:both/{n}")
        if row is not None:
            assert row.crawled
            assert (None if row.deleted else row.value) in seen[row.scope_key]
