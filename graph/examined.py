"""Sums and rows examined one by one: edges against all their statements, stored rows against the ledger's extractions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graph.columns import numbers
from graph.confidence import Strength
from graph.edge_state import EVIDENCE_SHOWN, EdgeState, Statement, counting, recount
from graph.engine import redirects_of
from graph.origins import rows_of_origins
from graph.recorded import recorded

if TYPE_CHECKING:
    from psycopg import Connection

    from facts.sqlfiles import Queries
    from graph.tables import GraphTables

PAGE = 1_000
TOLERANCE = 1e-9


def edge_faults(conn: Connection, queries: Mapping[str, Queries]) -> Iterator[str]:
    """Edges (with what is wrong) whose summary is not what their statements add up to."""
    after = 0
    while True:
        rows = conn.execute(queries["checks"].edge_page, {"after": after, "limit": PAGE}).fetchall()
        if not rows:
            return
        statements = _statements(conn, queries, [row[0] for row in rows])
        for row in rows:
            fault = _edge_fault(row, statements.get(row[0], []))
            if fault is not None:
                yield f"{row[1]}: {fault}"
        after = rows[-1][0]


def _statements(conn: Connection, queries: Mapping[str, Queries], ids: Sequence[int]) -> dict[int, list[Statement]]:
    found: dict[int, list[Statement]] = {}
    for row in conn.execute(queries["edges"].statements_of_edges, {"ids": numbers(ids)}):
        number, origin, rank, confidence, writer, namespace, predicate, model, _, keys = row
        statement = Statement(origin, rank, confidence, writer, namespace, predicate, model, tuple(keys))
        found.setdefault(number, []).append(statement)
    return found


def _edge_fault(row: tuple[Any, ...], statements: Sequence[Statement]) -> str | None:
    due = recount(statements)
    if due is None:
        return None  # it is listed among the edges that nothing states
    confidence, counts = row[5], Strength(observations=row[6], certain=row[7], weight=int(row[8]))
    product = 1.0 - math.prod(1.0 - statement.confidence for statement in counting(statements))
    if abs(confidence - product) > TOLERANCE:
        return f"confidence is {confidence}, its statements give {product:.12g}"
    if counts != due.strength:
        return f"observations and weights are {tuple(counts)}, its statements give {tuple(due.strength)}"
    stored = EdgeState(row[2], row[3], row[4], counts, row[9], row[10], row[11], due.evidence)
    if stored != due:
        names = [name for name in EdgeState._fields if getattr(stored, name) != getattr(due, name)]
        return f"{', '.join(names)} differ from its statements"
    keys = {key for statement in statements for key in statement.keys}
    shown = set(row[12])
    if not shown <= keys or len(row[12]) != min(len(keys), EVIDENCE_SHOWN):
        return "its list of evidence differs from its statements"
    return None


def ledger_faults(conn: Connection, tables: GraphTables) -> Iterator[str]:
    """Facts whose stored rows are not what their ledger row gives, or whose ledger row cannot be read."""
    after = 0
    while True:
        page = [
            number for number, _ in conn.execute(tables.checks.ledger_page, {"after": after, "limit": PAGE}).fetchall()
        ]
        if not page:
            return
        ledger, stored = recorded(conn, tables, page), rows_of_origins(conn, tables, page)
        redirects = redirects_of(conn, tables, {key for each in ledger.values() for key in each.rows.named_keys})
        for number in page:
            said, rows = ledger[number], stored[number]
            due = said.rows.resolved(redirects)
            if said.fault is not None:
                yield f"{said.scope_key}: {said.fault}"
            elif {row.content for row in due.mentions} != {row.content for row in rows.mentions}:
                yield f"{said.scope_key}: its mentions differ"
            elif {row.content for row in due.observations} != {row.content for row in rows.observations}:
                yield f"{said.scope_key}: its statements differ"
        after = page[-1]
