"""Erasing: what facts said goes from every table, facts and graph alike, and nothing waits for a harvest or a purge.

One routine for `purge --erase`, forced erasure and whoever must forget: the fact store blanks the rows, the graph
incorporates their tombstones (surface forms, evidence, ledger), merge records about names that nothing says any more go,
and then the rows themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import Connection

from facts.parameters import numbers, texts
from facts.receipts import requeue
from graph.merging import Merging, unmerge_nodes
from graph.model import Incorporation, Provenance

if TYPE_CHECKING:
    from facts.erasure import EraseResult
    from graph.store import GraphStore

ERASER = "eraser"
_BATCH = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """`left` keys were stored anew meanwhile, or are in use: erase them again."""

    erased: int
    merges: int
    left: tuple[str, ...]


def erase_facts(graph: GraphStore, scope_keys: Sequence[str]) -> Erased:
    """Erase these facts, dead or alive, and everything that the graph has from them."""
    return _finish(graph, graph.facts.erase(scope_keys))


def erase_tombstones(graph: GraphStore, key_prefix: str | None = None) -> Erased:
    """The same for everything that is deleted, below a prefix or all."""
    return _finish(graph, graph.facts.erase_tombstones(key_prefix))


def _finish(graph: GraphStore, blanked: EraseResult) -> Erased:
    merges = 0
    left: list[str] = []
    for start in range(0, len(blanked.pinned), _BATCH):
        keys = blanked.pinned[start : start + _BATCH]
        dropped, unfinished = _let_go(graph, keys)
        merges += dropped
        left += unfinished
    return Erased(erased=blanked.erased - len(left), merges=merges, left=tuple(left))


def _let_go(graph: GraphStore, scope_keys: Sequence[str]) -> tuple[int, list[str]]:
    tables = graph.tables.erasure
    rows = graph.db.run(lambda conn: conn.execute(tables.keys_named_by, {"scope_keys": texts(scope_keys)}).fetchall())
    graph.db.run(lambda conn: requeue(conn, graph.facts.tables, scope_keys))
    tombstones = [row for key in scope_keys if (row := graph.facts.inspect(key)) is not None and row.deleted]
    outcomes = graph.incorporate(
        [Incorporation(scope_key=row.scope_key, etag=row.etag) for row in tombstones], Provenance(writer=ERASER)
    )
    gone = [outcome.scope_key for outcome in outcomes if outcome.outcome == "acked"]
    dropped = graph.write(lambda conn: _drop_merges(graph, conn, [str(row[0]) for row in rows]))
    graph.facts.erase(gone)
    return dropped, sorted(set(scope_keys) - set(gone))


def _drop_merges(graph: GraphStore, conn: Connection, keys: Sequence[str]) -> int:
    found = conn.execute(graph.tables.erasure.merges_of_unnamed, {"keys": texts(keys)}).fetchall()
    for merge_id, standing in found:
        if standing:
            unmerge_nodes(Merging(conn, graph.tables, ERASER), merge_id)
    conn.execute(graph.tables.erasure.drop_merges, {"ids": numbers(row[0] for row in found)})
    return len(found)
