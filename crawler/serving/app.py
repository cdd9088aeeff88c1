"""The HTTP application: the edge around it, MCP and the page in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from crawler.guides import guides_for
from crawler.page.routes import page_routes
from crawler.protocol.hosts import HostRules
from crawler.protocol.http import McpEndpoint
from crawler.protocol.source import Source
from crawler.serving.errors import add_error_handlers
from crawler.serving.house import House
from crawler.serving.identity import Identity
from crawler.serving.limits import Edge, EdgeLimits
from crawler.serving.probes import probe_routes
from crawler.serving.routes import ANSWER, RESPONSES, read_routes, tool_routes
from crawler.serving.session_routes import session_routes

_ABOUT = (
    "Facts that survive, and the graph that is always exactly their fold. Every call carries a key "
    "(`Authorization: Bearer hv_...`); the key says which role and which session is calling, arguments never do."
)


def make_app(source: Source) -> tuple[ASGIApp, House]:
    """The whole server as one ASGI application, and the house behind it (which `closing` makes unready)."""
    house = House(source=source)
    settings = source.settings
    hosts = HostRules(hosts=settings.allowed_hosts, origins=settings.allowed_origins)
    mcp = McpEndpoint(source, house.identities.caller_of, house.threads.limiter)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        # Routes that are no coroutines share the threads of the loop.
        anyio.to_thread.current_default_thread_limiter().total_tokens = settings.pool_size
        async with mcp.running():
            yield

    app = FastAPI(
        title="Harvester", version=version("age-harvester"), description=_ABOUT, lifespan=lifespan,
        docs_url=None, redoc_url=None, openapi_url="/openapi.json",
    )  # fmt: skip
    _add_routes(app, house)
    app.router.routes.append(Route("/mcp", endpoint=mcp))
    add_error_handlers(app)
    limits = EdgeLimits(
        body_bytes=settings.max_message_bytes,
        body_seconds=settings.body_seconds,
        request_seconds=settings.request_seconds,
        inside=settings.pool_size + settings.max_waiting,
    )
    return Edge(app, hosts=hosts, limits=limits), house


def _add_routes(app: FastAPI, house: House) -> None:
    components: dict[str, Any] = {}
    for router in (
        probe_routes(house),
        tool_routes(house, components),
        read_routes(house),
        session_routes(house, components),
        _guide_routes(house),
        page_routes(house),
    ):
        app.include_router(router)
    setattr(app, "openapi", partial(_described, app, components))  # noqa: B010 - FastAPI's own way


def _described(app: FastAPI, components: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's document with the tools' schemas, the key, and the header that names the acting session."""
    if app.openapi_schema is None:
        said = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        said["components"]["schemas"] |= components
        said["components"]["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "hv_..., made with `harvester keys create`"}
        }
        for path, item in said["paths"].items():
            for operation in item.values():
                if path.startswith("/v1/") or path == "/metrics":
                    operation["security"] = [{"key": []}]
        app.openapi_schema = said
    return app.openapi_schema


def _guide_routes(house: House) -> APIRouter:
    router = APIRouter(tags=["guides"])

    @router.get("/v1/guides", operation_id="list_guides", response_class=Response,
                responses={**RESPONSES, 200: ANSWER})  # fmt: skip
    async def list_guides(request: Request) -> Response:
        """The guides that fit this key."""

        def work(identity: Identity) -> Any:
            found = guides_for(house.source.desk(identity.caller))
            shown = [{"name": each.name, "title": each.title, "description": each.description} for each in found]
            return {"count": len(shown), "guides": shown}

        return await house.answer(request, work)

    @router.get("/v1/guides/{name}", operation_id="get_guide", response_class=Response,
                responses={**RESPONSES, 200: ANSWER})  # fmt: skip
    async def get_guide(request: Request, name: str) -> Response:
        """One guide as Markdown, fitted to the role of this key and to what the store can do."""

        def work(identity: Identity) -> Any:
            return {"name": name, "text": house.source.guide(name, identity.caller)}

        return await house.answer(request, work)

    return router
