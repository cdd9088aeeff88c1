"""`harvester import`: an exported graph, into this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from crawler.commands.ingest import ingest_source
from crawler.invocation import invocation


def add(app: typer.Typer) -> None:
    app.command("import")(import_graph)


def import_graph(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A JSONL file that `harvester export` wrote.")],
    name: Annotated[str | None, typer.Option(help="What to call it in keys; unset: as the file is called.")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Delete what an earlier file of this name had.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> int:
    """Store an exported graph as facts: one a node, one an edge. `harvester run --once` makes the graph of them."""
    from crawler.sources.graph_export import GraphExport

    source = GraphExport(file, name=name)
    return ingest_source(invocation(context), source, prune=prune, session=None, as_json=as_json)
