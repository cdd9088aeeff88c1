"""A PostgreSQL that is stopped or killed whole, stays away, and is started again: the harvester outlives it."""

import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from facts import open_fact_store
from facts.embedded import EmbeddedServer
from tests.benchmarks.databases import OURS, fresh, make_templates
from tests.chaos.test_server_deaths import QUICK, SEED, at_most
from tests.chaos.workload import Workload, start, wait_for

ROUNDS = max(3, int(os.environ.get("HARVESTER_CHAOS_ROUNDS", "10")) // 3)
AWAY_SECONDS = float(os.environ.get("HARVESTER_CHAOS_AWAY_SECONDS", "1"))
FACTS_A_ROUND = 300
# What each signal means to a postmaster: pg_ctl's modes `fast` and `immediate`, and a machine's sudden end.
ENDS = {"stopped fast": signal.SIGINT, "stopped at once": signal.SIGQUIT, "postmaster killed": signal.SIGKILL}


@pytest.fixture
def own_server() -> Iterator[EmbeddedServer]:
    """A server of this test's own, with the disk waited for as in production."""
    with (
        tempfile.TemporaryDirectory(prefix="harvester-outage-") as scratch,
        EmbeddedServer.start(Path(scratch) / "pgdata") as running,
    ):
        make_templates(running)
        yield running


def is_started(server: EmbeddedServer) -> bool:
    """Start it (the wheel offers no such call); refused while processes of a killed postmaster hold its memory."""
    try:
        server._server.ensure_postgres_running()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return False
    return True


def end_and_start(server: EmbeddedServer, how: signal.Signals, url: str) -> None:
    """End the server, leave it away for a while, start it again."""
    os.kill(server.pid, how)
    wait_for(lambda: not answers(url))
    threading.Event().wait(AWAY_SECONDS)
    wait_for(lambda: is_started(server) and answers(url))


def answers(url: str) -> bool:
    """Whether the server takes a connection."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.chaos
@pytest.mark.timeout(1_800)
def test_a_server_that_ends_in_any_way_and_comes_back_costs_no_fact(own_server: EmbeddedServer, tmp_path: Path) -> None:
    print(f"seed {SEED} (HARVESTER_CHAOS_SEED repeats it)")
    chance, began, faults = random.Random(SEED), time.monotonic(), Counter[str]()
    kinds = [list(ENDS)[number % len(ENDS)] for number in range(ROUNDS)]
    chance.shuffle(kinds)
    work = Workload(count=ROUNDS * FACTS_A_ROUND, hot=50, seed=SEED)
    with fresh(own_server, OURS) as url:
        with open_fact_store(url) as facts:
            work.store(facts)
        harvester = start(url, tmp_path, **QUICK)
        try:
            for number, kind in enumerate(kinds):
                goal = (ROUNDS - number) * FACTS_A_ROUND - chance.randrange(1, FACTS_A_ROUND)
                wait_for(lambda goal=goal: at_most(url, goal))
                end_and_start(own_server, ENDS[kind], url)
                faults[kind] += 1
            wait_for(lambda: at_most(url, 0))
        finally:
            harvester.send_signal(signal.SIGTERM)
            ended = harvester.wait(timeout=40)
        assert ended == 0
        work.check(url)
    print(f"{dict(faults)}, facts: {len(work.versions)}, seconds: {time.monotonic() - began:.1f}")
