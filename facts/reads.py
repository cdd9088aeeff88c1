"""Reading facts: newest first, by cursor, each reader in its sight only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, assert_never

from facts.cleaning import clean_value
from facts.cursors import decode_cursor, encode_cursor
from facts.errors import InvalidArgument, NotFound, NotPermitted
from facts.inputs import ReadFactsQuery, ReadScope
from facts.limits import (
    KEY_BYTES,
    PATTERN_BYTES,
    SCOPE_KEYS_READ,
    TAGS,
    checked_agent_id,
    checked_count,
    checked_session_id,
    checked_text,
    unstorable,
)
from facts.parameters import texts
from facts.patterns import parse_pattern
from facts.records import FactPage, FactRecord, ValuePage
from facts.visibility import visible_parameters

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

    from facts.access import AccessContext
    from facts.reserved import ReservedRules
    from facts.tables import FactTables

DEFAULT_LIMIT = 50
MOST_ROWS = 1_000_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CURSOR = "facts"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sight:
    """What a scope lets a reader look at, before the visibility predicate: shared facts, and whose private ones."""

    shared: bool
    private: list[str]
    everything: bool = False


def read_facts(
    conn: Connection, tables: FactTables, query: ReadFactsQuery, access: AccessContext, *, rules: ReservedRules
) -> FactPage:
    """One page of what matches and may be seen."""
    scope = _checked_scope(query.scope)
    sight = _sight(scope, access)
    limit = _checked_limit(query)
    parameters = _filters(query, limit) | visible_parameters(
        access, rules=rules, everything_granted=scope is ReadScope.ALL
    )
    statement = _statement(tables, query, sight, parameters)
    rows = conn.execute(statement, parameters, prepare=False).fetchall()
    facts = tuple(FactRecord.from_row(row) for row in rows[:limit])
    page = FactPage(facts=facts, cursor=_next_cursor(facts) if len(rows) > limit else None)
    return page if query.value_offset is None else _with_value_page(page, query)


def inspect_fact(conn: Connection, tables: FactTables, scope_key: str) -> FactRecord | None:
    """The row of a scope key in whatever state, or None."""
    row = conn.execute(tables.reads.inspect, {"scope_key": scope_key}).fetchone()
    return None if row is None else FactRecord.from_row(row)


def present_etags(conn: Connection, tables: FactTables, scope_keys: Iterable[str]) -> dict[str, int]:
    """The version that each of these facts has now, tombstones included; keys without a row are left out."""
    return dict(conn.execute(tables.reads.present_etags, {"scope_keys": texts(scope_keys)}).fetchall())


def _checked_scope(scope: ReadScope | str) -> ReadScope:
    try:
        return ReadScope(scope)
    except ValueError:
        raise InvalidArgument(f"scope must be one of {', '.join(ReadScope)}, not {scope!r}", argument="scope") from None


def _sight(scope: ReadScope, access: AccessContext) -> _Sight:
    match scope:
        case ReadScope.ACCESSIBLE | ReadScope.DESCENDANTS:
            return _Sight(shared=True, private=access.sessions, everything=access.unrestricted)
        case ReadScope.SHARED:
            return _Sight(shared=True, private=[])
        case ReadScope.SESSION:
            own = [] if access.reader_session_id is None else [access.reader_session_id]
            return _Sight(shared=False, private=own)
        case ReadScope.ALL:
            if not access.reads_all:
                raise NotPermitted("scope all is for crawlers, the facts manager and the agent tuner", argument="scope")
            return _Sight(shared=True, private=[], everything=True)
        case never:
            assert_never(never)


def _checked_limit(query: ReadFactsQuery) -> int:
    if query.limit is not None:
        return checked_count(query.limit, argument="limit", most=MOST_ROWS)
    return DEFAULT_LIMIT if query.scope_keys is None else max(len(query.scope_keys), 1)


def _filters(query: ReadFactsQuery, limit: int) -> dict[str, Any]:
    """The parameters that narrow; one row more than asked tells whether there is a next page."""
    after_time, after_id = (None, None) if query.cursor is None else decode_cursor(query.cursor, _CURSOR, 2)
    return {
        "like": None if query.key_pattern is None else _like(query.key_pattern),
        "tags": _checked_tags(query.tags) or None,
        "session_id": None if query.session_id is None else checked_session_id(query.session_id),
        "agent_id": None if query.agent_id is None else checked_agent_id(query.agent_id),
        "after_time": after_time,
        "after_id": after_id,
        "limit": limit + 1,
    }


def _like(pattern: str) -> str:
    return parse_pattern(checked_text(pattern, PATTERN_BYTES, argument="key_pattern", noun="a pattern")).like()


def _checked_tags(tags: Sequence[str]) -> list[str]:
    if isinstance(tags, str) or len(tags) > TAGS:
        raise InvalidArgument(f"tags must be a list of at most {TAGS} texts", argument="tags")
    return [checked_text(tag, KEY_BYTES, argument="tags", noun="a tag") for tag in tags]


def _statement(tables: FactTables, query: ReadFactsQuery, sight: _Sight, parameters: dict[str, Any]) -> Composed:
    if query.scope_keys is not None:
        keys = query.scope_keys
        if isinstance(keys, str) or len(keys) > SCOPE_KEYS_READ or not all(isinstance(key, str) for key in keys):
            raise InvalidArgument(
                f"scope keys must be a list of at most {SCOPE_KEYS_READ} texts", argument="scope_keys"
            )
        own_only = not sight.shared
        parameters |= {
            # A key that cannot be stored names no fact.
            "scope_keys": texts(key for key in keys if unstorable(key) is None),
            "wants_shared": sight.shared,
            "wants_private": sight.everything or bool(sight.private),
            "own_session": sight.private[0] if own_only and sight.private else None,
        }
        return tables.reads.read_keys
    if sight.everything:
        return tables.reads.read_wide
    parameters |= {"wants_shared": sight.shared, "private_sessions": sight.private}
    return tables.reads.read_restricted


def _next_cursor(facts: Sequence[FactRecord]) -> str:
    last = facts[-1]
    return encode_cursor(_CURSOR, (last.updated_at - _EPOCH) // _MICROSECOND, last.fact_id)


def _with_value_page(page: FactPage, query: ReadFactsQuery) -> FactPage:
    """The slice of the one fact's value that was asked for, instead of the whole of it."""
    offset, length = query.value_offset, checked_count(query.value_length, argument="value_length")
    if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
        raise InvalidArgument("value_offset must be a whole number, 0 or more", argument="value_offset")
    if not page.facts:
        raise NotFound("no fact matches; value_offset needs one, named by its scope key", argument="value_offset")
    if len(page.facts) > 1 or page.cursor is not None:
        raise InvalidArgument("value_offset pages through one value; name one fact", argument="value_offset")
    fact = page.facts[0]
    text = clean_value(fact.value).text
    end = offset + length
    value_page = ValuePage(
        scope_key=fact.scope_key,
        offset=offset,
        text=text[offset:end],
        total=len(text),
        next_offset=end if end < len(text) else None,
    )
    return FactPage(facts=page.facts, cursor=None, value_page=value_page)
