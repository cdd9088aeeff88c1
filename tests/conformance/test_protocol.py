"""The cases about tools once more, through the MCP server and the SDK's client: each face gives the same answers."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp import Client

from crawler.protocol.server import make_server
from crawler.protocol.source import Source
from crawler.settings import Settings
from crawler.wiring import Stores
from facts.errors import HarvesterError
from tests.conformance.case import Case, Operation
from tests.conformance.play_tools import in_snake_case, sent, tool_caller, with_keys
from tests.conformance.stage import OPERATIONS, Answer, Playable, Stage, lacking
from tests.conformance.test_cases import chosen_cases, play


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = [case for case in chosen_cases(metafunc.config) if case.area == "tools"]
    metafunc.parametrize("case", [pytest.param(case, id=case.id) for case in cases])


def test_the_protocol_answers_as_the_case_says(stage: Stage, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = lacking(stage, case)
    if reason is not None:
        pytest.skip(f"not yet runnable: {reason}")
    for name, run in (("call_tool", called), ("list_tools", listed)):
        monkeypatch.setitem(OPERATIONS, name, Playable(run=run, lacks=OPERATIONS[name].lacks))
    for operation, expected in case.steps:
        play(stage, operation, expected)


def called(stage: Stage, asked: Operation) -> Answer:
    arguments = sent(stage, asked.args.get("args", {}))
    result = connected(stage, asked, lambda client: client.call_tool(asked.args["tool"], arguments))
    if result.is_error:
        error = result.structured_content
        raise HarvesterError(error["message"], argument=error.get("argument"), code=error["code"])
    return with_keys(in_snake_case(result.structured_content))


def listed(stage: Stage, asked: Operation) -> Answer:
    result = connected(stage, asked, lambda client: client.list_tools())
    return {"tools": [each.name for each in result.tools]}


def connected(stage: Stage, asked: Operation, ask: Callable[[Client], Any]) -> Any:
    """One request of a client of this caller's own."""
    caller = tool_caller(asked.caller)
    stores = Stores(url=stage.facts.db.url, facts=stage.facts, graph=stage.graph if stage.has_graph else None)
    server = make_server(Source(stores=stores, settings=Settings()), lambda _request: caller)

    async def work() -> Any:
        async with Client(server) as client:
            return await ask(client)

    return anyio.run(work)
