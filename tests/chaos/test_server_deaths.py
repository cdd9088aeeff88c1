"""Server processes that are killed under a harvester: PostgreSQL recovers, the harvester waits, the fold stays."""

import os
import random
import signal
import time
from pathlib import Path

import psycopg
import pytest

from facts import open_fact_store
from tests.chaos.workload import Workload, pending, start, wait_for

ROUNDS = max(3, int(os.environ.get("HARVESTER_CHAOS_ROUNDS", "10")) // 3)
SEED = int(os.environ.get("HARVESTER_CHAOS_SEED", "0")) or random.SystemRandom().randrange(1, 2**31)
FACTS_A_ROUND = 300
QUICK = {"HARVESTER_BATCH_SIZE": "100", "HARVESTER_LEASE_SECONDS": "1", "HARVESTER_POLL_MAX_SECONDS": "0.2"}


def left(url: str) -> int | None:
    """How many facts are pending; None while the server recovers."""
    try:
        return pending(url)
    except psycopg.OperationalError:
        return None


def at_most(url: str, goal: int) -> bool:
    """Whether no more than this many facts are pending, as far as the server answers."""
    found = left(url)
    return found is not None and found <= goal


def kill_a_backend(url: str, chance: random.Random) -> bool:
    """SIGKILL to one of the server processes that serve the harvester; False when there is none at this moment.

    The postmaster then ends all others and recovers from its log.
    """
    try:
        with psycopg.connect(url, autocommit=True) as conn:
            rows = conn.execute(
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
                " AND backend_type = 'client backend' ORDER BY pid"
            ).fetchall()
    except psycopg.OperationalError:
        return False
    if not rows:
        return False
    os.kill(chance.choice(rows)[0], signal.SIGKILL)
    return True


@pytest.mark.chaos
@pytest.mark.timeout(1_800)
def test_backends_killed_at_random_moments_lose_and_double_nothing(database_url: str, tmp_path: Path) -> None:
    print(f"seed {SEED} (HARVESTER_CHAOS_SEED repeats it)")
    chance, began, killed = random.Random(SEED), time.monotonic(), 0
    work = Workload(count=ROUNDS * FACTS_A_ROUND, hot=50, seed=SEED)
    with open_fact_store(database_url) as facts:
        work.store(facts)
    harvester = start(database_url, tmp_path, **QUICK)
    try:
        for number in range(ROUNDS):
            goal = (ROUNDS - number) * FACTS_A_ROUND - chance.randrange(1, FACTS_A_ROUND)
            wait_for(lambda goal=goal: at_most(database_url, goal))
            wait_for(lambda: kill_a_backend(database_url, chance))
            killed += 1
        wait_for(lambda: at_most(database_url, 0))
    finally:
        harvester.send_signal(signal.SIGTERM)
        ended = harvester.wait(timeout=40)
    assert ended == 0
    work.check(database_url)
    print(f"backends killed: {killed}, facts: {len(work.versions)}, seconds: {time.monotonic() - began:.1f}")
