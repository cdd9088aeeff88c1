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
    ingest,
    mcp,
    migrate,
    purge,
    queue,
    rebuild,
    report,
    run,
    sessions,
    show,
    stats,
    wake,
)


def add_commands(app: typer.Typer) -> None:
    """In the order of a first use."""
    for room in (
        demo, migrate, ingest, run, show, stats, report, export, call, mcp, guide,
        queue, sessions, purge, wake, doctor, rebuild, archive,
    ):  # fmt: skip
        room.add(app)
