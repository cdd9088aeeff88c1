"""Facts that share hot nodes, what they say as the oracle's ledger, and the processes that are killed."""

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from facts import FactStore, StoreFactInput
from tests.fold.observed import label_tables
from tests.oracle.compare import assert_same
from tests.oracle.fold import fold
from tests.oracle.model import Assertions, LedgerRow, Mention, Ref, Statement

HARVESTER = Path(sys.executable).with_name("harvester")
CONFIDENCE = 0.25
BATCH = 1_000


class Workload:
    """``count`` facts over ``hot`` hot nodes; version 1 names another hot node than version 0."""

    def __init__(self, count: int, hot: int, *, seed: int = 1) -> None:
        chance = random.Random(seed)
        self.hot = hot
        self.versions = {f"log/{number}": (number, chance.randrange(hot), 0) for number in range(count)}
        self.deleted: set[str] = set()

    def ends(self, key: str) -> tuple[str, str]:
        number, hot, version = self.versions[key]
        return f"Visitor {number % 997}", f"Harbour {(hot + version) % self.hot}"

    def value(self, key: str) -> dict[str, Any]:
        """In the canonical shape of the triples extractor."""
        visitor, harbour = ({"kind": "ship", "name": self.ends(key)[0]}, {"kind": "port", "name": self.ends(key)[1]})
        edge = {"from": visitor, "to": harbour, "predicate": "calls at", "confidence": CONFIDENCE}
        return {"nodes": [visitor, harbour], "edges": [edge]}

    def edit(self, key: str) -> None:
        number, hot, version = self.versions[key]
        self.versions[key] = (number, hot, version + 1)

    def store(self, facts: FactStore) -> None:
        """Everything that is alive, in batches."""
        inputs = [
            StoreFactInput(key=key, value=self.value(key), shared=True)
            for key in self.versions
            if key not in self.deleted
        ]
        for at in range(0, len(inputs), BATCH):
            facts.store(inputs[at : at + BATCH])

    def ledger(self, ids: dict[str, int]) -> Iterator[LedgerRow]:
        """What the facts that are alive say, as the page has it."""
        for key in self.versions.keys() - self.deleted:
            ship, port = self.ends(key)
            yield LedgerRow(
                fact_id=ids[f"shared:{key}"], scope_key=f"shared:{key}", etag=0, writer="triples",
                nodes=(Mention(kind="ship", name=ship), Mention(kind="port", name=port)),
                edges=(Statement(source=Ref(kind="ship", name=ship), target=Ref(kind="port", name=port),
                                 predicate="calls at", confidence=CONFIDENCE),),
            )  # fmt: skip

    def check(self, url: str) -> None:
        """Nothing lost, nothing doubled, nothing held: the queue is empty and the graph is the fold of the live facts."""
        with psycopg.connect(url) as conn:
            ids: dict[str, int] = dict(conn.execute("SELECT scope_key, id FROM pilotswarm_facts.facts").fetchall())
            waiting = conn.execute(
                "SELECT count(*) FROM pilotswarm_facts.facts WHERE last_crawled_at IS NULL"
            ).fetchone()
            leases = conn.execute("SELECT count(*) FROM pilotswarm_facts.crawl_leases").fetchone()
            assert (waiting, leases) == ((0,), (0,))
            expected = fold(self.ledger(ids), Assertions(), ())
            seen = label_tables(conn)
        assert_same(expected, seen)


def start(url: str, folder: Path, *arguments: str, **settings: str) -> "subprocess.Popen[str]":
    """`harvester run` as a process of its own, output to a file (a pipe nobody reads would stop it)."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HARVESTER_", "GIT_"))}
    output = (folder / "harvester.log").open("a", encoding="utf-8")
    with output:
        return subprocess.Popen(
            [HARVESTER, "run", *arguments], cwd=folder, env=clean | {"HARVESTER_DATABASE_URL": url} | settings,
            stdout=output, stderr=output, text=True,
        )  # fmt: skip


def wait_for(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    """Look again and again until it holds, or fail at the deadline."""
    tick = threading.Event()
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        tick.wait(0.02)
    pytest.fail("it did not happen in time")


def pending(url: str) -> int:
    """How many facts are on the queue."""
    with psycopg.connect(url) as conn:
        row = conn.execute("SELECT count(*) FROM pilotswarm_facts.facts WHERE last_crawled_at IS NULL").fetchone()
    return int(row[0]) if row else -1
