"""`harvester queue` and `requeue`: what waits for a harvester, what failed, and how it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from crawler.errors import BadSetting
from crawler.invocation import Invocation, invocation
from crawler.output import emit_json, say, short, show_table

if TYPE_CHECKING:
    from facts.uncrawled import QueueEntry, QueueStatistics

AsJson = Annotated[bool, typer.Option("--json", help="JSON, an object a line.")]


def add(app: typer.Typer) -> None:
    app.command("queue")(queue)
    app.command("requeue")(requeue)


def queue(
    context: typer.Context,
    state: Annotated[str, typer.Option(help="any, due, leased, failed or parked.")] = "any",
    prefix: Annotated[str | None, typer.Option(help="Only keys that start so.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows.")] = 20,
    retry: Annotated[bool, typer.Option("--retry", help="Let failed and parked facts be tried again now.")] = False,
    unpark: Annotated[bool, typer.Option("--unpark", help="Let parked facts be tried again now.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is pending, who works on it, and what failed."""
    from crawler.rendering import to_json
    from crawler.wiring import open_stores
    from facts.uncrawled import EntriesQuery, Forgiven, forgive, queue_entries

    asked = invocation(context)
    with open_stores(asked.settings) as stores:
        facts = stores.facts
        if retry or unpark:
            which = Forgiven.PARKED_AND_BACKED_OFF if retry else Forgiven.PARKED
            count = facts.db.run(lambda conn: forgive(conn, facts.tables, which=which))
            emit_json({"due": count}) if as_json else say(f"{count} facts are due again")
            return
        numbers = facts.queue_statistics(coverage=asked.rules.coverage())
        with facts.db.transaction() as conn:
            entries = queue_entries(conn, facts.tables, EntriesQuery(state=state, key_prefix=prefix, limit=limit))
    if as_json:
        emit_json({"queue": to_json(numbers), "facts": [to_json(entry) for entry in entries]})
        return
    _show(numbers, entries)


def _show(numbers: QueueStatistics, entries: tuple[QueueEntry, ...]) -> None:
    say(
        f"pending {numbers.pending}: {numbers.leased} in work, {numbers.parked} parked, "
        f"{numbers.tombstones} deleted facts, {numbers.no_rule} that no rule covers"
    )
    if numbers.oldest_pending_at is not None:
        say(f"oldest since {numbers.oldest_pending_at:%Y-%m-%d %H:%M:%S %Z}")
    if entries:
        columns = ("scope key", "state", "attempts", "error")
        rows = ((one.scope_key, _state(one), one.attempts, short(one.last_error or "", 80)) for one in entries)
        show_table(None, columns, rows)


def _state(entry: QueueEntry) -> str:
    if entry.parked:
        return "parked"
    if entry.retry_at is not None:
        return f"retry {entry.retry_at:%H:%M:%S}"
    if entry.owner is not None:
        return f"in work until {entry.leased_until:%H:%M:%S}"
    return "deleted" if entry.deleted else "due"


def requeue(
    context: typer.Context,
    scope_keys: Annotated[list[str] | None, typer.Argument(help="Scope keys: shared:KEY, session:ID:KEY.")] = None,
    prefix: Annotated[str | None, typer.Option(help="Instead: every key that starts so.")] = None,
    extractor: Annotated[str | None, typer.Option(help="Instead: what this extractor said last.")] = None,
    older_than: Annotated[str | None, typer.Option(help="With --extractor: in a version older than this.")] = None,
    changed_rules: Annotated[
        bool, typer.Option("--changed-rules", help="Instead: what the rules of today read in another way.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put facts back on the queue: they are harvested again, with attempts and parking forgotten."""
    if older_than is not None and extractor is None:
        raise BadSetting("--older-than goes with --extractor", argument="older-than")
    if sum((bool(scope_keys), prefix is not None, extractor is not None, changed_rules)) != 1:
        raise BadSetting("give scope keys, --prefix, --extractor or --changed-rules, exactly one of them")
    if extractor is not None or changed_rules:
        affected = _requeue_harvested(invocation(context), extractor, older_than)
    else:
        affected = _requeue_named(invocation(context), scope_keys, prefix)
    emit_json({"requeued": affected}) if as_json else say(f"{affected} facts are back on the queue")


def _requeue_harvested(asked: Invocation, extractor: str | None, older_than: str | None) -> int:
    from crawler.reharvest import requeue_changed, requeue_older
    from crawler.wiring import open_stores

    with open_stores(asked.settings) as stores:
        graph = stores.needed_graph()
        if extractor is not None:
            return requeue_older(graph, extractor=extractor, older_than=older_than)
        return requeue_changed(graph, asked.rules)


def _requeue_named(asked: Invocation, scope_keys: list[str] | None, prefix: str | None) -> int:
    from crawler.wiring import open_stores
    from facts.limits import RECEIPTS
    from facts.uncrawled import CrawlMark

    chunks = [scope_keys[at : at + RECEIPTS] for at in range(0, len(scope_keys), RECEIPTS)] if scope_keys else [None]
    with open_stores(asked.settings) as stores:
        return sum(
            stores.facts.set_crawled(
                None if keys is None else [CrawlMark(scope_key=key) for key in keys], key_prefix=prefix, crawled=False
            ).affected
            for keys in chunks
        )
