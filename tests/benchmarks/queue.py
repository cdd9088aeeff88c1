"""Our claim and acknowledgement against bare loops of FOR UPDATE SKIP LOCKED: on the table of the facts, with its indexes
and triggers, and on a table of nothing but a queue.
"""

import json
from collections.abc import Sequence
from time import perf_counter

import psycopg
from psycopg.sql import Composed

from facts import open_fact_store
from facts.coverage import EVERYTHING
from facts.queue import claim
from facts.receipts import Receipt, acknowledge, lock_pending
from tests.benchmarks import raw
from tests.benchmarks.steps import Run
from tests.benchmarks.workload import Fact

BATCH = 500
LEASE_S = 60.0
LARGE_BATCH = 100


def ours(url: str, *, size: int) -> Run:
    """Claim by lease insert in one transaction, lock and acknowledge in the next, as a harvester does."""
    facts = open_fact_store(url)
    began, done = perf_counter(), 0
    while claimed := facts.db.run(
        lambda connection: claim(
            connection, facts.tables, owner="bench", limit=BATCH, lease=LEASE_S, coverage=EVERYTHING
        )
    ):
        receipts = [Receipt(scope_key=fact.scope_key, etag=fact.etag) for fact in claimed]
        with facts.db.transaction() as connection:
            locked = lock_pending(connection, facts.tables, receipts)
            acknowledge(connection, facts.tables, locked)
        done += len(locked)
    seconds = perf_counter() - began
    facts.close()
    if done != size:
        raise AssertionError(f"{done} of {size} facts were acknowledged")
    return Run(system="claim + acknowledge", size=size, facts=size, seconds=seconds)


def fill_bare(url: str, facts: Sequence[Fact]) -> None:
    """The same rows in a table of their own."""
    with psycopg.connect(url) as connection:
        connection.execute(raw.queries().create_queue)
        connection.execute(raw.queries().fill_queue, {"values": [json.dumps(fact.value) for fact in facts]})


def on_facts(url: str, *, size: int) -> Run:
    """The bare loop on the facts themselves."""
    sql = raw.queries()
    return _bare(url, "bare SKIP LOCKED", (sql.claim_on_facts, sql.acknowledge_on_facts), size)


def apart(url: str, *, size: int) -> Run:
    """The bare loop on a table that has nothing but a queue."""
    sql = raw.queries()
    return _bare(url, "bare SKIP LOCKED, apart", (sql.claim_bare, sql.acknowledge_bare), size)


def _bare(url: str, system: str, statements: tuple[Composed, Composed], size: int) -> Run:
    """Claim and conditional acknowledgement under one row lock, in one transaction."""
    claiming, acknowledging = statements
    done = 0
    with psycopg.connect(url) as connection:
        began = perf_counter()
        while rows := connection.execute(claiming, {"limit": BATCH}).fetchall():
            claimed = {"ids": [row[0] for row in rows], "etags": [row[1] for row in rows]}
            done += connection.execute(acknowledging, claimed).rowcount
            connection.commit()
        seconds = perf_counter() - began
    if done != size:
        raise AssertionError(f"{done} of {size} rows were acknowledged")
    return Run(system=system, size=size, facts=size, seconds=seconds)


def fill_large(url: str, size: int) -> None:
    """A store at rest: a thousand facts are parked and a thousand due."""
    sql = raw.queries()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.fill_large, {"size": size})
        connection.execute(sql.rest_large, {"size": size})
        connection.execute(sql.park_large)
        connection.execute(sql.settle_large)


def in_large(url: str, *, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of single claims and of looks at the queue's numbers; each claim is undone."""
    found: dict[str, list[float]] = {f"claim of {LARGE_BATCH}": [], "queue statistics": []}
    with open_fact_store(url) as facts:
        for _ in range(rounds):
            with facts.db.transaction() as connection, connection.transaction(force_rollback=True):
                began = perf_counter()
                claimed = claim(connection, facts.tables, owner="bench", limit=LARGE_BATCH, lease=LEASE_S)
                found[f"claim of {LARGE_BATCH}"].append((perf_counter() - began) * 1_000)
            if len(claimed) != LARGE_BATCH:
                raise AssertionError(f"{len(claimed)} facts were claimed")
            began = perf_counter()
            numbers = facts.queue_statistics()
            found["queue statistics"].append((perf_counter() - began) * 1_000)
            if (numbers.pending, numbers.parked) != (2_000, 1_000):
                raise AssertionError(f"the queue is {numbers}")
    return found
