"""The fact store's named queries, rendered for one schema; what every function over a connection is given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from facts.sqlfiles import load_queries

if TYPE_CHECKING:
    from facts.sqlfiles import Queries

DEFAULT_SCHEMA = "pilotswarm_facts"


@dataclass(frozen=True, kw_only=True, slots=True)
class FactTables:
    """One schema's queries, a field for each `.sql` file."""

    schema: str
    writes: Queries
    reads: Queries
    deletes: Queries
    receipts: Queries
    claims: Queries
    queue: Queries
    tombstones: Queries
    sessions: Queries
    erasure: Queries


@cache
def fact_tables(schema: str = DEFAULT_SCHEMA) -> FactTables:
    """The queries over `schema`."""
    names = ("writes", "reads", "deletes", "receipts", "claims", "queue", "tombstones", "sessions", "erasure")
    return FactTables(schema=schema, **{name: load_queries("facts", f"sql/{name}", facts=schema) for name in names})
