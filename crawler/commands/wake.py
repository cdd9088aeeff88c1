"""`harvester wake`: run something whenever shared observations arrive under ``intake/``."""

from __future__ import annotations

from typing import Annotated

import typer

from crawler.invocation import invocation


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
    from crawler.waking import act_of
    from crawler.wiring import open_stores
    from facts.wake import WakeListener

    act = act_of(command, post)
    if act is None:
        raise BadSetting("give either --exec or --post", argument="exec")
    settings = invocation(context).settings
    with open_stores(settings) as stores:
        listener = WakeListener(stores.facts.db.connect, schema=settings.facts_schema)
        for count, one in enumerate(listener.wakes(), 1):
            act(one)
            if count == times:
                listener.stop()
