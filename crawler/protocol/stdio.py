"""MCP over stdin and stdout: a message a line, and nothing else on stdout.

The SDK's own stdio transport loses three things that a memory must not lose: a line that is no message is dropped without
an answer, a line of any length is taken into memory, and a client that writes its requests and closes stdin gets no
answers. So the lines are read and written here, over the SDK's stream contract; the protocol itself is the SDK's.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import mcp_types as types
import structlog
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

log = structlog.get_logger()

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_CHUNK: Final = 65_536


class Unreadable(Exception):
    """A line that is no message; ``code`` is JSON-RPC's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """The descriptors that carry the protocol."""

    source: int
    sink: int


@contextmanager
def claimed_stdio() -> Iterator[Wire]:
    """Keep stdin and stdout for the protocol alone: what anybody else prints goes to stderr, what a child reads is empty.

    Descriptors, not Python's streams: libraries and child processes (the embedded server's) print as well.
    """
    sys.stdout.flush()
    wire = Wire(source=os.dup(_STDIN), sink=os.dup(_STDOUT))
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, _STDIN)
    os.dup2(_STDERR, _STDOUT)
    os.close(nowhere)
    try:
        yield wire
    finally:
        sys.stdout.flush()
        os.dup2(wire.source, _STDIN)
        os.dup2(wire.sink, _STDOUT)


def serve_stdio(server: Server[Any], wire: Wire, *, line_bytes: int, grace_s: float) -> None:
    """Until stdin closes and what was asked is answered (for ``grace_s`` at most), or SIGTERM or SIGINT comes."""
    anyio.run(_Line(server=server, wire=wire, line_bytes=line_bytes, grace_s=grace_s).serve)


def messages(source: int, line_bytes: int) -> Iterator[types.JSONRPCMessage | Unreadable]:
    """What the lines say. A line that is too long is skipped without being kept."""
    for line in lines(source, line_bytes):
        if line is None:
            yield Unreadable(types.INVALID_REQUEST, f"a message may have {line_bytes} bytes; this one has more")
        elif line.strip():
            yield read_message(line)


def read_message(line: bytes) -> types.JSONRPCMessage | Unreadable:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return Unreadable(types.PARSE_ERROR, "not JSON")
        return Unreadable(types.INVALID_REQUEST, "not a JSON-RPC request, notification or response")
    if isinstance(message, types.JSONRPCNotification) and "id" in json.loads(line):
        # The SDK's model of a notification overlooks it, and whoever asked would wait for ever.
        return Unreadable(types.INVALID_REQUEST, "the id of a request is a text or a whole number")
    return message


def lines(source: int, line_bytes: int) -> Iterator[bytes | None]:
    """Lines without their ends; None for one that is too long."""
    kept, skipping = bytearray(), False
    while chunk := os.read(source, _CHUNK):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield None if skipping or len(kept) + len(part) > line_bytes else bytes(kept + part)
            kept, skipping = bytearray(), False
        if skipping or len(kept) + len(rest) > line_bytes:
            kept, skipping = bytearray(), True
        else:
            kept += rest
    if kept or skipping:
        yield None if skipping else bytes(kept)


@dataclass(slots=True, kw_only=True)
class _Line:
    """One connection. ``_asked``: the ids of requests without an answer yet, which a closing client still waits for."""

    server: Server[Any]
    wire: Wire
    line_bytes: int
    grace_s: float
    _asked: set[types.RequestId] = field(default_factory=set)
    _all_answered: anyio.Event = field(default_factory=anyio.Event)
    _closing: bool = False

    async def serve(self) -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_on_signal, tasks.cancel_scope)
            tasks.start_soon(self._write, from_server, tasks.cancel_scope)
            tasks.start_soon(self._read, to_server, to_client.clone())
            await self.server.run(from_client, to_client, self.server.create_initialization_options())
            tasks.cancel_scope.cancel()

    async def _read(
        self,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        to_client: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        """A daemon thread waits at stdin: the process ends without it when the client keeps stdin open."""
        heard, arriving = anyio.create_memory_object_stream[types.JSONRPCMessage | Unreadable]()
        token = anyio.lowlevel.current_token()
        threading.Thread(target=self._listen, args=(heard, token), name="stdin", daemon=True).start()
        async with to_server, to_client, arriving:
            async for message in arriving:
                if isinstance(message, Unreadable):
                    await to_client.send(_refusal(message))
                    continue
                self._note_asked(message)
                await to_server.send(SessionMessage(message))
            await self._last_answers()

    def _listen(
        self, heard: MemoryObjectSendStream[types.JSONRPCMessage | Unreadable], token: anyio.lowlevel.EventLoopToken
    ) -> None:
        try:
            for message in messages(self.wire.source, self.line_bytes):
                anyio.from_thread.run(heard.send, message, token=token)
            anyio.from_thread.run_sync(heard.close, token=token)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.RunFinishedError):
            return  # The connection ended while a line was on its way.

    async def _write(self, from_server: MemoryObjectReceiveStream[SessionMessage], scope: anyio.CancelScope) -> None:
        async with from_server:
            async for each in from_server:
                line = each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                try:
                    await anyio.to_thread.run_sync(_write_all, self.wire.sink, line)
                except OSError as error:
                    log.info("client_gone", error=str(error))
                    scope.cancel()
                    return
                self._note_answered(each.message)

    def _note_asked(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._asked.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settle((message.params or {}).get("requestId"))

    def _note_answered(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._settle(message.id)

    def _settle(self, request_id: object) -> None:
        if isinstance(request_id, str | int):
            self._asked.discard(request_id)
        if self._closing and not self._asked:
            self._all_answered.set()

    async def _last_answers(self) -> None:
        """The client has closed stdin; the server's side closes when nobody waits any more."""
        self._closing = True
        self._settle(None)
        with anyio.move_on_after(self.grace_s) as waited:
            await self._all_answered.wait()
        if waited.cancelled_caught:
            log.warning("left_unanswered", requests=len(self._asked))

    async def _stop_on_signal(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                scope.cancel()
                return


def _refusal(unreadable: Unreadable) -> SessionMessage:
    error = types.ErrorData(code=unreadable.code, message=unreadable.message)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=error))


def _write_all(sink: int, line: bytes) -> None:
    left = memoryview(line)
    while left:
        left = left[os.write(sink, left) :]
