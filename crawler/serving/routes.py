"""The routes of ``/v1``, generated from the registry: a POST for each tool, a GET for each typed read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from crawler.registry import Tool, all_tools, call_tool, capabilities, tools_for
from crawler.serving.errors import ErrorAnswer
from crawler.serving.house import House, body_reader
from crawler.serving.identity import Identity
from crawler.serving.schemas import ERRORS, query_arguments, query_parameters, request_body
from facts.errors import NotFound

# Path of a typed read -> the tool whose arguments are its query.
READS: Final = {
    "/v1/facts": "read_facts",
    "/v1/nodes": "graph_search_nodes",
    "/v1/edges": "graph_search_edges",
    "/v1/neighbourhood": "graph_neighbourhood",
    "/v1/namespaces": "graph_list_namespaces",
    "/v1/namespace": "graph_get_namespace",
    "/v1/stats": "graph_stats",
}
ANSWER: Final = {"description": "The result", "content": {"application/json": {"schema": {"type": "object"}}}}
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {status: {"model": ErrorAnswer} for status in ERRORS}
Endpoint = Callable[[Request], Any]


def tool_routes(house: House, components: dict[str, Any]) -> APIRouter:
    """``components``: where the schemas of the bodies go."""
    router = APIRouter()
    for tool in all_tools().values():
        router.add_api_route(
            f"/v1/tools/{tool.name}", _called(house, tool), methods=["POST"], operation_id=tool.name, tags=["tools"],
            response_class=Response, responses={**RESPONSES, 200: ANSWER}, summary=tool.name, description=_about(tool),
            openapi_extra={"requestBody": request_body(tool.name, tool.arguments, components)},
        )  # fmt: skip
    router.add_api_route(
        "/v1/tools/{name}", _unknown(house), methods=["POST"], include_in_schema=False, response_class=Response
    )
    router.add_api_route(
        "/v1/tools", _offered(house), methods=["GET"], operation_id="list_tools", tags=["tools"],
        summary="What this key is offered, with schemas", response_class=Response, responses={**RESPONSES, 200: ANSWER},
    )  # fmt: skip
    return router


def read_routes(house: House) -> APIRouter:
    router = APIRouter()
    for path, name in READS.items():
        tool = all_tools()[name]
        router.add_api_route(
            path, _read(house, tool), methods=["GET"], operation_id=f"get_{path.rpartition('/')[2]}", tags=["reads"],
            response_class=Response, responses={**RESPONSES, 200: ANSWER}, summary=f"{name} as a GET",
            description=_about(tool), openapi_extra={"parameters": query_parameters(tool.arguments)},
        )  # fmt: skip
    return router


def _about(tool: Tool) -> str:
    return f"{tool.description} For: {', '.join(sorted(tool.roles))}."


def _called(house: House, tool: Tool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        read = await body_reader(request)

        def work(identity: Identity) -> Any:
            return call_tool(tool.name, read(), house.source.desk(identity.caller))

        return await house.answer(request, work)

    return endpoint


def _read(house: House, tool: Tool) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        def work(identity: Identity) -> Any:
            asked = query_arguments(tool.arguments, request.query_params)
            return call_tool(tool.name, asked, house.source.desk(identity.caller))

        return await house.answer(request, work)

    return endpoint


def _unknown(house: House) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        name = str(request.path_params["name"])

        def work(_identity: Identity) -> Any:
            raise NotFound(f"there is no tool {name[:100]!r}", argument="tool")

        return await house.answer(request, work)

    return endpoint


def _offered(house: House) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await house.answer(request, partial(_list_tools, house))

    return endpoint


def _list_tools(house: House, identity: Identity) -> dict[str, Any]:
    offered = tools_for(identity.caller.role, capabilities(house.source.stores.graph))
    shown = [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": tool.input_schema(),
            "mutates": tool.mutates,
            "destroys": tool.destroys,
        }
        for tool in offered
    ]
    return {"count": len(shown), "tools": shown}
