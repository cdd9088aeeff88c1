"""`harvester migrate`: bring the database to this version."""

from __future__ import annotations

from typing import Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say


def add(app: typer.Typer) -> None:
    app.command("migrate")(migrate)


def migrate(
    context: typer.Context, as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False
) -> None:
    """Create or update what this version needs in the database. Safe to repeat, safe in parallel."""
    from crawler.wiring import migrate_all, open_database

    settings = invocation(context).settings
    with open_database(settings, create=True) as url:
        applied = migrate_all(url, settings)
    if as_json:
        emit_json({"applied": applied})
    elif applied:
        say(f"applied {', '.join(applied)}")
    else:
        say("the database is up to date")
