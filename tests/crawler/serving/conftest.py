"""One database and one server process for a file of tests, emptied between them."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx
import pytest

from crawler.serving.keys import Keys
from crawler.settings import Settings
from crawler.wiring import Stores, connect_stores
from tests.crawler.serving.served import HARVESTER, Served, clean_environment, empty, key_request, running


@pytest.fixture(scope="module")
def database_url(server, template_url, request):
    assert template_url
    name = f"serving_{os.getpid()}_{request.module.__name__.rpartition('.')[2]}"
    yield server.create_database(name, template="harvester_template")
    server.drop_database(name)


@pytest.fixture(scope="module")
def module_stores(database_url: str) -> Iterator[Stores]:
    with connect_stores(database_url, Settings(database_url=database_url)) as opened:
        yield opened


@pytest.fixture
def stores(module_stores: Stores) -> Stores:
    return module_stores


@pytest.fixture(autouse=True)
def emptied(database_url):
    yield
    empty(database_url)


@pytest.fixture(scope="module")
def served(database_url: str, tmp_path_factory) -> Iterator[Served]:
    environment = clean_environment(database_url) | {"HARVESTER_MAX_MESSAGE_BYTES": "2000000"}
    with running(environment, tmp_path_factory.mktemp("serve")) as found:
        yield found


@pytest.fixture
def keys(stores: Stores) -> Keys:
    return Keys(stores.facts.db, "pilotswarm_facts")


@pytest.fixture
def token(keys: Keys) -> Callable[..., str]:
    """Makes keys: `token("agent", session="s1")`."""
    return lambda role="agent", **bound: keys.create(key_request(role, **bound)).token


@pytest.fixture
def client(served: Served, token) -> Iterator[Callable[..., httpx.Client]]:
    """Makes clients with keys of their own: `client("agent", session="s1")`."""
    with ExitStack() as stack:

        def opened(role: str | None = "agent", acting: str | None = None, **bound) -> httpx.Client:
            headers = {} if role is None else {"authorization": f"Bearer {token(role, **bound)}"}
            if acting is not None:
                headers["x-harvester-session"] = acting
            return stack.enter_context(httpx.Client(base_url=served.url, headers=headers, timeout=60))

        yield opened


@pytest.fixture
def run(database_url, tmp_path):
    """The command in a process of its own: `run("keys", "list", code=0)`."""

    def command(*arguments: str, code: int = 0):
        done = subprocess.run(
            [HARVESTER, *arguments], capture_output=True, text=True, cwd=tmp_path, env=clean_environment(database_url),
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return command
