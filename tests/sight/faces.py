"""The ways in, each asked the same questions: the command, MCP by stdio and over HTTP, the HTTP API, the web page."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from crawler.serving.keys import Binding, KeyRequest, Keys
from facts.access import Role
from tests.crawler.serving.served import HARVESTER, Served

OWN_PAGE = {"X-Harvester-Page": "1"}
Question = tuple[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Who:
    """A caller. Grants are part of a key: only faces that take keys know them."""

    role: Role = Role.AGENT
    session: str | None = None
    granted: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        return ["--role", self.role.value, *([] if self.session is None else ["--session", self.session])]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A database that is served, and where commands run."""

    served: Served
    keys: Keys
    environment: dict[str, str]
    folder: Path
    tokens: dict[Who, str] = field(default_factory=dict)
    listed: dict[Role, str] = field(default_factory=dict)

    def token(self, who: Who) -> str:
        """A key for this caller, made once."""
        if who not in self.tokens:
            binding = Binding.NONE if who.session is None else Binding.SESSION
            sessions = () if who.session is None else (who.session,)
            asked = KeyRequest(role=who.role, binding=binding, session_ids=sessions, granted_prefixes=who.granted)
            self.tokens[who] = self.keys.create(asked).token
        return self.tokens[who]

    def client(self, who: Who) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token(who)}"}
        return httpx.Client(base_url=self.served.url, headers=headers, timeout=60)

    @contextmanager
    def signed_in(self, who: Who) -> Iterator[httpx.Client]:
        """A browser, as far as requests go."""
        with httpx.Client(base_url=self.served.url, headers=OWN_PAGE, timeout=60) as client:
            client.post("/page/session", json={"key": self.token(who)}).raise_for_status()
            yield client

    def tools_by_command(self, who: Who) -> str:
        """What `harvester call` lists, looked up once a role."""
        if who.role not in self.listed:
            self.listed[who.role] = self.run("call", *who.options)
        return self.listed[who.role]

    def run(self, *arguments: str, given: str | None = None) -> str:
        """What a command prints."""
        done = subprocess.run(
            [HARVESTER, *arguments], input=given, capture_output=True, text=True, cwd=self.folder, check=True,
            env=self.environment, timeout=120,
        )  # fmt: skip
        return done.stdout


@dataclass(frozen=True)
class Heard:
    """What a face offered, and its answers, in the order of the questions."""

    offered: frozenset[str]
    answers: tuple[dict[str, Any], ...]


def by_command(place: Place, who: Who, questions: Sequence[Question]) -> Heard:
    lines = [json.dumps({"tool": tool, "args": arguments}) for tool, arguments in questions]
    said = place.run("call", *who.options, "--jsonl", given="\n".join(lines)).splitlines()
    listed = place.tools_by_command(who).splitlines()
    answers = (json.loads(line) for line in said)
    return Heard(
        offered=frozenset(json.loads(line)["name"] for line in listed),
        answers=tuple(each["result"] if each["ok"] else each["error"] for each in answers),
    )


def by_api(place: Place, who: Who, questions: Sequence[Question]) -> Heard:
    with place.client(who) as client:
        listed = client.get("/v1/tools").json()["tools"]
        answers = [client.post(f"/v1/tools/{tool}", json=arguments).json() for tool, arguments in questions]
    return Heard(offered=frozenset(each["name"] for each in listed), answers=tuple(map(_bare, answers)))


def by_page(place: Place, who: Who, questions: Sequence[Question]) -> Heard:
    with place.signed_in(who) as client:
        offered = client.get("/page/session").json()["tools"]
        answers = [client.post(f"/page/tools/{tool}", json=arguments).json() for tool, arguments in questions]
    return Heard(offered=frozenset(offered), answers=tuple(map(_bare, answers)))


def by_stdio(place: Place, who: Who, questions: Sequence[Question]) -> Heard:
    command = StdioServerParameters(
        command=str(HARVESTER), args=["mcp", *who.options], env=place.environment, cwd=place.folder
    )

    async def ask() -> Heard:
        async with Client(command) as client:
            return await _heard(client, questions)

    return anyio.run(ask)


def by_mcp(place: Place, who: Who, questions: Sequence[Question]) -> Heard:
    async def ask() -> Heard:
        headers = {"Authorization": f"Bearer {place.token(who)}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{place.served.url}/mcp", http_client=http)) as client,
        ):
            return await _heard(client, questions)

    return anyio.run(ask)


async def _heard(client: Client, questions: Sequence[Question]) -> Heard:
    listed = await client.list_tools()
    answers = [(await client.call_tool(tool, arguments)).structured_content or {} for tool, arguments in questions]
    return Heard(offered=frozenset(each.name for each in listed.tools), answers=tuple(answers))


def _bare(answer: dict[str, Any]) -> dict[str, Any]:
    """An error as the other faces say it, without the request's own id around it."""
    error = answer.get("error")
    return error if isinstance(error, dict) else answer


Face = Callable[[Place, Who, Sequence[Question]], Heard]
FACES: dict[str, Face] = {
    "command": by_command,
    "MCP by stdio": by_stdio,
    "MCP over HTTP": by_mcp,
    "HTTP API": by_api,
    "page": by_page,
}
WITH_KEYS = frozenset({"MCP over HTTP", "HTTP API", "page"})
