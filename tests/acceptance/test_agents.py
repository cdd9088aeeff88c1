"""Agents at work through MCP, each way in as it is deployed: a command that a host starts, and a server with keys."""

import json
import os
import subprocess
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.conftest import HARVESTER

DEPENDS = {
    "nodes": [{"kind": "service", "name": "Billing"}, {"kind": "service", "name": "Ledger"}],
    "edges": [
        {
            "from": {"kind": "service", "name": "Billing"},
            "to": {"kind": "service", "name": "Ledger"},
            "predicate": "depends on",
        }
    ],
}
AGENTS = {"author": "agent", "map-maker": "crawler", "curator": "facts-manager"}


@pytest.fixture
def environment(database_url):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HARVESTER_", "GIT_"))}
    return clean | {"HARVESTER_DATABASE_URL": database_url}


@pytest.fixture
def started(environment, folder):
    """Over stdio: the host starts a server for each agent."""

    @asynccontextmanager
    async def opened(agent: str):
        options = ["mcp", "--role", AGENTS[agent], "--session", agent, "--agent", agent]
        command = StdioServerParameters(command=str(HARVESTER), args=options, env=environment, cwd=folder)
        async with Client(command) as client:
            yield client

    return opened


@pytest.fixture
def reached(environment, folder, harvester):
    """Over HTTP: one server, a key for each agent."""

    def key(agent: str) -> str:
        options = ("--role", AGENTS[agent], "--session", agent, "--agent", agent, "--json")
        return json.loads(harvester("keys", "create", *options, **environment).stdout)["key"]

    keys = {agent: key(agent) for agent in AGENTS}
    process = subprocess.Popen(
        [HARVESTER, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment, cwd=folder
    )
    url = process.stdout.readline().split()[-1] + "/mcp"

    @asynccontextmanager
    async def opened(agent: str):
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {keys[agent]}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            yield client

    yield opened
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0


@pytest.mark.parametrize("way", ["started", "reached"])
def test_a_crawler_agent_does_its_whole_job_and_a_facts_manager_reads_the_numbers(way, request):
    opened = request.getfixturevalue(way)

    async def asked(client, tool, **arguments):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.structured_content
        return result.structured_content

    async def work():
        async with opened("author") as client:
            await asked(client, "store_fact", key="notes/billing", value="Billing depends on the ledger.", shared=True)
            await asked(client, "store_fact", key="draft", value="mine")
        async with opened("map-maker") as client:
            assert "# Crawling" in client.instructions
            spaces = await asked(client, "graph_list_namespaces", includeDetails=True)
            assert [each["namespace"] for each in spaces["namespaces"]] == ["default"]
            waiting = (await asked(client, "facts_read_uncrawled", limit=10))["facts"]
            assert [each["key"] for each in waiting] == ["notes/billing", "draft"]
            assert (await asked(client, "graph_search_nodes", nameLike="billing"))["nodes"] == []
            items = [{"scopeKey": each["scopeKey"], "etag": each["etag"], "nodes": [], "edges": []} for each in waiting]
            done = await asked(client, "graph_incorporate", facts=[items[0] | DEPENDS, items[1]])
            assert [each["outcome"] for each in done["facts"]] == ["acked", "acked"]
            assert (await asked(client, "facts_read_uncrawled"))["facts"] == []
        async with opened("curator") as client:
            numbers = await asked(client, "graph_stats")
            assert (numbers["nodes"], numbers["edges"], numbers["queue"]["pending"]) == (2, 1, 0)
            around = await asked(client, "graph_neighbourhood", nodeKey="service:billing")
            assert around["edges"][0]["evidence"] == ["shared:notes/billing"]

    anyio.run(work)
