"""The parameters of the one visibility predicate (`sql/visible.sqlpart`), and look-ups by scope key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from facts.parameters import texts
from facts.reserved import ReadRule, ReservedRules
from facts.scope_keys import parse_scope_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import Connection

    from facts.access import AccessContext
    from facts.tables import FactTables

DEFAULT_RULES = ReservedRules()


def visible_parameters(
    access: AccessContext, *, rules: ReservedRules = DEFAULT_RULES, everything_granted: bool = True
) -> dict[str, Any]:
    """The `acl_*` parameters; without `everything_granted` no granted prefixes: a crawler's scope `accessible`."""
    prefixes = list(access.granted_prefixes or ()) if everything_granted or access.only_granted else []
    guarded = rules.readable_below(ReadRule.UNRESTRICTED) + rules.readable_below(ReadRule.OWNER_TREE)
    return {
        "acl_unrestricted": access.unrestricted,
        "acl_shared": not access.only_granted,
        "acl_sessions": [] if access.only_granted else access.sessions,
        "acl_tree": access.sessions,
        "acl_prefixes": prefixes,
        # A grant that names a guarded prefix itself was meant.
        "acl_opened": [prefix for prefix in prefixes if prefix.startswith(tuple(guarded))],
        "acl_closed": rules.readable_below(ReadRule.UNRESTRICTED),
        "acl_owned": rules.readable_below(ReadRule.OWNER_TREE),
    }


def readable(
    access: AccessContext,
    conn: Connection,
    tables: FactTables,
    scope_keys: Iterable[str],
    *,
    rules: ReservedRules = DEFAULT_RULES,
) -> set[str]:
    """Which of these scope keys the reader may see. Keys without a fact are judged by what they say."""
    asked = set(scope_keys)
    well_formed = {key for key in asked if parse_scope_key(key) is not None}
    if access.unrestricted or not well_formed:
        return asked if access.unrestricted else set()
    rows = conn.execute(
        tables.reads.readable,
        {"scope_keys": texts(sorted(well_formed)), **visible_parameters(access, rules=rules)},
        prepare=False,
    ).fetchall()
    return {row[0] for row in rows}
