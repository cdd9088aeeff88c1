"""The edge of the server: what any request must get past before a route sees it, and what every answer carries.

Bodies are read here, up to a size and within a time, so that a slow or huge one holds no thread. Then a request is let in
while there is room: as many as threads, and a queue behind them; beyond it the answer is 503 at once, with a time to come
back. What is let in has a time limit as well; work that a thread has begun ends by the database's own limit.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from crawler.metrics import note_request
from crawler.protocol.hosts import HostRules
from crawler.serving.errors import refusal

log = structlog.get_logger()
T = TypeVar("T")

# Asked by address, by whoever watches the server; they say nothing that is anybody's.
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
ONCE: Final = ("host", "authorization", "x-harvester-session", "content-type", "content-length")
SECURITY_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeLimits:
    """Bytes of a body, seconds to send it and to be answered, requests at work or waiting, requests open at all."""

    body_bytes: int
    body_seconds: float = 15.0
    request_seconds: float = 30.0
    inside: int = 260
    open: int = 1_000


class Threads:
    """The stores block, so they work in threads: as many as there are connections."""

    def __init__(self, size: int) -> None:
        self.limiter = anyio.CapacityLimiter(size)

    async def run(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self.limiter)


class _Refused(Exception):
    """An answer on its way out."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class _HungUp(Exception):
    """The client is gone; nobody reads an answer."""


class Edge:
    """The outermost ASGI application."""

    def __init__(self, app: ASGIApp, *, hosts: HostRules, limits: EdgeLimits) -> None:
        self._app = app
        self._hosts = hosts
        self._limits = limits
        self._open = 0
        self._inside = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        answer = _Answer(send, request_id)
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._answered(scope, receive, answer)
            except _Refused as refused:
                said = refusal({"code": refused.code, "message": refused.message}, refused.status)
                await said(scope, receive, answer.send)
            except _HungUp:
                answer.status = 499
            finally:
                _note(scope, answer.status, time.perf_counter() - began)

    async def _answered(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        if scope["path"] in PROBES:
            await self._app(scope, receive, answer.send)
            return
        headers = Headers(scope=scope)
        self._judge(headers)
        with self._counted():
            body = await self._read(headers, receive)
            with self._admitted(), anyio.move_on_after(self._limits.request_seconds) as limit:
                await self._app(scope, _replayed(body, receive), answer.send)
        if limit.cancelled_caught:
            if answer.status:
                raise _HungUp
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "this took longer than it may; try again")

    def _judge(self, headers: Headers) -> None:
        for name in ONCE:
            if len(headers.getlist(name)) > 1:
                raise _Refused(HTTPStatus.BAD_REQUEST, "invalid_argument", f"the header {name} stands there twice")
        wrong = self._hosts.refusal(headers)
        if wrong is not None:
            raise _Refused(wrong.status, "not_permitted", wrong.message)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._open >= self._limits.open:
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "too many requests are open; try again")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1

    @contextmanager
    def _admitted(self) -> Iterator[None]:
        if self._inside >= self._limits.inside:
            raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "busy", "too many requests wait; try again")
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        most = self._limits.body_bytes
        too_large = _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", f"a body has up to {most} bytes")
        said = headers.get("content-length", "0")
        if not said.isdigit() or int(said) > most:
            raise too_large
        parts, size = list[bytes](), 0
        with anyio.move_on_after(self._limits.body_seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise _HungUp
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > most:
                    raise too_large
                if not message.get("more_body", False):
                    return b"".join(parts)
        raise _Refused(HTTPStatus.REQUEST_TIMEOUT, "invalid_argument", "the body did not arrive in time")


class _Answer:
    """The way out: remembers the status, and puts on every answer what every answer has."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["x-request-id"] = self._request_id
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes after it: that the client hangs up."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _note(scope: Scope, status: int, seconds: float) -> None:
    route = str(getattr(scope.get("route"), "path", "(none)"))
    note_request(method=scope["method"], route=route, status=status, seconds=seconds)
    level = log.debug if scope["path"] in PROBES else log.info
    level("request", method=scope["method"], route=route, status=status, ms=round(seconds * 1000, 1))
