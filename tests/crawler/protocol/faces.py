"""The two ways in, each to a server in a process of its own, with the SDK's own client."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from crawler.serving.keys import Keys
from tests.crawler.serving.served import HARVESTER, key_request

Open = Callable[..., AbstractAsyncContextManager[Client]]


def caller_options(role: str, session: str | None, agent: str | None) -> list[str]:
    given = {"--role": role, "--session": session, "--agent": agent}
    return [word for name, value in given.items() if value is not None for word in (name, value)]


def at_stdio(environment: dict[str, str], folder: Path) -> Open:
    """A server of its own for every client, as hosts start them."""

    @asynccontextmanager
    async def opened(
        role: str = "agent", session: str | None = None, agent: str | None = None, mode: str = "auto", **extra: str
    ) -> AsyncIterator[Client]:
        command = StdioServerParameters(
            command=str(HARVESTER),
            args=["mcp", *caller_options(role, session, agent)],
            env=environment | extra,
            cwd=folder,
        )
        async with Client(command, mode=mode) as client:
            yield client

    return opened


def at_http(url: str, keys: Keys) -> Open:
    """One server for all; the key says who calls."""

    @asynccontextmanager
    async def opened(
        role: str = "agent", session: str | None = None, agent: str | None = None, mode: str = "auto"
    ) -> AsyncIterator[Client]:
        key = keys.create(key_request(role, session=session, agent_id=agent)).token
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client

    return opened


def outcome(result: Any) -> dict[str, Any]:
    """A result as the command line writes it; text and structured content agree."""
    assert json.loads(result.content[0].text) == result.structured_content
    return {"ok": not result.is_error, "error" if result.is_error else "result": result.structured_content}
