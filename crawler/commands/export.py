"""`harvester export`: the graph for other programs."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from crawler.invocation import invocation
from crawler.output import hint

if TYPE_CHECKING:
    from collections.abc import Iterator


def add(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    context: typer.Context,
    output: Annotated[Path | None, typer.Argument(help="A file; unset or -: stdout.")] = None,
    export_format: Annotated[str, typer.Option("--format", help="jsonl, node-link, graphml or gexf.")] = "jsonl",
    namespace: Annotated[str | None, typer.Option(help="Only this namespace and what lies below it.")] = None,
) -> None:
    """Write the whole graph of one moment. A file appears only when it is complete."""
    from crawler.wiring import open_stores
    from facts.access import UNRESTRICTED
    from graph.export import checked_format

    chosen = checked_format(export_format)
    with open_stores(invocation(context).settings) as stores, _opened(output) as out:
        done = stores.needed_graph().export(out, chosen, namespace=namespace, access=UNRESTRICTED)
    hint(f"{done.nodes} nodes and {done.edges} edges, {chosen.value}")


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    """Stdout, or a file beside its final place that takes its name at the end."""
    from crawler.errors import BadSetting

    if output is None or str(output) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        handle, name = tempfile.mkstemp(dir=output.parent, prefix=f".{output.name}.")
    except OSError as error:
        raise BadSetting(f"cannot write {output}: {error.strerror}", argument="output") from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
