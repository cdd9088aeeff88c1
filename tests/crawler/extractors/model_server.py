"""A model endpoint on loopback that answers as scripted, and misbehaves as scripted."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

EMPTY: dict[str, Any] = {"nodes": [], "edges": []}
Answer = Callable[["Handler"], None]


class ModelServer(ThreadingHTTPServer):
    """`script` is used up call by call, then `otherwise` answers. `seen` holds each call's headers and body."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Answer] = []
        self.otherwise: Answer = saying(EMPTY)
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.running = 0
        self.most_running = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, *_args: object) -> None:
        """A client that hung up is part of the script."""


class Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.running += 1
            server.most_running = max(server.most_running, server.running)
            server.seen.append(({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}}, body))
            answer = server.script.pop(0) if server.script else server.otherwise
        try:
            answer(self)
        finally:
            with server.lock:
                server.running -= 1

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Quiet."""


def completion(content: object, *, tokens: int | None = 100, finish: str = "stop", **message: Any) -> bytes:
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    said = {"choices": [{"finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}]}
    return json.dumps(said if tokens is None else {**said, "usage": {"total_tokens": tokens}}).encode()


def saying(content: object, **more: Any) -> Answer:
    return lambda handler: handler.send(completion(content, **more))


def raw(body: bytes, status: int = 200, **headers: str) -> Answer:
    return lambda handler: handler.send(body, status, **headers)


def silent(handler: Handler) -> None:
    """Reads, and never answers."""
    handler.server.over.wait(30)
    handler.close_connection = True


def dripping(handler: Handler) -> None:
    """A byte now and then, for ever: no single read takes long."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b" ")
        handler.wfile.flush()


def cut_off(handler: Handler) -> None:
    """Half an answer, then the connection is gone."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def reset(handler: Handler) -> None:
    """No answer: the connection is torn down."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.shutdown(socket.SHUT_RD)
    handler.close_connection = True
    handler.rfile.close()
    handler.wfile.close()
    handler.connection.close()


@contextmanager
def model_server() -> Iterator[ModelServer]:
    server = ModelServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
