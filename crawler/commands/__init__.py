"""The commands, one room each. A module's `add` puts its command on the app; what it needs is imported when it runs."""

from __future__ import annotations

import typer

from crawler.commands import (
    archive,
    call,
    demo,
    doctor,
    export,
    guide,
    import_graph,
    ingest,
    keys,
    mcp,
    migrate,
    purge,
    queue,
    rebuild,
    report,
    run,
    serve,
    sessions,
    show,
    stats,
    wake,
)


def add_commands(app: typer.Typer) -> None:
    """In the order of a first use."""
    for room in (
        demo, migrate, ingest, run, serve, show, stats, report, export, import_graph, call, mcp, guide,
        queue, keys, sessions, purge, wake, doctor, rebuild, archive,
    ):  # fmt: skip
        room.add(app)
