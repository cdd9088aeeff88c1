"""One database and one HTTP server for a file of tests, emptied between them: a process takes a second to start."""

import os
from pathlib import Path

import pytest

from crawler.serving.keys import Keys
from tests.crawler.protocol.faces import Open, at_http, at_stdio
from tests.crawler.serving.served import clean_environment, empty, running


@pytest.fixture(scope="module")
def database_url(server, template_url, request):
    assert template_url
    name = f"protocol_{os.getpid()}_{request.module.__name__.rpartition('.')[2]}"
    yield server.create_database(name, template="harvester_template")
    server.drop_database(name)


@pytest.fixture(autouse=True)
def emptied(database_url):
    yield
    empty(database_url)


@pytest.fixture(scope="module")
def environment(database_url: str) -> dict[str, str]:
    return clean_environment(database_url) | {"HARVESTER_POOL_SIZE": "9", "HARVESTER_MAX_MESSAGE_BYTES": "2000000"}


@pytest.fixture
def stdio(environment, tmp_path: Path) -> Open:
    return at_stdio(environment, tmp_path)


@pytest.fixture(scope="module")
def http_url(environment, tmp_path_factory):
    with running(environment, tmp_path_factory.mktemp("http")) as served:
        yield f"{served.url}/mcp"


@pytest.fixture
def keys(stores) -> Keys:
    return Keys(stores.facts.db, stores.facts.tables.schema)


@pytest.fixture
def http_face(http_url, keys) -> Open:
    """The way in that needs no process for each client, where both ways share what is tested."""
    return at_http(http_url, keys)


@pytest.fixture(params=["stdio", "http_face"])
def face(request) -> Open:
    """Each way in: `async with face(role="crawler", session="s1") as client`."""
    return request.getfixturevalue(request.param)
