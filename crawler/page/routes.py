"""The page's own routes: its files, signing in and out, and the tools that it reads with.

The cookie opens these and nothing else: `/v1` and `/mcp` take a bearer key only, and here only tools that read are
offered. So a request that another site provokes can change nothing, and it is told nothing either: without the page's
header, or from another origin, it is refused (`crawler.page.policy`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import APIRouter, Request
from fastapi.responses import Response

from crawler.errors import Unauthenticated
from crawler.page.assets import PAGE, Asset, read_assets
from crawler.page.policy import PAGE_HEADERS, require_own_page
from crawler.page.sessions import SESSION_SECONDS, PageSessions
from crawler.registry import call_tool, capabilities, tools_for
from crawler.serving.errors import json_answer
from crawler.serving.house import House, body_reader
from crawler.serving.identity import SESSION_HEADER
from crawler.serving.keys import ApiKey
from facts.errors import InvalidArgument, NotFound

COOKIE: Final = "harvester_page"
COOKIE_PATH: Final = "/page"
# What the page asks for; each is checked again against the role of the key.
PAGE_TOOLS: Final = (
    "graph_search_nodes",
    "graph_search_edges",
    "graph_neighbourhood",
    "graph_list_namespaces",
    "graph_stats",
    "read_facts",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """Who is signed in, and what they read. ``token`` is what the cookie holds, None without one."""

    house: House
    sessions: PageSessions

    def sign_in(self, read: Callable[[], dict[str, Any]]) -> tuple[ApiKey, str]:
        """The key that a body names, and the token of a new session."""
        given = read().get("key")
        if not isinstance(given, str):
            raise InvalidArgument("key must be a text", argument="key")
        key = self.house.identities.keys.find(given)
        if key is None:
            raise Unauthenticated("this key is unknown, expired or revoked", argument="key")
        return key, self.sessions.open(key.key_id)

    def signed_in(self, token: str | None) -> ApiKey | None:
        """Whose session asks; the key is looked up each time, so a session does not outlive it."""
        key_id = None if token is None else self.sessions.key_of(token)
        return None if key_id is None else self.house.identities.keys.find_by_id(key_id)

    def sign_out(self, token: str | None) -> Response:
        if token is not None:
            self.sessions.close(token)
        response = json_answer({"signedIn": False})
        response.delete_cookie(COOKIE, path=COOKIE_PATH)
        return response

    def shown(self, key: ApiKey | None) -> Response:
        """Who is signed in, as the page says it; ``sessions`` are those it may ask to act in."""
        if key is None:
            return json_answer({"signedIn": False})
        offered = {each.name for each in tools_for(key.role, capabilities(self.house.source.stores.graph))}
        return json_answer({
            "signedIn": True,
            "role": key.role.value,
            "sessions": list(key.session_ids),
            "key": key.label or key.preview,
            "tools": [name for name in PAGE_TOOLS if name in offered],
        })  # fmt: skip

    def read(self, token: str | None, acting: str | None, tool: str, read: Callable[[], dict[str, Any]]) -> Response:
        key = self.signed_in(token)
        if key is None:
            raise Unauthenticated("sign in first")
        if tool not in PAGE_TOOLS:
            raise NotFound(f"the page reads with {', '.join(PAGE_TOOLS)}, not with {tool!r}", argument="tool")
        caller = self.house.identities.caller(key, acting)
        return json_answer(call_tool(tool, read(), self.house.source.desk(caller)))


def page_routes(house: House) -> APIRouter:
    """``/`` and what lies below ``/page``; none of it is part of the API that OpenAPI describes.

    :raises Unavailable: the package that carries d3 is not installed.
    """
    router = APIRouter(include_in_schema=False)
    settings = house.source.settings
    desk = Reception(house=house, sessions=PageSessions(db=house.source.stores.facts.db, schema=settings.facts_schema))
    _add_session(router, desk)
    _add_files(router, read_assets())

    @router.post("/page/tools/{tool}")
    async def read(request: Request, tool: str) -> Response:
        token, acting = _own_token(request), request.headers.get(SESSION_HEADER)
        return await house.threads.run(partial(desk.read, token, acting, tool, await body_reader(request)))

    return router


def _add_session(router: APIRouter, desk: Reception) -> None:
    threads = desk.house.threads

    @router.get("/page/session")
    async def session(request: Request) -> Response:
        token = _own_token(request)
        return await threads.run(lambda: desk.shown(desk.signed_in(token)))

    @router.post("/page/session")
    async def sign_in(request: Request) -> Response:
        require_own_page(request.headers)
        key, token = await threads.run(partial(desk.sign_in, await body_reader(request)))
        response = desk.shown(key)
        _set_cookie(response, request, token)
        return response

    @router.delete("/page/session")
    async def sign_out(request: Request) -> Response:
        return await threads.run(partial(desk.sign_out, _own_token(request)))


def _add_files(router: APIRouter, assets: Mapping[str, Asset]) -> None:
    @router.get("/")
    async def page(request: Request) -> Response:
        return _file(request, assets[PAGE])

    @router.get("/page/{name}")
    async def asset(request: Request, name: str) -> Response:
        if name not in assets:
            raise NotFound("there is no such file", argument="path")
        return _file(request, assets[name])


def _own_token(request: Request) -> str | None:
    require_own_page(request.headers)
    return request.cookies.get(COOKIE)


def _file(request: Request, asset: Asset) -> Response:
    headers = {**PAGE_HEADERS, "etag": asset.tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(asset.content, media_type=asset.media_type, headers=headers)


def _set_cookie(response: Response, request: Request, token: str) -> None:
    """No script reads it, no other site's request carries it, and over https it never goes out in the clear.

    Whether it is https the browser says itself: behind a proxy that ends TLS, this server sees plain http.
    """
    response.set_cookie(
        COOKIE, token, max_age=SESSION_SECONDS, path=COOKIE_PATH, httponly=True, samesite="strict",
        secure="https" in (request.url.scheme, urlsplit(request.headers.get("origin", "")).scheme),
    )  # fmt: skip
