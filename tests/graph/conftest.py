"""A fact store and a graph on a database of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from facts import open_fact_store
from graph.store import open_graph_store
from tests.graph.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with open_fact_store(database_url) as facts, open_graph_store(facts=facts) as graph:
        yield World(facts, graph)
