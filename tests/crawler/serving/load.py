"""Many readers at once against `harvester serve`: `python -m tests.crawler.serving.load` is what `make load` runs.

Loopback only, keep-alive connections, each reader a key of its own and one request after the other. What is counted:
every answer by its status; a 503 is an answer (come back later), any other 5xx a fault.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from crawler.harvest import Harvester
from crawler.rules import read_rules
from crawler.serving.keys import Keys
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores, migrate_all
from facts import StoreFactInput
from facts.embedded import EmbeddedServer
from facts.reserved import RESERVED_PREFIXES
from tests.crawler.serving.served import clean_environment, key_request, running

FACTS = 2_000
NAMES = 500
READERS = 200
SECONDS = 60.0
READS = (
    "/v1/facts?keyPattern=deps/{n}/*&limit=20",
    "/v1/nodes?nameLike=thing%20{n}&limit=20",
    "/v1/edges?fromKey=thing:thing-{n}&limit=20",
    "/v1/neighbourhood?nodeKey=thing:thing-{n}&depth=1&maxNodes=50",
    "/v1/namespaces",
)


@dataclass
class Measured:
    statuses: Counter = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    lasted: float = 0.0

    def figures(self) -> dict[str, object]:
        took = sorted(self.seconds)
        return {
            "requests": sum(self.statuses.values()),
            "statuses": {str(status): count for status, count in sorted(self.statuses.items())},
            "perSecond": round(sum(self.statuses.values()) / self.lasted, 1),
            "p50ms": round(took[len(took) // 2] * 1000, 1),
            "p95ms": round(took[int(len(took) * 0.95)] * 1000, 1),
            "seconds": round(self.lasted, 1),
        }

    @property
    def faults(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 500 and status != 503)


def fill(stores: Stores, facts: int = FACTS) -> None:
    def said(n: int) -> dict[str, object]:
        return {"subject": f"thing {n % NAMES}", "subject_type": "thing", "predicate": "depends on",
                "object": f"thing {(n * 7 + 1) % NAMES}", "object_type": "thing", "confidence": 0.7}  # fmt: skip

    stores.facts.store([StoreFactInput(key=f"deps/{n % NAMES}/{n}", value=said(n), shared=True) for n in range(facts)])
    rules = read_rules({}, reserved_prefixes=[each.prefix for each in RESERVED_PREFIXES])
    Harvester(stores.facts, stores.needed_graph(), rules, owner="load").drain()


def tokens(stores: Stores, count: int) -> list[str]:
    keys = Keys(stores.facts.db, stores.facts.tables.schema)
    return [keys.create(key_request("agent", session=f"reader-{n}")).token for n in range(count)]


async def read_for(url: str, held: list[str], seconds: float) -> Measured:
    measured = Measured()
    limits = httpx.Limits(max_connections=len(held), max_keepalive_connections=len(held))
    began = time.perf_counter()
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        await asyncio.gather(*(_reader(client, token, began + seconds, measured) for token in held))
    measured.lasted = time.perf_counter() - began
    return measured


async def _reader(client: httpx.AsyncClient, token: str, until: float, measured: Measured) -> None:
    chance = random.Random(token)
    headers = {"authorization": f"Bearer {token}"}
    while (sent := time.perf_counter()) < until:
        path = chance.choice(READS).format(n=chance.randrange(NAMES))
        answer = await client.get(path, headers=headers)
        measured.statuses[answer.status_code] += 1
        measured.seconds.append(time.perf_counter() - sent)


def main(seconds: float) -> int:
    with (
        tempfile.TemporaryDirectory(prefix="harvester-load-") as scratch,
        EmbeddedServer.start(Path(scratch) / "pgdata") as server,
    ):
        settings = Settings(database_url=server.url)
        migrate_all(server.url, settings)
        with connect_stores(server.url, settings) as stores:
            fill(stores)
            held = tokens(stores, READERS)
        with running(clean_environment(server.url), Path(scratch)) as served:
            measured = asyncio.run(read_for(served.url, held, seconds))
    print(json.dumps({"readers": READERS, **measured.figures()}))
    return 1 if measured.faults else 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
