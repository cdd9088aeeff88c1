"""Live facts by first path segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from facts.errors import InvalidArgument
from facts.visibility import visible_parameters

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.access import AccessContext
    from facts.reserved import ReservedRules
    from facts.tables import FactTables

# Segments that have a row of their own; everything else is `(other)`.
NAMED_SEGMENTS: Final = ("skills", "asks", "intake", "config")


class StatisticsMode(StrEnum):
    SESSION = "session"
    SESSIONS = "sessions"
    SHARED = "shared"


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceCount:
    namespace: str
    fact_count: int


def namespace_counts(
    conn: Connection,
    tables: FactTables,
    access: AccessContext,
    *,
    rules: ReservedRules,
    mode: StatisticsMode | str,
    session_ids: Sequence[str] = (),
) -> tuple[NamespaceCount, ...]:
    """Counts of the shared facts, of one session's, or of some sessions', as far as the reader sees them."""
    try:
        chosen = StatisticsMode(mode)
    except ValueError:
        raise InvalidArgument(f"mode must be one of {', '.join(StatisticsMode)}", argument="mode") from None
    if chosen is StatisticsMode.SESSION and len(session_ids) != 1:
        raise InvalidArgument("mode session takes exactly one session id", argument="session_ids")
    shared = chosen is StatisticsMode.SHARED
    parameters = {
        "named": list(NAMED_SEGMENTS),
        "shared": shared,
        "session_ids": None if shared else list(session_ids),
        **visible_parameters(access, rules=rules),
    }
    rows = conn.execute(tables.reads.namespace_counts, parameters, prepare=False).fetchall()
    return tuple(NamespaceCount(namespace=row[0], fact_count=row[1]) for row in rows)
