"""Wake a curator when shared observations arrive under ``intake/``: by a command or a post."""

from __future__ import annotations

import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

import structlog

from crawler.errors import BadSetting
from crawler.settings import environment_for_child
from facts import FactStore
from facts.wake import Wake, WakeListener

log = structlog.get_logger()

_POST_SECONDS: Final = 30

Act = Callable[[Wake], None]


def act_of(command: str | None, post: str | None) -> Act | None:
    """What to do at a wake; None when nothing is asked for. :raises BadSetting: both are, or no http(s) URL."""
    if command is not None and post is not None:
        raise BadSetting("give either a command or a URL, not both", argument="exec")
    if post is not None and urlsplit(post).scheme not in {"http", "https"}:
        raise BadSetting("a wake is posted to an http or https URL", argument="post")
    if command is not None:
        return lambda one: _run(command, one)
    return None if post is None else lambda one: _post(post, one)


@contextmanager
def keeping_awake(facts: FactStore, act: Act | None) -> Iterator[None]:
    """Wakes are passed on while this is open, in a thread of their own, which the process does not wait for."""
    if act is None:
        yield
        return
    listener = WakeListener(facts.db.connect, schema=facts.tables.schema)

    def listen() -> None:
        for one in listener.wakes():
            act(one)

    threading.Thread(target=listen, name="wake", daemon=True).start()
    try:
        yield
    finally:
        listener.stop()


def _body(one: Wake) -> str:
    return json.dumps({"cause": one.cause.value, "factIds": list(one.fact_ids)})


def _run(command: str, one: Wake) -> None:
    environment = environment_for_child(HARVESTER_WAKE=_body(one))
    done = subprocess.run(command, shell=True, check=False, env=environment)  # noqa: S602 - the operator's own
    log.info("woke", cause=one.cause.value, exit_code=done.returncode)


def _post(url: str, one: Wake) -> None:
    request = urllib.request.Request(  # noqa: S310 - the scheme is checked
        url, data=_body(one).encode(), headers={"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=_POST_SECONDS) as answer:  # noqa: S310 - as above
            log.info("woke", cause=one.cause.value, status=answer.status)
    except (urllib.error.URLError, TimeoutError) as error:
        log.warning("wake_failed", cause=one.cause.value, error=str(error))
