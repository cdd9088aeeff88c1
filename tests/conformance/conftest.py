from collections.abc import Iterator

import pytest

from facts.embedded import EmbeddedServer
from tests.conformance.stage import Stage, open_stage


@pytest.fixture(scope="session")
def opened_stage(server: EmbeddedServer, template_url: str) -> Iterator[Stage]:
    """One database for all cases: emptying it takes milliseconds, cloning it a quarter of a second."""
    assert template_url
    url = server.create_database("conformance", template="harvester_template")
    with open_stage(url) as stage:
        yield stage
    server.drop_database("conformance")


@pytest.fixture
def stage(opened_stage: Stage) -> Stage:
    opened_stage.clear()
    return opened_stage
