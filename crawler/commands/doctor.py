"""`harvester doctor`: is everything as it should be, and mend what is safe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say

if TYPE_CHECKING:
    from graph.doctor import Finding

_EXAMPLES = 5


def add(app: typer.Typer) -> None:
    app.command("doctor")(doctor)


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended without losing anything.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Check versions, ids, rows and sums of the graph, and the queue. Exit code 1 when a fault is left."""
    from crawler.rendering import to_json
    from crawler.wiring import open_place
    from graph.doctor import Level, examine, mend

    with open_place(invocation(context).settings) as place:
        mended = mend(place) if fix else ()
        found = examine(place)
    if as_json:
        emit_json({"mended": list(mended), "findings": to_json(found)})
    else:
        _show(found, mended)
    if any(each.level is Level.FAULT for each in found):
        raise typer.Exit(1)


def _show(found: Sequence[Finding], mended: Sequence[str]) -> None:
    if mended:
        say(f"mended: {', '.join(mended)}")
    for each in found:
        say(f"{each.level} {each.check}: {each.message}" + (f" ({each.count})" if each.examples else ""))
        for example in each.examples[:_EXAMPLES]:
            say(f"    {example}")
        if each.count > _EXAMPLES:
            say(f"    and {each.count - _EXAMPLES} more")
        say(f"    {each.remedy}")
    if not found:
        say("everything is as it should be")
