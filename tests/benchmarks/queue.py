"""Our claim and acknowledgement against a bare loop of FOR UPDATE SKIP LOCKED over rows of the same content."""

import json
from collections.abc import Sequence
from time import perf_counter

import psycopg

from facts import open_fact_store
from facts.coverage import EVERYTHING
from facts.queue import claim
from facts.receipts import Receipt, acknowledge, lock_pending
from tests.benchmarks import raw
from tests.benchmarks.steps import Run
from tests.benchmarks.workload import Fact

BATCH = 500
LEASE_S = 60.0


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


def bare(url: str, *, size: int) -> Run:
    """Claim and conditional acknowledgement under one row lock, in one transaction."""
    sql, done = raw.queries(), 0
    with psycopg.connect(url) as connection:
        began = perf_counter()
        while rows := connection.execute(sql.claim_bare, {"limit": BATCH}).fetchall():
            claimed = {"ids": [row[0] for row in rows], "etags": [row[1] for row in rows]}
            done += connection.execute(sql.acknowledge_bare, claimed).rowcount
            connection.commit()
        seconds = perf_counter() - began
    if done != size:
        raise AssertionError(f"{done} of {size} rows were acknowledged")
    return Run(system="bare SKIP LOCKED", size=size, facts=size, seconds=seconds)
