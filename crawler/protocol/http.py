"""MCP over streamable HTTP: an ASGI application for one path, which serving mounts at ``/mcp``.

Stateless: every request stands alone, carries its own key and gets one JSON answer, so that any process behind a proxy
answers it and a restart is not noticed. There is no stream from the server, hence nothing but POST.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Final

import anyio
import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from crawler.caller import Caller
from crawler.protocol.server import Context, make_server
from crawler.protocol.source import Source

Identify = Callable[[Headers], Caller]
"""From what a request says about its sender to the caller; blocks, and raises for a key that does not hold."""

_CALLER: Final = "harvester.caller"


class McpEndpoint:
    """``Route("/mcp", endpoint=...)``, with `running` around the life of the application.

    Hosts, sizes and what an error looks like are the business of the server around it. ``threads``: that server's, so
    that all its surfaces together ask for no more connections than there are.
    """

    def __init__(self, source: Source, identify: Identify, threads: anyio.CapacityLimiter) -> None:
        self._identify = identify
        self._threads = threads
        self._manager = StreamableHTTPSessionManager(
            make_server(source, _caller_of, threads),
            stateless=True,
            json_response=True,
            max_request_body_size=source.settings.max_message_bytes,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises what identification raises, before anything of the request is read."""
        if scope["method"] != "POST":
            said = "MCP is asked with POST: this server opens no streams"
            raise HTTPException(HTTPStatus.METHOD_NOT_ALLOWED, said, headers={"allow": "POST"})
        identified = partial(self._identify, Headers(scope=scope))
        caller = await anyio.to_thread.run_sync(identified, limiter=self._threads)
        await self._manager.handle_request({**scope, _CALLER: caller}, receive, send)


def _caller_of(ctx: Context) -> Caller:
    caller = ctx.request.scope[_CALLER] if ctx.request is not None else None
    if not isinstance(caller, Caller):
        raise AssertionError("a request came past its identification")  # noqa: TRY004 - a fault of ours
    return caller
