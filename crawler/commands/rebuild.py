"""`harvester rebuild`: make the graph again."""

from __future__ import annotations

from typing import Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, hint, say


def add(app: typer.Typer) -> None:
    app.command("rebuild")(rebuild)


def rebuild(
    context: typer.Context,
    requeue: Annotated[
        bool, typer.Option("--requeue", help="Forget what was extracted and put its facts back on the queue.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Make the graph again from what was extracted of the facts, hand assertions and merges; no model is asked.

    Works where AGE lost the graph, too. Other writers wait meanwhile.
    """
    from crawler.rendering import to_json
    from crawler.wiring import open_place
    from graph.rebuild import rebuild as make_again

    with open_place(invocation(context).settings) as place:
        done = make_again(place, by_requeue=requeue)
    for key in done.unreadable:
        hint(f"{key}: its ledger row could not be read; it is back on the queue")
    if as_json:
        emit_json(to_json(done))
        return
    say(
        f"{done.nodes} nodes and {done.edges} edges from {done.facts} facts, {done.assertions} hand assertions and "
        f"{done.merges} merges"
    )
    if done.requeued:
        say(f"{done.requeued} facts are back on the queue; `harvester run --once` reads them again")
