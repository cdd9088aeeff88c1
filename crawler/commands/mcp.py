"""`harvester mcp`: the tools for one agent, over stdin and stdout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crawler.invocation import invocation
from facts.access import Role

if TYPE_CHECKING:
    from crawler.caller import Caller
    from facts.sessions import Sessions


def add(app: typer.Typer) -> None:
    app.command("mcp")(mcp)


def mcp(
    context: typer.Context,
    role: Annotated[Role, typer.Option(help="On whose behalf.")] = Role.AGENT,
    session: Annotated[str | None, typer.Option(help="The agent's session; it is registered.")] = None,
    parent_session: Annotated[str | None, typer.Option(help="The session that spawned it.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's id.")] = None,
) -> None:
    """Serve MCP on stdin and stdout for an agent host that starts this command.

    Who calls is said here and nowhere else. Ends when stdin closes. stdout carries the protocol only.
    """
    from crawler.caller import Caller
    from crawler.errors import BadSetting
    from crawler.protocol.server import make_server
    from crawler.protocol.source import Source
    from crawler.protocol.stdio import claimed_stdio, serve_stdio
    from crawler.wiring import open_stores

    asked = invocation(context)
    settings, coverage = asked.settings, asked.rules.coverage()
    caller = Caller.checked(role=role, session_id=session, agent_id=agent)
    if parent_session is not None and session is None:
        raise BadSetting("--parent-session is the parent of --session, which is missing", argument="session")
    with claimed_stdio() as wire, open_stores(settings, create=True) as stores:
        register_session(stores.facts.sessions, caller, parent_session)
        server = make_server(Source(stores=stores, settings=settings, coverage=coverage), lambda _: caller)
        serve_stdio(server, wire, line_bytes=settings.max_message_bytes, grace_s=settings.shutdown_seconds)


def register_session(sessions: Sessions, caller: Caller, parent: str | None) -> None:
    """A host starts the command anew for each conversation: without a parent named, a known session stays where it is."""
    if caller.session_id is None:
        return
    known = sessions.get(caller.session_id) if parent is None else None
    stays = known.parent_session_id if known is not None else parent
    sessions.register(caller.session_id, parent_session_id=stays, agent_id=caller.agent_id)
