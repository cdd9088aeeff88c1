"""The two ways in, each to a server in a process of its own, with the SDK's own client."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

HARVESTER = Path(sys.executable).with_name("harvester")
ROOT = Path(__file__).parents[3]
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


def at_http(url: str) -> Open:
    """One server for all; the key says who calls."""

    @asynccontextmanager
    async def opened(
        role: str = "agent", session: str | None = None, agent: str | None = None, mode: str = "auto"
    ) -> AsyncIterator[Client]:
        key = json.dumps({"role": role, "sessionId": session, "agentId": agent})
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            Client(streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client

    return opened


@contextmanager
def running_http(environment: dict[str, str], folder: Path):
    """The endpoint under uvicorn, on a socket that listens before the process is started: nobody waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.crawler.protocol.served", str(listener.fileno())],
            env=environment | {"PYTHONPATH": str(ROOT)}, cwd=folder, pass_fds=[listener.fileno()],
        )  # fmt: skip
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        # uvicorn winds down, then lets the signal end it.
        assert process.wait(30) in {0, -signal.SIGTERM}


def outcome(result: Any) -> dict[str, Any]:
    """A result as the command line writes it; text and structured content agree."""
    assert json.loads(result.content[0].text) == result.structured_content
    return {"ok": not result.is_error, "error" if result.is_error else "result": result.structured_content}


def clean_environment(database_url: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("HARVESTER_", "GIT_"))}
    return clean | {"HARVESTER_DATABASE_URL": database_url, "NO_COLOR": "1"}
