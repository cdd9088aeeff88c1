"""`harvester demo`: the promise, on real input, in a scratch folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    context: typer.Context,
    picture: Annotated[Path | None, typer.Option(help="Where the HTML picture goes [.harvester/demo.html].")] = None,
    checkout: Annotated[Path | None, typer.Option(help="A git repository to read as well [this folder].")] = None,
) -> None:
    """Harvest this Python environment and this repository, look at the graph, edit and delete a fact, look again."""
    from crawler.demo import run_demo
    from crawler.invocation import invocation
    from crawler.logs import configure_logs

    configure_logs(style=invocation(context).settings.log_format, level="warning")
    if picture is None:
        run_demo(checkout=checkout)
    else:
        run_demo(picture=picture, checkout=checkout)
