"""`harvester keys`: API keys for those who come over the network."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, hint, say, show_table
from facts.access import Role

if TYPE_CHECKING:
    from crawler.serving.keys import ApiKey, Keys
    from crawler.settings import Settings
    from crawler.wiring import Stores

AsJson = Annotated[bool, typer.Option("--json", help="JSON, an object a line.")]


def add(app: typer.Typer) -> None:
    keys = typer.Typer(help="API keys: who may come over the network, as whom.", no_args_is_help=True)
    keys.command("create")(create)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke)
    app.add_typer(keys, name="keys")


def create(
    context: typer.Context,
    role: Annotated[Role, typer.Option(help="What its bearer may do.")] = Role.AGENT,
    session: Annotated[list[str] | None, typer.Option(help="A session it acts in; several: a set.")] = None,
    tree: Annotated[str | None, typer.Option(help="A session it acts in, with everything below it.")] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's id.")] = None,
    crawler: Annotated[bool, typer.Option("--crawler", help="The same as --role crawler.")] = False,
    prefix: Annotated[list[str] | None, typer.Option(help="Key prefixes of a crawler; none: every key.")] = None,
    label: Annotated[str | None, typer.Option(help="For people, in lists.")] = None,
    days: Annotated[float | None, typer.Option(min=0, help="When it ends; none: never.")] = None,
    more: Annotated[str | None, typer.Option(metavar="JSON", help="An object that other parts read.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, with the key.")] = False,
) -> None:
    """Make a key. It is shown now and never again; the database keeps its SHA-256."""
    from crawler.serving.keys import KeyRequest
    from crawler.wiring import open_stores

    settings = invocation(context).settings
    binding, sessions = _bound(session or [], tree)
    asked = KeyRequest(
        role=Role.CRAWLER if crawler else role,
        binding=binding,
        session_ids=sessions,
        agent_id=agent,
        granted_prefixes=tuple(prefix or ()),
        label=label,
        expires_at=None if days is None else datetime.now(UTC) + timedelta(days=days),
        more=_object(more),
    )
    with open_stores(settings, create=True) as stores:
        made = _keys(stores, settings).create(asked)
        _register(stores, made.key)
    if as_json:
        emit_json({"key": made.token, **key_json(made.key)})
        return
    say(made.token)
    hint(f"key {made.key.key_id} for the role {made.key.role}; it is shown only this once")


def list_keys(
    context: typer.Context,
    over: Annotated[bool, typer.Option("--all", help="Expired and revoked ones too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Keys by id, without what opens."""
    from crawler.wiring import open_stores

    settings = invocation(context).settings
    with open_stores(settings) as stores:
        found = _keys(stores, settings).list(include_over=over)
    if as_json:
        for one in found:
            emit_json(key_json(one))
        return
    columns = ("id", "key", "role", "bound to", "sessions", "prefixes", "label", "expires", "last used", "revoked")
    rows = [
        (one.key_id, f"{one.preview}…", one.role, one.binding, one.session_ids, one.granted_prefixes, one.label,
         one.expires_at, one.last_used_at, one.revoked_at)
        for one in found
    ]  # fmt: skip
    show_table(None, columns, rows)


def revoke(
    context: typer.Context,
    key_id: Annotated[int, typer.Argument(help="As `keys list` shows it.")],
    as_json: AsJson = False,
) -> None:
    """End a key now; browsers that signed in with it are signed out."""
    from crawler.wiring import open_stores

    settings = invocation(context).settings
    with open_stores(settings) as stores:
        gone = _keys(stores, settings).revoke(key_id)
    emit_json(key_json(gone)) if as_json else say(f"key {gone.key_id} ({gone.preview}…) is revoked")


def key_json(key: ApiKey) -> dict[str, Any]:
    """Everything but the digest."""
    from crawler.rendering import to_json

    shown: dict[str, Any] = to_json(key)
    return {name: value for name, value in shown.items() if name != "digest"}


def _keys(stores: Stores, settings: Settings) -> Keys:
    from crawler.serving.keys import open_keys

    return open_keys(stores.facts.db, settings.facts_schema)


def _bound(sessions: list[str], tree: str | None) -> tuple[Any, tuple[str, ...]]:
    from crawler.errors import BadSetting
    from crawler.serving.keys import Binding

    if tree is not None and sessions:
        raise BadSetting("give --tree or --session, not both", argument="tree")
    if tree is not None:
        return Binding.TREE, (tree,)
    if not sessions:
        return Binding.NONE, ()
    return (Binding.SESSION if len(sessions) == 1 else Binding.SET), tuple(sessions)


def _object(text: str | None) -> dict[str, Any]:
    from crawler.errors import BadSetting

    if text is None:
        return {}
    try:
        read = json.loads(text)
    except ValueError as error:
        raise BadSetting(f"--more is not JSON: {error}", argument="more") from error
    if not isinstance(read, dict):
        raise BadSetting("--more must be a JSON object", argument="more")
    return read


def _register(stores: Stores, key: ApiKey) -> None:
    """Its sessions become known, so that nobody else can claim their ids; a known one stays where it is."""
    for session_id in key.session_ids:
        if stores.facts.sessions.get(session_id) is None:
            stores.facts.sessions.register(session_id, agent_id=key.agent_id if len(key.session_ids) == 1 else None)
