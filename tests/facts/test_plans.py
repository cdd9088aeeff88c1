"""The hot queries touch a bounded number of rows among 200,000 facts: 1,000 pending, 1,000 parked, the rest at rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from facts import AccessContext
from facts.access import UNRESTRICTED
from facts.coverage import EVERYTHING, Coverage
from facts.embedded import EmbeddedServer
from facts.parameters import numbers, texts
from facts.tables import fact_tables
from facts.visibility import visible_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg.sql import Composed

FILL = (Path(__file__).parent / "fill.sql").read_text(encoding="utf-8")
TABLES = fact_tables()
S7 = AccessContext(reader_session_id="s7", granted_session_ids=frozenset({"s8"}))


@pytest.fixture(scope="module")
def large(server: EmbeddedServer, template_url: str) -> Iterator[psycopg.Connection]:
    name = "plans"
    url = server.create_database(name, template=str(conninfo_to_dict(template_url)["dbname"]))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FILL.encode())
        connection.execute("VACUUM ANALYZE pilotswarm_facts.facts, pilotswarm_facts.crawl_leases")
        yield connection
    server.drop_database(name)


def touched(node: dict[str, Any]) -> float:
    """Rows that the scans below a plan node produced or threw away; a bitmap counts in its index and in its heap."""
    below = sum(touched(child) for child in node.get("Plans", []))
    if "Scan" not in node["Node Type"] or node["Node Type"] in {"CTE Scan", "Subquery Scan", "Function Scan"}:
        return below
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return below + (node["Actual Rows"] + removed) * node["Actual Loops"]


def rows(connection: psycopg.Connection, query: Composed, parameters: dict[str, Any], mode: str = "auto") -> float:
    """What a query touches, its effect undone; a prepared statement may end up with a generic plan."""
    with connection.transaction(force_rollback=True):
        connection.execute(f"SET LOCAL plan_cache_mode = {mode}".encode())
        explain = b"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + query.as_bytes(connection)
        row = connection.execute(explain, parameters).fetchone()
    assert row is not None
    return touched(row[0][0]["Plan"])


def claim_parameters(coverage: Coverage, limit: int) -> dict[str, Any]:
    return {"owner": "w", "limit": limit, "lease": 60.0, **coverage.parameters()}


@pytest.mark.parametrize("mode", ("auto", "force_generic_plan"))
@pytest.mark.parametrize(
    "coverage", (EVERYTHING, Coverage(key_patterns=("c/1/%",)), Coverage(value_path="exists($.nodes)"))
)
def test_a_claim_touches_pending_facts_only(large: psycopg.Connection, coverage: Coverage, mode: str) -> None:
    # 1,000 parked ones with their leases are stepped over, then the due ones; each look-up of a lease counts too.
    assert rows(large, TABLES.claims.claim_due, claim_parameters(coverage, 1_000), mode) < 7_000
    assert rows(large, TABLES.claims.claim_expired, claim_parameters(coverage, 1_000), mode) < 10


def test_receipts_are_looked_up_even_when_estimates_call_the_queue_empty(large: psycopg.Connection) -> None:
    with large.transaction(force_rollback=True):
        large.execute("UPDATE pilotswarm_facts.facts SET last_crawled_at = NULL WHERE id <= 50000")
        keys = {
            "scope_keys": texts(f"shared:c/{n // 2 % 50}/{n}" for n in range(2, 402, 2)),
            "etags": numbers(range(2, 402, 2)),
        }
        # 200 receipts, each met three or four times over; a walk through the queue would be 50,000.
        assert rows(large, TABLES.receipts.lock_pending, keys) <= 1_000


@pytest.mark.parametrize("mode", ("auto", "force_generic_plan"))
def test_receipts_touch_their_own_facts_only(large: psycopg.Connection, mode: str) -> None:
    found = large.execute(
        "SELECT id, scope_key, etag FROM pilotswarm_facts.facts WHERE last_crawled_at IS NULL AND id > 199000 LIMIT 500"
    ).fetchall()
    ids = {"fact_ids": numbers(row[0] for row in found)}
    keys = {"scope_keys": texts(row[1] for row in found)}
    assert rows(large, TABLES.receipts.lock_pending, {**keys, "etags": numbers(row[2] for row in found)}, mode) <= 3_000
    assert rows(large, TABLES.receipts.acknowledge, ids, mode) <= 2_000
    assert rows(large, TABLES.receipts.current_versions, keys, mode) <= 3_000
    assert rows(large, TABLES.receipts.lock_cited, keys, mode) <= 3_000
    assert rows(large, TABLES.receipts.requeue, keys, mode) <= 3_000


def read_parameters(access: AccessContext, **narrowing: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("like", "tags", "session_id", "agent_id", "after_time", "after_id"))
    sight = {"wants_shared": True, "private_sessions": access.sessions, "limit": 51}
    return nothing | sight | narrowing | visible_parameters(access)


# Two sessions own 200 facts; which plan is chosen, and so how often a row is handed on in it, follows from a sample.
@pytest.mark.parametrize(
    ("narrowing", "most"),
    (
        ({}, 2_000),
        ({"wants_shared": False}, 2_000),
        ({"private_sessions": []}, 2_000),
        ({"like": "c/7/1%"}, 9_000),
        ({"tags": ["t7"]}, 9_000),
        ({"after_time": 1_767_300_000_000_000, "after_id": 100_000}, 2_000),
    ),
)
def test_a_restricted_read_never_walks_through_what_others_own(
    large: psycopg.Connection, narrowing: dict[str, Any], most: int
) -> None:
    assert rows(large, TABLES.reads.read_restricted, read_parameters(S7, **narrowing)) < most


def test_a_wide_read_stops_at_its_limit(large: psycopg.Connection) -> None:
    assert rows(large, TABLES.reads.read_wide, read_parameters(UNRESTRICTED)) < 200


def test_scope_keys_are_looked_up_not_searched(large: psycopg.Connection) -> None:
    keys = {"scope_keys": texts(f"shared:c/{n // 2 % 50}/{n}" for n in range(2, 402, 2))}
    sight = {"wants_private": True, "own_session": None}
    assert rows(large, TABLES.reads.read_keys, read_parameters(S7, **keys, **sight)) <= 1_000
    assert rows(large, TABLES.reads.readable, {**keys, **visible_parameters(S7)}) <= 1_000


def test_a_page_of_the_queue_touches_pending_facts_only(large: psycopg.Connection) -> None:
    parameters = {"likes": None, "after_id": 0, "limit": 21, **visible_parameters(UNRESTRICTED)}
    assert rows(large, TABLES.queue.read_uncrawled, parameters) < 100
    assert rows(large, TABLES.queue.read_uncrawled, {**parameters, "likes": ["c/1/%"]}) < 7_000
    assert rows(large, TABLES.queue.last_crawled, {"likes": None}) < 10
    assert rows(large, TABLES.queue.totals, {}) < 7_000
    assert rows(large, TABLES.queue.totals_below, {"likes": ["c/1/%"]}) < 7_000
    uncovered = {"likes": None, **Coverage(key_patterns=("c/1/%",)).parameters()}
    assert rows(large, TABLES.queue.count_uncovered, uncovered) < 7_000


def test_the_length_of_the_queue_does_not_depend_on_its_length(large: psycopg.Connection) -> None:
    with large.transaction(force_rollback=True):
        large.execute("DELETE FROM pilotswarm_facts.crawl_leases")
        large.execute("UPDATE pilotswarm_facts.facts SET last_crawled_at = NULL WHERE id <= 50000")
        assert rows(large, TABLES.queue.totals, {}) < 10


def test_a_purge_touches_tombstones_only(large: psycopg.Connection) -> None:
    assert rows(large, TABLES.tombstones.lock_purgeable, {"ttl": 3600.0, "limit": 1_000}) < 1_000
    assert rows(large, TABLES.tombstones.statistics, {"ttl": 3600.0}) < 1_000


def test_a_prefix_is_found_by_its_index(large: psycopg.Connection) -> None:
    parameters = {"like": "c/1/1000%", "listed": 500, **visible_parameters(UNRESTRICTED)}
    assert rows(large, TABLES.queue.close_below, parameters) < 500
    session = {"session_ids": ["s7", "s8"]}
    assert rows(large, TABLES.deletes.lock_session_facts, session) < 2_000


def test_a_store_touches_its_own_facts_only(large: psycopg.Connection) -> None:
    batch = (
        "["
        + ",".join(
            f'{{"scope_key":"shared:{key}","key":"{key}","value":1,"shared":true,"tags":[]}}'
            for key in (f"c/{n // 2 % 50}/{n}" for n in range(2, 202, 2))
        )
        + "]"
    )
    assert rows(large, TABLES.writes.store, {"batch": batch, "agent_id": None, "session_id": None}) <= 100
