"""`harvester guide`: what agents are told, as a given role is told it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, show_table
from facts.access import Role


def add(app: typer.Typer) -> None:
    app.command("guide")(guide)


def guide(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which one; none: list them.")] = None,
    role: Annotated[Role, typer.Option(help="For whom.")] = Role.AGENT,
    session: Annotated[str | None, typer.Option(help="The reader's session.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, an object a guide.")] = False,
) -> None:
    """Print a guide for agents: how to use the facts, how to crawl, which namespaces and skills there are."""
    from crawler.caller import Caller
    from crawler.guides import guides_for
    from crawler.protocol.source import Source
    from crawler.wiring import open_stores

    settings = invocation(context).settings
    caller = Caller.checked(role=role, session_id=session)
    with open_stores(settings, create=True) as stores:
        source = Source(stores=stores, settings=settings)
        text = None if name is None else source.guide(name, caller)
        listed = guides_for(source.desk(caller))
    if name is not None and text is not None:
        emit_json({"name": name, "text": text}) if as_json else sys.stdout.buffer.write(text.encode())
        return
    if as_json:
        for each in listed:
            emit_json({"name": each.name, "title": each.title, "description": each.description})
        return
    show_table(None, ("guide", "what it says"), [(each.name, each.description) for each in listed])
