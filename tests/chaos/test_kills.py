"""Harvesters that are killed, cut off and run side by side: nothing lost, nothing doubled, nothing held."""

import os
import random
import signal
from pathlib import Path

import psycopg
import pytest

from facts import DeleteFactInput, open_fact_store
from facts.embedded import EmbeddedServer
from tests.chaos.workload import Workload, pending, start, wait_for

ROUNDS = int(os.environ.get("HARVESTER_CHAOS_ROUNDS", "10"))
FACTS = int(os.environ.get("HARVESTER_CHAOS_FACTS", "3000"))
QUICK = {"HARVESTER_BATCH_SIZE": "100", "HARVESTER_LEASE_SECONDS": "1", "HARVESTER_POLL_MAX_SECONDS": "0.2"}
# After a kill, what the dead one held is claimed one fact at a time: a smaller batch keeps the tail short.
HELD = {"HARVESTER_BATCH_SIZE": "40"}


def finish(url: str, folder: Path, seconds: float = 120.0) -> None:
    """One undisturbed harvester drains what is left, expired leases included."""
    last = start(url, folder, **QUICK)
    try:
        wait_for(lambda: pending(url) == 0, seconds)
    finally:
        last.send_signal(signal.SIGTERM)
        assert last.wait(timeout=40) == 0


@pytest.mark.chaos
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_harvesters_killed_at_random_moments_lose_and_double_nothing(
    database_url: str, tmp_path: Path, workers: str
) -> None:
    chance = random.Random(int(workers))
    work = Workload(count=ROUNDS * 150, hot=50)
    with open_fact_store(database_url) as facts:
        work.store(facts)
    for _ in range(ROUNDS if workers == "1" else max(2, ROUNDS // 3)):
        left = pending(database_url)
        harvester = start(database_url, tmp_path, "--workers", workers, **(QUICK | HELD))
        goal = chance.randrange(1, max(2, left // 3))
        wait_for(lambda left=left, goal=goal: pending(database_url) <= left - goal or pending(database_url) == 0)
        harvester.kill()
        harvester.wait(timeout=20)
    finish(database_url, tmp_path)
    work.check(database_url)


@pytest.mark.chaos
@pytest.mark.timeout(1_800)
def test_two_harvesters_over_the_same_hot_nodes_leave_the_fold_and_no_deadlock(
    database_url: str, server: EmbeddedServer, tmp_path: Path
) -> None:
    work = Workload(count=FACTS, hot=min(500, FACTS // 10))
    with open_fact_store(database_url) as facts:
        work.store(facts)
        began = server.log_path.stat().st_size
        both = [start(database_url, tmp_path, "--once", HARVESTER_BATCH_SIZE="250") for _ in range(2)]
        assert [each.wait(timeout=900) for each in both] == [0, 0]
        work.check(database_url)
        for number, key in enumerate(list(work.versions)):
            if number % 3 == 0:
                work.edit(key)
            elif number % 3 == 1:
                work.deleted.add(key)
                facts.delete(DeleteFactInput(key=key, shared=True))
        work.store(facts)
        both = [start(database_url, tmp_path, "--once", HARVESTER_BATCH_SIZE="250") for _ in range(2)]
        assert [each.wait(timeout=900) for each in both] == [0, 0]
    work.check(database_url)
    with server.log_path.open("rb") as log:
        log.seek(began)
        said = log.read()
    assert b"40P01" not in said
    assert b"deadlock detected" not in said


@pytest.mark.chaos
def test_connections_that_are_cut_cost_nothing(database_url: str, tmp_path: Path) -> None:
    work = Workload(count=1_500, hot=30)
    with open_fact_store(database_url) as facts:
        work.store(facts)
    harvester = start(database_url, tmp_path, **QUICK)
    with psycopg.connect(database_url, autocommit=True) as conn:
        for cut in range(1, 4):
            wait_for(lambda cut=cut: pending(database_url) <= 1_500 - cut * 300)
            conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
    wait_for(lambda: pending(database_url) == 0)
    harvester.send_signal(signal.SIGTERM)
    assert harvester.wait(timeout=40) == 0
    work.check(database_url)
