"""`harvester stats`: facts, graph and queue in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say, show_table

if TYPE_CHECKING:
    from crawler.wiring import Stores
    from facts.coverage import Coverage

_SHOWN = 15


def add(app: typer.Typer) -> None:
    app.command("stats")(stats)


def stats(
    context: typer.Context,
    namespace: Annotated[str | None, typer.Option(help="Only this namespace and what lies below it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """The graph by namespace, kind and predicate, and what waits to be harvested."""
    from crawler.wiring import open_stores

    asked = invocation(context)
    with open_stores(asked.settings) as stores:
        found = _collect(stores, namespace, asked.rules.coverage())
        reason = stores.no_graph
    if as_json:
        emit_json(found)
    else:
        _show(found, reason)


def _collect(stores: Stores, namespace: str | None, coverage: Coverage) -> dict[str, Any]:
    from crawler.rendering import to_json
    from crawler.tools.graph_reads import stats_json

    if stores.graph is not None:
        return stats_json(stores.graph.stats(namespace, coverage=coverage))
    queue = stores.facts.queue_statistics(coverage=coverage, namespace=namespace)
    return {"queue": to_json(queue)}


def _show(found: dict[str, Any], no_graph: str | None) -> None:
    if no_graph is None:
        say(f"{found['nodes']} nodes, {found['edges']} edges, {found['evidence']} pieces of evidence")
    else:
        say(f"no graph: {no_graph}")
    queue = found["queue"]
    say(
        f"queue: {queue['pending']} pending, {queue['leased']} in work, {queue['parked']} parked, "
        f"{queue['tombstones']} deleted facts, {queue['noRule']} that no rule covers"
    )
    for title in ("byNamespace", "byKind", "byPredicate"):
        counts: Mapping[str, int] = found.get(title, {})
        if counts:
            say()
            rows = [*list(counts.items())[:_SHOWN]]
            if len(counts) > _SHOWN:
                rows.append((f"and {len(counts) - _SHOWN} more", sum(list(counts.values())[_SHOWN:])))
            show_table(None, (title.removeprefix("by").lower(), "count"), rows)
