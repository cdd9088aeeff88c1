"""What the routes work with: who a request is, a thread to work in, and the way from a call to its answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NoReturn, TypeVar

import structlog
from fastapi import Request
from fastapi.responses import Response
from starlette.datastructures import Headers

from crawler.errors import BadMedia, BadRequest
from crawler.migrations import serving_migrations
from crawler.protocol.source import Source
from crawler.serving.errors import json_answer
from crawler.serving.identity import Credential, Identities, Identity
from crawler.serving.keys import Keys
from crawler.serving.limits import Threads
from facts.errors import HarvesterError, Unavailable
from facts.migrations import fact_migrations, require_current
from facts.uncrawled import QueueStatistics
from graph.migrations import graph_migrations

log = structlog.get_logger()
T = TypeVar("T")

_JSON: Final = "application/json"
_FRESH_SECONDS: Final = 1.0
_QUEUE_SECONDS: Final = 5.0


class Remembered:
    """The last outcome of a look at the database, for a moment, whoever asks: probes need no key and must cost little."""

    def __init__(self, look: Callable[[], T], seconds: float) -> None:
        self._look: Callable[[], Any] = look
        self._seconds = seconds
        self._lock = threading.Lock()
        self._until = 0.0
        self._value: Any = None
        self._error: HarvesterError | None = None

    def __call__(self) -> Any:
        with self._lock:
            if time.monotonic() >= self._until:
                self._value, self._error = None, None
                try:
                    self._value = self._look()
                except HarvesterError as error:
                    self._error = error
                self._until = time.monotonic() + self._seconds
            if self._error is not None:
                raise self._error
            return self._value


@dataclass(slots=True)
class House:
    """One server: its stores, its keys, its threads. ``closing``: it was asked to stop, so it is ready for nobody."""

    source: Source
    identities: Identities = field(init=False)
    threads: Threads = field(init=False)
    ready: Remembered = field(init=False)
    queue: Remembered = field(init=False)
    closing: bool = False

    def __post_init__(self) -> None:
        stores, settings = self.source.stores, self.source.settings
        self.identities = Identities(Keys(stores.facts.db, settings.facts_schema), stores.facts.sessions)
        self.threads = Threads(settings.pool_size)
        self.ready = Remembered(self._look, _FRESH_SECONDS)
        self.queue = Remembered(self._queue, _QUEUE_SECONDS)

    async def answer(self, request: Request, work: Callable[[Identity], Any], status: int = HTTPStatus.OK) -> Response:
        """Identify, work and write the answer, all in one thread."""
        credential = Credential.of(request.headers)

        def whole() -> Response:
            return json_answer(work(self.identities.of(credential)), status)

        return await self.threads.run(whole)

    def _look(self) -> None:
        """:raises Unavailable: not reachable, or not migrated to this version."""
        settings, db = self.source.settings, self.source.stores.facts.db
        require_current(db, fact_migrations(settings.facts_schema))
        require_current(db, serving_migrations(settings.facts_schema))
        if self.source.stores.graph is not None:
            require_current(db, graph_migrations(settings.graph_name, settings.registry_schema))

    def _queue(self) -> QueueStatistics:
        return self.source.stores.facts.queue_statistics(coverage=self.source.coverage)

    def require_ready(self) -> None:
        if self.closing:
            raise Unavailable("the server is stopping")
        try:
            self.ready()
        except Unavailable as error:
            log.warning("not_ready", error=error.message)
            raise Unavailable("the database is away or not of this version") from error


def read_object(body: bytes, headers: Headers) -> dict[str, Any]:
    """The arguments that a body holds; an empty body holds none. Raises BadRequest and touches nothing."""
    if not body:
        return {}
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise BadMedia("send the body as it is, not compressed", argument="content-encoding")
    media = headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if media != _JSON and not (media.startswith("application/") and media.endswith("+json")):
        raise BadMedia(f"send {_JSON}, not {media[:100]}", argument="content-type")
    try:
        read = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except RecursionError as error:
        raise BadRequest("the body is nested too deep", argument="body") from error
    except ValueError as error:
        raise BadRequest(f"the body is not JSON in UTF-8: {str(error)[:200]}", argument="body") from error
    if not isinstance(read, dict):
        raise BadRequest("the body must be a JSON object of arguments", argument="body")
    return read


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


async def body_reader(request: Request) -> Callable[[], dict[str, Any]]:
    """The body is here already; reading it as JSON is work for the thread, after the key was judged."""
    return partial(read_object, await request.body(), request.headers)
