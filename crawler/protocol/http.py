"""MCP over streamable HTTP: an ASGI application for one path, which serving mounts at ``/mcp``.

Stateless: every request stands alone, carries its own key and gets one JSON answer, so that any process behind a proxy
answers it and a restart is not noticed. There is no stream from the server, hence nothing but POST.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import anyio
import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from crawler.answers import answered
from crawler.caller import Caller
from crawler.protocol.hosts import HostRules
from crawler.protocol.server import Context, make_server
from crawler.protocol.source import Source

Identify = Callable[[Headers], Caller]
"""From what a request says about its sender to the caller; blocks, and raises for a key that does not hold."""

_CALLER: Final = "harvester.caller"
_STATUS: Final = {
    "unauthenticated": HTTPStatus.UNAUTHORIZED,
    "not_permitted": HTTPStatus.FORBIDDEN,
    "busy": HTTPStatus.SERVICE_UNAVAILABLE,
    "unavailable": HTTPStatus.SERVICE_UNAVAILABLE,
    "internal": HTTPStatus.INTERNAL_SERVER_ERROR,
}


class McpEndpoint:
    """``Route("/mcp", endpoint=...)``, with `running` around the life of the application.

    ``threads``: those of the server around it, so that all its surfaces together ask for no more connections than there are.
    """

    def __init__(
        self, source: Source, identify: Identify, hosts: HostRules, threads: anyio.CapacityLimiter | None = None
    ) -> None:
        self._identify = identify
        self._hosts = hosts
        self._threads = threads or anyio.CapacityLimiter(source.settings.pool_size)
        self._manager = StreamableHTTPSessionManager(
            make_server(source, _caller_of, self._threads),
            stateless=True,
            json_response=True,
            max_request_body_size=source.settings.max_message_bytes,
            # Judged by `HostRules`, before the key is.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refused = await self._refused(scope["method"], headers)
        if isinstance(refused, Response):
            await refused(scope, receive, send)
            return
        await self._manager.handle_request({**scope, _CALLER: refused}, receive, send)

    async def _refused(self, method: str, headers: Headers) -> Response | Caller:
        """The answer to a request that goes no further, or else its caller."""
        wrong = self._hosts.refusal(headers)
        if wrong is not None:
            return _refusal(wrong.status, {"code": "not_permitted", "message": wrong.message})
        if method != "POST":
            said = {"code": "unsupported", "message": "MCP is asked with POST: this server opens no streams"}
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, said, Allow="POST")
        identified = partial(answered, partial(self._identify, headers))
        answer = await anyio.to_thread.run_sync(identified, limiter=self._threads)
        return answer["result"] if answer["ok"] else _refused_key(answer["error"])


def _refused_key(error: dict[str, Any]) -> Response:
    status = _STATUS.get(error["code"], HTTPStatus.BAD_REQUEST)
    if status is HTTPStatus.UNAUTHORIZED:
        return _refusal(status, error, **{"WWW-Authenticate": "Bearer"})
    return _refusal(status, error, **({"Retry-After": "1"} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}))


def _refusal(status: HTTPStatus, error: dict[str, Any], **headers: str) -> Response:
    return JSONResponse(error, status_code=status, headers=headers)


def _caller_of(ctx: Context) -> Caller:
    caller = ctx.request.scope[_CALLER] if ctx.request is not None else None
    if not isinstance(caller, Caller):
        raise AssertionError("a request came past its identification")  # noqa: TRY004 - a fault of ours
    return caller
