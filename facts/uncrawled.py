"""The agents' and operators' side of the crawl queue: look at it, acknowledge by hand, put facts back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never

from facts.cursors import decode_cursor, encode_cursor
from facts.errors import InvalidArgument
from facts.inputs import ABSENT, Absent
from facts.limits import (
    KEY_BYTES,
    QUEUE_PAGE,
    RECEIPTS,
    checked_count,
    checked_prefix,
    checked_text,
    number_in,
    unstorable,
)
from facts.parameters import numbers, texts
from facts.patterns import below, escape_like
from facts.records import RECORD_COLUMNS, FactRecord
from facts.visibility import visible_parameters

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.access import AccessContext
    from facts.coverage import Coverage
    from facts.reserved import ReservedRules
    from facts.tables import FactTables

DEFAULT_PAGE = 20
LISTED_SKIPS = 500
_CURSOR = "queue"


class SkipReason(StrEnum):
    ETAG = "etag"
    STATE = "state"
    REFERENCED = "referenced"
    GONE = "gone"


class QueueState(StrEnum):
    ANY = "any"
    DUE = "due"
    LEASED = "leased"
    FAILED = "failed"
    PARKED = "parked"


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedFact:
    """A pending fact; a parked one was given up by a harvester and says why."""

    fact: FactRecord
    parked: bool
    last_error: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UncrawledQuery:
    """Which pending facts: those below a literal prefix, or a namespace's, or all."""

    key_prefix: str | None = None
    namespace: str | None = None
    limit: int = DEFAULT_PAGE
    cursor: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuePage:
    """Pending facts, oldest first, and the cursor to go on with."""

    facts: tuple[QueuedFact, ...]
    cursor: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CrawlMark:
    """One entry of set_crawled. With an etag it is conditional; without one it stomps; None is refused."""

    scope_key: str
    etag: int | str | Absent | None = ABSENT


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkRequest:
    """Off the queue, or with `crawled` False back on it: exactly one of marks and prefix selects."""

    marks: Sequence[CrawlMark] | None = None
    key_prefix: str | None = None
    crawled: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedKey:
    scope_key: str
    reason: SkipReason


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkResult:
    """affected + skipped = entries sent, for a prefix = facts selected; at most 500 skipped keys are listed."""

    affected: int
    skipped: int
    skipped_keys: tuple[SkippedKey, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueStatistics:
    """`no_rule` counts pending facts outside a harvester's coverage; `next_retry_at` is the earliest back-off's end."""

    pending: int
    leased: int
    parked: int
    tombstones: int
    no_rule: int
    oldest_pending_at: datetime | None
    next_retry_at: datetime | None
    last_crawled_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class EntriesQuery:
    """Which entries of the queue an operator wants to see; `after_id` goes on after a fact id."""

    state: QueueState | str = QueueState.ANY
    scope_key: str | None = None
    key_prefix: str | None = None
    limit: int = DEFAULT_PAGE
    after_id: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueEntry:
    """One pending fact as an operator sees it; the last six fields are a harvester's, None when none took it yet."""

    fact_id: int
    scope_key: str
    etag: int
    deleted: bool
    updated_at: datetime
    owner: str | None
    leased_until: datetime | None
    attempts: int | None
    retry_at: datetime | None
    parked: bool
    last_error: str | None


def read_uncrawled(
    conn: Connection,
    tables: FactTables,
    access: AccessContext,
    query: UncrawledQuery,
    *,
    rules: ReservedRules,
) -> QueuePage:
    """One page of pending facts within the reader's grant."""
    most = checked_count(query.limit, argument="limit", most=QUEUE_PAGE)
    parameters = {
        "likes": key_likes(key_prefix=query.key_prefix, namespace=query.namespace),
        "after_id": 0 if query.cursor is None else decode_cursor(query.cursor, _CURSOR, 1)[0],
        "limit": most + 1,
        **visible_parameters(access.at_work(), rules=rules),
    }
    rows = conn.execute(tables.queue.read_uncrawled, parameters, prepare=False).fetchall()
    facts = tuple(
        QueuedFact(fact=FactRecord.from_row(row), parked=row[RECORD_COLUMNS], last_error=row[RECORD_COLUMNS + 1])
        for row in rows[:most]
    )
    return QueuePage(facts=facts, cursor=encode_cursor(_CURSOR, facts[-1].fact.fact_id) if len(rows) > most else None)


def key_likes(*, key_prefix: str | None = None, namespace: str | None = None) -> list[str] | None:
    """LIKE patterns of a literal prefix, or of a namespace: the value itself or below it. None is everything."""
    if key_prefix is not None and namespace is not None:
        raise InvalidArgument("give a key prefix or a namespace, not both", argument="namespace")
    if key_prefix is not None:
        return [below(checked_prefix(key_prefix))]
    if namespace is None:
        return None
    trimmed = checked_text(namespace, KEY_BYTES, argument="namespace", noun="a namespace").strip().strip("/")
    if not trimmed:
        raise InvalidArgument("a namespace is not blank", argument="namespace")
    return [escape_like(trimmed), below(f"{trimmed}/")]


def set_crawled(
    conn: Connection,
    tables: FactTables,
    access: AccessContext,
    request: MarkRequest,
    *,
    rules: ReservedRules,
) -> MarkResult:
    """Acknowledge by hand or requeue, by receipts or by prefix; exactly one of the two selects."""
    marks, crawled = request.marks, request.crawled
    if (marks is None) == (request.key_prefix is None):
        raise InvalidArgument("give scope keys or a key prefix, exactly one of them", argument="scope_keys")
    acl = visible_parameters(access.at_work(), rules=rules)
    if marks is None:
        return _mark_below(conn, tables, below(checked_prefix(request.key_prefix)), acl, crawled=crawled)
    checked = check_marks(marks)
    rows = conn.execute(tables.queue.lock_marks, {"scope_keys": texts(checked), **acl}, prepare=False).fetchall()
    locked = {row[1]: _Locked(*row) for row in rows}
    failed = _failures(conn, tables, locked.values()) if not crawled else frozenset()
    skips = {
        key: reason
        for key, etag in checked.items()
        if (reason := _skip(locked.get(key), etag, failed, crawled=crawled)) is not None
    }
    chosen = [locked[key] for key in checked if key not in skips]
    _apply(conn, tables, chosen, failed, crawled=crawled)
    listed = tuple(SkippedKey(scope_key=key, reason=reason) for key, reason in skips.items())
    return MarkResult(affected=len(chosen), skipped=len(skips), skipped_keys=listed[:LISTED_SKIPS])


def check_marks(marks: Sequence[CrawlMark]) -> dict[str, int | None]:
    """The etag asked for by scope key (None: whatever it is); pure."""
    if not 1 <= len(marks) <= RECEIPTS:
        raise InvalidArgument(f"1 to {RECEIPTS} scope keys are taken, not {len(marks)}", argument="scope_keys")
    checked: dict[str, int | None] = {}
    for index, mark in enumerate(marks):
        argument = f"scope_keys[{index}]"
        if not isinstance(mark.scope_key, str) or not mark.scope_key or unstorable(mark.scope_key):
            raise InvalidArgument(f"{argument} is no scope key", argument=argument)
        if mark.scope_key in checked:
            raise InvalidArgument(f"{mark.scope_key} is named twice", argument=argument)
        checked[mark.scope_key] = _checked_etag(mark.etag, f"{argument}.etag")
    return checked


def _checked_etag(etag: object, argument: str) -> int | None:
    if etag is ABSENT:
        return None
    if isinstance(etag, str):
        etag = number_in(etag)
    if isinstance(etag, bool) or not isinstance(etag, int) or not 0 <= etag < 2**63:
        raise InvalidArgument(
            "an etag is the number that was read; leave it out to acknowledge unseen", argument=argument
        )
    return etag


@dataclass(frozen=True, slots=True)
class _Locked:
    fact_id: int
    scope_key: str
    etag: int
    crawled: bool
    deleted: bool
    pinned: bool


def _failures(conn: Connection, tables: FactTables, facts: Sequence[_Locked] | Any) -> frozenset[int]:
    rows = conn.execute(tables.queue.lock_failures, {"fact_ids": numbers(fact.fact_id for fact in facts)}).fetchall()
    return frozenset(row[0] for row in rows)


def _skip(fact: _Locked | None, etag: int | None, failed: frozenset[int], *, crawled: bool) -> SkipReason | None:
    if fact is None:
        return SkipReason.GONE
    if etag is not None and fact.etag != etag:
        return SkipReason.ETAG
    if fact.crawled == crawled and fact.fact_id not in failed:
        return SkipReason.STATE
    if crawled and fact.deleted and fact.pinned:
        return SkipReason.REFERENCED
    return None


def _apply(
    conn: Connection, tables: FactTables, facts: Sequence[_Locked], failed: frozenset[int], *, crawled: bool
) -> None:
    if not facts:
        return
    fact_ids = numbers(fact.fact_id for fact in facts)
    if not crawled:
        chosen = numbers(fact.fact_id for fact in facts if fact.fact_id in failed)
        conn.execute(tables.queue.reopen_marked, {"fact_ids": fact_ids, "failed_ids": chosen})
        return
    conn.execute(tables.queue.close_marked, {"fact_ids": fact_ids})
    tombstones = [fact.fact_id for fact in facts if fact.deleted]
    if tombstones:
        conn.execute(tables.receipts.blank_tombstones, {"fact_ids": numbers(tombstones)})


def _mark_below(conn: Connection, tables: FactTables, like: str, acl: dict[str, Any], *, crawled: bool) -> MarkResult:
    query = tables.queue.close_below if crawled else tables.queue.reopen_below
    [row] = conn.execute(query, {"like": like, "listed": LISTED_SKIPS, **acl}, prepare=False).fetchall()
    affected, selected, keys = row
    skipped = tuple(SkippedKey(scope_key=key, reason=SkipReason.STATE) for key in keys)
    return MarkResult(affected=affected, skipped=selected - affected, skipped_keys=skipped)


def queue_statistics(
    conn: Connection, tables: FactTables, *, coverage: Coverage, namespace: str | None = None
) -> QueueStatistics:
    """The queue in numbers, of one namespace when named.

    The whole queue costs the same however long it is. A namespace is counted fact by fact, and so is what no rule covers:
    with rules, and a million facts pending, that takes a third of a second.
    """
    likes = {"likes": key_likes(namespace=namespace)}
    query = tables.queue.totals if likes["likes"] is None else tables.queue.totals_below
    [row] = conn.execute(query, likes, prepare=False).fetchall()
    no_rule = 0
    if not coverage.everything:
        parameters = {**likes, **coverage.parameters()}
        [[no_rule]] = conn.execute(tables.queue.count_uncovered, parameters, prepare=False).fetchall()
    [[last]] = conn.execute(tables.queue.last_crawled, likes, prepare=False).fetchall()
    return QueueStatistics(
        pending=row[0], leased=row[1], parked=row[2], tombstones=row[3], no_rule=no_rule, oldest_pending_at=row[4],
        next_retry_at=row[5], last_crawled_at=last,
    )  # fmt: skip


def queue_entries(
    conn: Connection,
    tables: FactTables,
    query: EntriesQuery | None = None,
) -> tuple[QueueEntry, ...]:
    """Pending facts with their leases and failures, for the operator."""
    asked = query or EntriesQuery()
    try:
        chosen = QueueState(asked.state)
    except ValueError:
        raise InvalidArgument(f"state must be one of {', '.join(QueueState)}", argument="state") from None
    parameters = {
        "state": chosen.value,
        "scope_key": asked.scope_key,
        "likes": key_likes(key_prefix=asked.key_prefix),
        "limit": checked_count(asked.limit, argument="limit"),
        "after_id": asked.after_id,
    }
    rows = conn.execute(tables.queue.entries, parameters, prepare=False).fetchall()
    return tuple(
        QueueEntry(
            fact_id=row[0], scope_key=row[1], etag=row[2], deleted=row[3], updated_at=row[4], owner=row[5],
            leased_until=row[6], attempts=row[7], retry_at=row[8], parked=row[9], last_error=row[10],
        )
        for row in rows
    )  # fmt: skip


class Forgiven(StrEnum):
    PARKED = "parked"
    PARKED_AND_BACKED_OFF = "parked and backed off"


def forgive(
    conn: Connection, tables: FactTables, scope_keys: Sequence[str] | None = None, *, which: Forgiven = Forgiven.PARKED
) -> int:
    """Parked facts (or backed-off ones as well) are due again, attempts forgotten; returns how many."""
    match which:
        case Forgiven.PARKED:
            backed_off = False
        case Forgiven.PARKED_AND_BACKED_OFF:
            backed_off = True
        case never:
            assert_never(never)
    named = None if scope_keys is None else texts(scope_keys)
    return conn.execute(tables.queue.forgive, {"scope_keys": named, "backed_off": backed_off}).rowcount
