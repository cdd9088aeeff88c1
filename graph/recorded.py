"""What the ledger records of facts, derived into rows again; the same rows that harvesting the same extraction gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from facts.errors import HarvesterError
from graph.columns import numbers
from graph.contributions import derive
from graph.ledger import incorporation_of
from graph.model import Provenance
from graph.rows import Rows

if TYPE_CHECKING:
    from psycopg import Connection

    from graph.tables import GraphTables


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A ledger row and the rows it gives, keys as named; `fault` says why it gives none."""

    source_id: int
    scope_key: str
    rows: Rows
    fault: str | None = None


def recorded(conn: Connection, tables: GraphTables, sources: Sequence[int]) -> dict[int, Recorded]:
    """The ledger rows of these sources, by source id."""
    found = conn.execute(tables.removal.ledger_rows, {"ids": numbers(sources)})
    return {row[0]: _recorded(row) for row in found}


def _recorded(row: tuple[Any, ...]) -> Recorded:
    source_id, scope_key, etag, fact_id, writer, model, extraction = row
    try:
        item = incorporation_of(scope_key, etag, extraction)
        rows = derive(item, origin=source_id, order=fact_id, provenance=Provenance(writer=writer, model=model))
    except (HarvesterError, KeyError, TypeError, AttributeError) as error:
        # Only a row that something else wrote gets here: what we write was derived before it was stored.
        said = error.message if isinstance(error, HarvesterError) else f"{type(error).__name__}: {error}"
        return Recorded(source_id=source_id, scope_key=scope_key, rows=Rows(), fault=said)
    return Recorded(source_id=source_id, scope_key=scope_key, rows=rows)
