"""`harvester wake`: run something whenever shared observations arrive under ``intake/``."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import structlog
import typer

from crawler.invocation import invocation

if TYPE_CHECKING:
    from facts.wake import Wake

log = structlog.get_logger()

_POST_SECONDS = 30


def add(app: typer.Typer) -> None:
    app.command("wake")(wake)


def wake(
    context: typer.Context,
    command: Annotated[str | None, typer.Option("--exec", metavar="CMD", help="A shell command to run.")] = None,
    post: Annotated[str | None, typer.Option("--post", metavar="URL", help="An http(s) URL to post to.")] = None,
    times: Annotated[int, typer.Option(min=0, help="Stop after so many; 0: never.")] = 0,
) -> None:
    """Wake a curator: at start, on new intake (what comes together is one), and at least every six hours.

    It learns the cause and the ids of new facts: as HARVESTER_WAKE (JSON) in the command's environment, as the body of
    the post. A failure is logged; the next wake comes all the same.
    """
    from crawler.errors import BadSetting
    from crawler.wiring import open_stores
    from facts.wake import WakeListener

    if (command is None) == (post is None):
        raise BadSetting("give either --exec or --post", argument="exec")
    if post is not None and urlsplit(post).scheme not in {"http", "https"}:
        raise BadSetting("--post takes an http or https URL", argument="post")
    act: Callable[[Wake], None] = (lambda one: _run(command, one)) if command else (lambda one: _post(post or "", one))
    settings = invocation(context).settings
    with open_stores(settings) as stores:
        listener = WakeListener(stores.facts.db.connect, schema=settings.facts_schema)
        for count, one in enumerate(listener.wakes(), 1):
            act(one)
            if count == times:
                listener.stop()


def _body(one: Wake) -> str:
    return json.dumps({"cause": one.cause.value, "factIds": list(one.fact_ids)})


def _run(command: str, one: Wake) -> None:
    from crawler.settings import environment_for_child

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
