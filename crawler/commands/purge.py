"""`harvester purge`: remove what is left of deleted facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say

if TYPE_CHECKING:
    from crawler.wiring import Stores


def add(app: typer.Typer) -> None:
    app.command("purge")(purge)


def purge(
    context: typer.Context,
    ttl_seconds: Annotated[float | None, typer.Option(min=0, help="How long the unharvested are kept [21600].")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows at a time.")] = 1_000,
    erase: Annotated[
        bool, typer.Option("--erase", help="Take what all deleted facts said out of every table now.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Remove tombstones that the graph has let go of, and old ones that were never harvested."""
    from crawler.wiring import open_stores

    purged = 0
    with open_stores(invocation(context).settings) as stores:
        if erase:
            purged += _erase(stores)
        purged += stores.facts.purge_all(ttl_seconds, limit)
        left = stores.facts.tombstone_statistics(ttl_seconds)
    if as_json:
        emit_json({"purged": purged, "left": left.pending_total})
    else:
        say(f"{purged} tombstones removed, {left.pending_total} left")


def _erase(stores: Stores) -> int:
    from graph.erasure import erase_tombstones

    return stores.facts.erase_tombstones().removed if stores.graph is None else erase_tombstones(stores.graph).erased
