"""Databases that are served as they are deployed, each filled once for a file of tests."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from crawler.serving.keys import Keys
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores
from tests.conftest import TEMPLATE
from tests.crawler.serving.served import clean_environment, running
from tests.sight.faces import Place


@pytest.fixture(scope="module")
def settle(server, template_url, tmp_path_factory) -> Iterator[Callable[..., Place]]:
    """Fills a database and serves it: `settle(fill, HARVESTER_GRAPH_TOPOLOGY="visible")`."""
    assert template_url
    with ExitStack() as stack:
        made: list[str] = []

        def settled(fill: Callable[[Stores], None], **settings: str) -> Place:
            name = f"sight_{os.getpid()}_{len(made)}"
            url = server.create_database(name, template=TEMPLATE)
            stack.callback(server.drop_database, name)
            made.append(name)
            folder = tmp_path_factory.mktemp("sight")
            environment = clean_environment(url) | settings
            stores = stack.enter_context(connect_stores(url, Settings(database_url=url)))
            fill(stores)
            keys = Keys(stores.facts.db, "pilotswarm_facts")
            return Place(
                served=stack.enter_context(running(environment, folder)), keys=keys, environment=environment,
                folder=folder,
            )  # fmt: skip

        yield settled
