"""A fact store and a graph on a database of the test's own."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import pytest

from facts import open_fact_store
from graph.store import open_graph_store
from tests.graph.upkeep_world import tell
from tests.graph.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from facts.embedded import EmbeddedServer

_numbers = itertools.count(1)


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts) as graph:
        yield World(facts, graph)


@pytest.fixture(scope="session")
def told_template(server: EmbeddedServer, template_url: str) -> str:
    """A database in which everything was told that the tables can hold."""
    assert template_url
    name = "told_template"
    url = server.create_database(name, template="harvester_template")
    with open_fact_store(url) as facts, open_graph_store(facts=facts) as graph:
        tell(World(facts, graph))
    return name


@pytest.fixture
def told(server: EmbeddedServer, told_template: str) -> Iterator[World]:
    """A copy of it."""
    name = f"told_{os.getpid()}_{next(_numbers)}"
    url = server.create_database(name, template=told_template)
    with open_fact_store(url) as facts, open_graph_store(facts=facts) as graph:
        yield World(facts, graph)
    server.drop_database(name)
