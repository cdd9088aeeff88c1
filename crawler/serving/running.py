"""One server process: HTTP, MCP and page on one port, harvesters beside it, one shutdown for all.

SIGTERM or SIGINT: `/readyz` says 503 at once, harvesters finish the batch in hand, requests that are in end, connections
close; what is still there at the deadline is cut off.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import structlog
import uvicorn
from starlette.types import ASGIApp

from crawler.errors import BadSetting
from crawler.serving.house import House
from crawler.workers import Job, watch_workers
from facts.errors import HarvesterError

log = structlog.get_logger()

_BACKLOG: Final = 1_024
_KEEP_ALIVE_SECONDS: Final = 15


class Halt:
    """One request to stop, for everything that runs in this process. `now` may be called from a signal handler."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._server: uvicorn.Server | None = None
        self.event = threading.Event()

    def now(self) -> None:
        self._house.closing = True
        self.event.set()
        if self._server is not None:
            self._server.should_exit = True

    def takes(self, server: uvicorn.Server) -> None:
        self._server = server
        if self.event.is_set():
            server.should_exit = True


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stop: Halt) -> None:
        super().__init__(config)
        self._stop = stop
        stop.takes(self)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        log.info("stopping", signal=signal.Signals(sig).name)
        self._stop.now()
        super().handle_exit(sig, frame)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens already, so that a taken port is one clear line. ``port`` 0: the system chooses."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadSetting(
            f"cannot listen on {host} port {port}: {why.partition(' (')[0]}; --port chooses another", argument="port"
        ) from error


def address(listener: socket.socket) -> str:
    """The URL of what listens."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(app: ASGIApp, listener: socket.socket, *, deadline: float, stop: Halt) -> None:
    """Until a signal; returns when the last request has ended, or at the deadline (seconds after the signal)."""
    config = uvicorn.Config(
        app, log_config=None, access_log=False, ws="none", proxy_headers=False, server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=max(int(deadline), 1), backlog=_BACKLOG,
    )  # fmt: skip
    with _signals_kept():
        _Server(config, stop).run(sockets=[listener])


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Uvicorn raises the signal once more when it is done; by then it has done its work, and the rest must be closed."""
    both = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, lambda _number, _frame: None) for number in both]
    try:
        yield
    finally:
        for number, handler in zip(both, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def harvesting(job: Job, count: int, stop: Halt) -> Iterator[None]:
    """Worker processes beside the server, watched from a thread. They stop with the server, and it stops with them."""
    if not count:
        yield
        return
    failed: list[HarvesterError] = []

    def watch() -> None:
        try:
            watch_workers(job, count, stop.event)
        except HarvesterError as error:
            failed.append(error)
        stop.now()

    watcher = threading.Thread(target=watch, name="workers")
    watcher.start()
    try:
        yield
    finally:
        stop.now()
        watcher.join()
    if failed:
        raise failed[0]
