"""What one session keeps to itself comes out of nothing that another one can ask of the MCP server."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client

from crawler.caller import Caller
from crawler.protocol.server import make_server
from crawler.protocol.source import Source
from crawler.registry import all_tools
from crawler.settings import Settings
from facts import StoreFactInput
from facts.access import Role, Writer
from graph.model import Author, EdgeUpsert, NodeUpsert

VALUE, KEY, SESSION = "canary-value-7141", "canary-key-7141", "canary-session-7141"
SCOPE_KEY = f"session:{SESSION}:{KEY}"
# Every tool that reads and a stranger may call, asked as greedily as it can be.
READS: dict[str, list[dict[str, Any]]] = {
    "read_facts": [
        {},
        {"keyPattern": "*", "scope": "descendants"},
        {"scopeKeys": [SCOPE_KEY]},
        {"scopeKeys": [SCOPE_KEY], "valueOffset": 0},
        {"sessionId": SESSION},
        {"scope": "all"},
    ],
    "graph_search_nodes": [{}, {"seeds": [SCOPE_KEY]}, {"seeds": ["ship:otter"], "depth": 5}, {"nameLike": "o"}],
    "graph_search_edges": [{}, {"fromKey": "ship:otter"}],
    "graph_neighbourhood": [{"nodeKey": "ship:otter", "depth": 5}, {"nodeKey": SCOPE_KEY}],
    "graph_merge_suggestions": [{}, {"minScore": 0.0}],
    "graph_list_namespaces": [{"includeArchived": True, "includeDetails": True}],
    "graph_get_namespace": [{"namespace": "sea"}],
}
PRIVILEGED = {
    name for name, tool in all_tools().items() if not tool.mutates and not tool.roles & {Role.AGENT, Role.CRAWLER}
}
FOR_CRAWLERS = {"facts_read_uncrawled"}


@pytest.fixture
def server_for(stores):
    """Makes the server of one caller."""

    def make(caller: Caller):
        return make_server(Source(stores=stores, settings=Settings()), lambda _request: caller)

    return make


@pytest.fixture
def canary(stores):
    stores.facts.store(StoreFactInput(key=KEY, value=VALUE), Writer(session_id=SESSION, agent_id="owner"))
    graph, author = stores.needed_graph(), Author(agent_id="owner", session_id=SESSION)
    for name in ("Otter", "Kelp"):
        graph.upsert_node(NodeUpsert(kind="ship", name=name, namespace="sea", evidence=[SCOPE_KEY]), author)
    edge = EdgeUpsert(from_key="ship:otter", to_key="ship:kelp", predicate="carries", evidence=[SCOPE_KEY])
    graph.upsert_edge(edge, author)


async def everything(server) -> list[str]:
    """All that a client can get, answer by answer."""
    async with Client(server) as client:
        said = [client.instructions or ""]
        for tool, asked in READS.items():
            said += [(await client.call_tool(tool, arguments)).model_dump_json() for arguments in asked]
        said.append((await client.list_tools()).model_dump_json())
        for prompt in (await client.list_prompts()).prompts:
            said.append((await client.get_prompt(prompt.name)).model_dump_json())
        for resource in (await client.list_resources()).resources:
            said.append((await client.read_resource(resource.uri)).model_dump_json())
        said.append((await client.list_resource_templates()).model_dump_json())
    return said


def traces_in(text: str) -> list[str]:
    """An error may repeat the key and the session that the question itself named."""
    refused = text.startswith("{") and (json.loads(text).get("structured_content") or {}).get("code") is not None
    return [trace for trace in ((VALUE,) if refused else (VALUE, KEY, SESSION)) if trace in text]


def test_a_stranger_finds_no_trace_of_a_private_fact(server_for, canary):
    stranger = server_for(Caller(session_id="stranger", agent_id="x"))
    assert [(text, found) for text in anyio.run(everything, stranger) if (found := traces_in(text))] == []


def test_its_owner_finds_it_so_the_search_above_can_fail(server_for, canary):
    owner = server_for(Caller(session_id=SESSION, agent_id="owner"))
    found = "".join(anyio.run(everything, owner))
    assert all(trace in found for trace in (VALUE, KEY, SESSION))
    assert found.count(SCOPE_KEY) > len(READS)


def test_every_way_to_read_is_asked_above():
    readers = {name for name, tool in all_tools().items() if not tool.mutates}
    assert readers == set(READS) | PRIVILEGED | FOR_CRAWLERS


def test_the_server_answers_nothing_else_than_what_is_asked_above(server_for):
    server = server_for(Caller())
    asked = {"tools/call", "tools/list", "prompts/list", "prompts/get", "resources/list", "resources/read",
             "resources/templates/list", "ping", "server/discover"}  # fmt: skip
    assert set(server._request_handlers) == asked
    assert server._notification_handlers == {}
