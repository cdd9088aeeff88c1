"""Stores on a database of the test's own, and facts as a claim hands them out."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawler.caller import Caller
from crawler.harvest import Harvester, Pace
from crawler.registry import Desk, call_tool
from crawler.rules import read_rules
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores
from facts import StoreFactInput
from facts.access import Role
from facts.receipts import ClaimedFact
from facts.reserved import RESERVED_PREFIXES

RESERVED = [each.prefix for each in RESERVED_PREFIXES]
HARVESTER = Path(sys.executable).with_name("harvester")
_owners = itertools.count(1)


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=database_url, poll_min_seconds=0.02, poll_max_seconds=0.1)


@pytest.fixture
def stores(settings: Settings, database_url: str) -> Iterator[Stores]:
    with connect_stores(database_url, settings) as opened:
        yield opened


@pytest.fixture
def environment(database_url: str) -> dict[str, str]:
    """For commands in processes of their own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HARVESTER_", "GIT_"))}
    return clean | {"HARVESTER_DATABASE_URL": database_url, "COLUMNS": "120", "NO_COLOR": "1"}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Callable[..., Any]:
    """Runs the command in a process of its own: `run("stats", "--json", code=0)`."""

    def command(*arguments: str, given: str | None = None, code: int = 0, **extra: str) -> Any:
        done = subprocess.run(
            [HARVESTER, *arguments], input=given, capture_output=True, text=True, cwd=tmp_path, env=environment | extra,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return command


@pytest.fixture
def harvester(stores: Stores) -> Callable[..., Harvester]:
    """Makes harvesters: `harvester(config, **pace)`."""

    def make(config: dict[str, Any] | None = None, **pace: Any) -> Harvester:
        rules = read_rules(config or {}, reserved_prefixes=RESERVED)
        return Harvester(stores.facts, stores.needed_graph(), rules, owner=f"test:{next(_owners)}", pace=Pace(**pace))

    return make


@pytest.fixture
def put(stores: Stores) -> Callable[..., None]:
    """Stores shared facts: `put({"key": value})`."""

    def store(facts: dict[str, Any]) -> None:
        stores.facts.store([StoreFactInput(key=key, value=value, shared=True) for key, value in facts.items()])

    return store


@pytest.fixture
def call(stores: Stores) -> Callable[..., dict[str, Any]]:
    """Calls a tool: `call("read_facts", role=Role.AGENT, session="s1", agent="a", limit=3)`."""

    def run(
        tool: str, *, role: Role = Role.AGENT, session: str | None = "s1", agent: str = "worker", budget: int = 200_000,
        **arguments: Any,
    ) -> dict[str, Any]:  # fmt: skip
        caller = Caller(role=role, session_id=session, agent_id=agent)
        return call_tool(
            tool, arguments, Desk(facts=stores.facts, graph_store=stores.graph, caller=caller, budget=budget)
        )

    return run


def claimed(value: Any = None, *, key: str = "k", deleted: bool = False) -> ClaimedFact:
    return ClaimedFact(
        fact_id=1, scope_key=f"shared:{key}", key=key, value=value, etag=1, deleted=deleted, session_id=None,
        agent_id=None, shared=True, tags=("t1",), attempts=1,
    )  # fmt: skip


def triple(subject: str, predicate: str, target: str, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": target, **more}
