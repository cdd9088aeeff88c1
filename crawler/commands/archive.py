"""`harvester backup` and `harvester restore`: everything in one file, and back into an empty database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say

if TYPE_CHECKING:
    from graph.archive import Archived


def add(app: typer.Typer) -> None:
    app.command("backup")(backup)
    app.command("restore")(restore)


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="The archive to write; it must not be there yet.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Write facts, queue, ledger, assertions and merges, as they are at one moment, to one file."""
    from crawler.wiring import open_place
    from graph.archive import back_up

    with open_place(invocation(context).settings) as place:
        done = back_up(place, file)
    _say("saved to", file, done, as_json=as_json)


def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="An archive that `harvester backup` wrote.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Read an archive into a database that holds nothing yet, and make the graph from it; all or nothing."""
    from crawler.wiring import open_place
    from graph.archive import read_manifest
    from graph.archive import restore as bring_back

    read_manifest(file)
    with open_place(invocation(context).settings, fresh=True) as place:
        done = bring_back(place, file)
    _say("restored from", file, done, as_json=as_json)


def _say(verb: str, file: Path, done: Archived, *, as_json: bool) -> None:
    if as_json:
        emit_json({"file": str(file), "takenAt": done.taken_at.isoformat(), "rows": dict(done.tables)})
    else:
        say(f"{done.facts} facts, {done.nodes} nodes, {done.edges} edges {verb} {file}")
