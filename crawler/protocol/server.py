"""The MCP server: what the registry offers to whoever is calling. A transport says who that is.

Stores block, so every call runs in a thread of its own; as many at once as there are connections. A call that its
client gave up on runs to the end of its transaction: the store is never left half-way, and the answer is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

from crawler.answers import answer_call, answered
from crawler.caller import Caller
from crawler.guides import guides_for
from crawler.protocol import wire
from crawler.protocol.source import Source
from crawler.registry import all_tools, capabilities, tools_for

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
Whose = Callable[[Context], Caller]

NAME = "harvester"
_OPENINGS = frozenset({"initialize", "server/discover"})


def make_server(source: Source, whose: Whose, threads: anyio.CapacityLimiter | None = None) -> Server[Any]:
    """``whose``: the caller of a request, from the launcher or from the request's own credential.

    ``threads``: how many may be at the stores at once, shared with whatever else the transport asks of them.
    """
    house = _Handlers(source, whose, threads or anyio.CapacityLimiter(source.settings.pool_size))
    server: Server[Any] = Server(
        NAME,
        version=version("age-harvester"),
        title="Harvester",
        description="Durable facts of a team of agents, and the knowledge graph that they justify.",
        get_tool_input_schema=_schema_of,
        on_list_tools=house.list_tools,
        on_call_tool=house.call_tool,
        on_list_prompts=house.list_prompts,
        on_get_prompt=house.get_prompt,
        on_list_resources=house.list_resources,
        on_list_resource_templates=house.list_resource_templates,
        on_read_resource=house.read_resource,
    )
    server.middleware.append(house.instruct)
    return server


def _schema_of(name: str) -> dict[str, Any] | None:
    tool = all_tools().get(name)
    return None if tool is None else wire.tool_shown(tool).input_schema


class _Handlers:
    def __init__(self, source: Source, whose: Whose, threads: anyio.CapacityLimiter) -> None:
        self._source = source
        self._whose = whose
        self._threads = threads

    async def list_tools(self, ctx: Context, _asked: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        able = capabilities(self._source.stores.graph)
        offered = tools_for(self._whose(ctx).role, able)
        return types.ListToolsResult(tools=[wire.tool_shown(each) for each in offered])

    async def call_tool(self, ctx: Context, asked: types.CallToolRequestParams) -> types.CallToolResult:
        desk = self._source.desk(self._whose(ctx))
        arguments = asked.arguments if asked.arguments is not None else {}
        answer = await self._in_thread(partial(answer_call, asked.name, arguments, desk))
        tool = all_tools().get(asked.name)
        return wire.call_shown(answer, reads=tool is not None and not tool.mutates)

    async def list_prompts(self, ctx: Context, _asked: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        guides = guides_for(self._source.desk(self._whose(ctx)))
        return types.ListPromptsResult(prompts=[wire.prompt_shown(each) for each in guides])

    async def get_prompt(self, ctx: Context, asked: types.GetPromptRequestParams) -> types.GetPromptResult:
        return wire.prompt_text(await self._guide(ctx, asked.name))

    async def list_resources(
        self, ctx: Context, _asked: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        guides = guides_for(self._source.desk(self._whose(ctx)))
        return types.ListResourcesResult(resources=[wire.resource_shown(each) for each in guides])

    async def list_resource_templates(
        self, _ctx: Context, _asked: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """None: hosts ask for them all the same, and an error would look like a fault."""
        return types.ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(self, ctx: Context, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return wire.resource_text(asked.uri, await self._guide(ctx, wire.guide_named(asked.uri)))

    async def instruct(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Instructions depend on who calls, so they are put in when a connection opens."""
        result = await call_next(ctx)
        if ctx.method in _OPENINGS and isinstance(result, dict):
            return {**result, "instructions": self._source.instructions(self._whose(ctx))}
        return result

    async def _guide(self, ctx: Context, name: str) -> str:
        caller = self._whose(ctx)
        answer = await self._in_thread(partial(answered, partial(self._source.guide, name, caller)))
        if not answer["ok"]:
            raise wire.protocol_error(answer["error"])
        return str(answer["result"])

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._threads)
