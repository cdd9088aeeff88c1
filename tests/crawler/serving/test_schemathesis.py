"""Requests made from the OpenAPI document, good ones and bad: no fault, and answers are what the document says."""

import os

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.crawler.serving.served import clean_environment, key_request, running

EXAMPLES = int(os.environ.get("HARVESTER_SCHEMA_EXAMPLES", "4"))


def no_fault_but_busy(ctx, response, case):
    """503 is an answer of this server, any other 5xx a fault."""
    if response.status_code != 503:
        not_a_server_error(ctx, response, case)


CHECKS = [no_fault_but_busy, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def served(database_url, tmp_path_factory):
    with running(clean_environment(database_url), tmp_path_factory.mktemp("schema")) as found:
        yield found


@pytest.fixture(scope="module")
def key(module_stores):
    from crawler.serving.keys import Keys  # noqa: PLC0415 - as the fixture of one test, but for the file

    return Keys(module_stores.facts.db, "pilotswarm_facts").create(key_request("facts-manager", session="fm")).token


@pytest.fixture(scope="module")
def document(served):
    return schemathesis.openapi.from_url(f"{served.url}/openapi.json")


def test_no_request_made_from_the_description_finds_a_fault(document, key):
    headers = {"authorization": f"Bearer {key}"}
    asked, faults = 0, []
    for found in document.get_all_operations():
        operation = found.ok()

        @hypothesis.seed(20_261_201)
        @hypothesis.settings(
            max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(case=operation.as_strategy())
        def ask(case):
            nonlocal asked
            asked += 1
            response = case.call(headers=headers, timeout=60)
            case.validate_response(response, checks=CHECKS)

        try:
            ask()
        except FailureGroup as group:
            faults += [f"{operation.label}: {fault}" for fault in group.exceptions]
    assert not faults, "\n".join(faults)
    assert asked >= 40 * min(EXAMPLES, 2)
