"""`harvester purge`: remove what is left of deleted facts."""

from __future__ import annotations

from typing import Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say


def add(app: typer.Typer) -> None:
    app.command("purge")(purge)


def purge(
    context: typer.Context,
    ttl_seconds: Annotated[float | None, typer.Option(min=0, help="How long the unharvested are kept [21600].")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows at a time.")] = 1_000,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Remove tombstones that the graph has let go of, and old ones that were never harvested."""
    from crawler.wiring import open_stores

    purged = 0
    with open_stores(invocation(context).settings) as stores:
        while True:
            done = stores.facts.purge(ttl_seconds, limit)
            purged += done.purged
            if done.purged < limit:
                break
        left = stores.facts.tombstone_statistics(ttl_seconds)
    if as_json:
        emit_json({"purged": purged, "left": left.pending_total})
    else:
        say(f"{purged} tombstones removed, {left.pending_total} left")
