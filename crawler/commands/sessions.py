"""`harvester sessions`: the register of sessions and their spawn trees."""

from __future__ import annotations

from typing import Annotated

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, say, show_table

AsJson = Annotated[bool, typer.Option("--json", help="JSON, an object a line.")]
SessionId = Annotated[str, typer.Argument(help="1 to 128 bytes without a colon.")]


def add(app: typer.Typer) -> None:
    sessions = typer.Typer(help="Sessions and their spawn trees.", no_args_is_help=True)
    sessions.command("register")(register)
    sessions.command("list")(list_sessions)
    sessions.command("tree")(tree)
    sessions.command("delete")(delete)
    sessions.command("sweep")(sweep)
    app.add_typer(sessions, name="sessions")


def register(
    context: typer.Context,
    session_id: SessionId,
    parent: Annotated[str | None, typer.Option(help="The session that spawned it.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent that runs in it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a session known, or move a known one under another parent."""
    from crawler.rendering import to_json
    from crawler.wiring import open_stores

    with open_stores(invocation(context).settings, create=True) as stores:
        made = stores.facts.sessions.register(session_id, parent_session_id=parent, agent_id=agent)
    emit_json(to_json(made)) if as_json else say(f"session {made.session_id} is registered")


def list_sessions(
    context: typer.Context,
    deleted: Annotated[bool, typer.Option("--deleted", help="Deleted ones too.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Rows.")] = 1_000,
    as_json: AsJson = False,
) -> None:
    """Sessions by id."""
    from crawler.rendering import to_json
    from crawler.wiring import open_stores

    with open_stores(invocation(context).settings) as stores:
        found = stores.facts.sessions.list(include_deleted=deleted, limit=limit)
    if as_json:
        for one in found:
            emit_json(to_json(one))
        return
    rows = [(one.session_id, one.parent_session_id, one.agent_id, one.created_at, one.deleted_at) for one in found]
    show_table(None, ("session", "parent", "agent", "created", "deleted"), rows)


def tree(context: typer.Context, session_id: SessionId, as_json: AsJson = False) -> None:
    """The relatives whose private facts a session may read."""
    from crawler.wiring import open_stores

    with open_stores(invocation(context).settings) as stores:
        found = sorted(stores.facts.sessions.tree(session_id))
    if as_json:
        emit_json({"sessionId": session_id, "relatives": found})
        return
    for one in found:
        say(one)


def delete(context: typer.Context, session_id: SessionId, as_json: AsJson = False) -> None:
    """End a session: its private facts are deleted, and nothing more can be stored in it."""
    from crawler.wiring import open_stores

    with open_stores(invocation(context).settings) as stores:
        count = stores.facts.sessions.delete(session_id)
    emit_json({"factsDeleted": count}) if as_json else say(f"{count} facts were deleted with session {session_id}")


def sweep(
    context: typer.Context,
    session_id: Annotated[str | None, typer.Argument(help="The root of the tree; none: every deleted session.")] = None,
    as_json: AsJson = False,
) -> None:
    """End a session and everything below it, or bury what deleted sessions left behind."""
    from crawler.wiring import open_stores

    with open_stores(invocation(context).settings) as stores:
        sessions = stores.facts.sessions
        count = sessions.sweep_gone() if session_id is None else sessions.sweep_tree(session_id)
    emit_json({"factsDeleted": count}) if as_json else say(f"{count} facts were deleted")
