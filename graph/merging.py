"""Merges: recorded decisions that two keys are one. They change where named keys resolve to, nothing that was said.

Every row keeps the key as named, so taking a decision back puts exactly those rows back, in whatever order decisions
are taken back.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from facts.errors import Conflict, InvalidArgument, NotFound
from graph.columns import numbers, texts
from graph.contributions import checked_key
from graph.engine import InterruptedWriteError, redirects_of, replace_contributions
from graph.model import MergeRecord
from graph.origins import rows_of_origins
from graph.removal import matches_guard
from graph.rows import OriginChange
from graph.tables import GraphTables


@dataclass(frozen=True, slots=True)
class Merging:
    """One merge or unmerge: its transaction, its tables, its author."""

    conn: Connection
    tables: GraphTables
    agent_id: str


def closure(merges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Where each merged key ends up: follow the decisions to their end. A decision never points into a circle."""
    into = dict(merges)
    ends: dict[str, str] = {}
    for key, first in into.items():
        target, seen = first, {key}
        while target in into and target not in seen:
            seen.add(target)
            target = into[target]
        ends[key] = target
    return ends


def merge_nodes(merging: Merging, from_key: str, into_key: str, reason: str, guard: str | None = None) -> MergeRecord:
    """Decide that ``from_key`` is ``into_key``. Both must be nodes, and two different ones."""
    # Rows read back carry `attached`, so those that move keep their place in the order of attachment.
    checked_key(from_key, "fromKey")
    checked_key(into_key, "intoKey")
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidArgument("say why the two are one", argument="reason")
    epoch = _bump(merging)
    redirects = redirects_of(merging.conn, merging.tables, [from_key, into_key])
    source, target = redirects.get(from_key, from_key), redirects.get(into_key, into_key)
    if source == target:
        raise InvalidArgument(f"{from_key} and {into_key} are one node already", argument="intoKey")
    ids = [
        _node_id(merging, source, guard, argument="fromKey"),
        _node_id(merging, target, guard, argument="intoKey"),
    ]
    row = merging.conn.execute(
        merging.tables.merging.record_merge,
        {"from_key": source, "into_key": target, "reason": reason.strip(), "agent": merging.agent_id},
    ).fetchone()
    _re_resolve(merging, ids, {source, target}, epoch)
    return _record(row)


def unmerge_nodes(merging: Merging, merge_id: int) -> MergeRecord:
    """Take a decision back: what was named by the merged key stands there again."""
    if isinstance(merge_id, bool) or not isinstance(merge_id, int) or merge_id < 1:
        raise InvalidArgument("mergeId must be a whole number from 1", argument="mergeId")
    epoch = _bump(merging)
    row = merging.conn.execute(merging.tables.merging.merge_by_id, {"id": merge_id}).fetchone()
    if row is None:
        raise NotFound(f"there is no merge {merge_id}", argument="mergeId")
    if row[6] is not None:
        raise Conflict(f"merge {merge_id} was taken back already", argument="mergeId")
    end = redirects_of(merging.conn, merging.tables, [row[1]]).get(row[1], str(row[2]))
    node = merging.conn.execute(merging.tables.removal.node_by_key, {"key": end}).fetchone()
    undone = merging.conn.execute(merging.tables.merging.undo_merge, {"id": merge_id}).fetchone()
    _re_resolve(merging, [node[0]] if node else [], {row[1], end}, epoch)
    return _record(undone)


def _bump(merging: Merging) -> int:
    merging.conn.execute(merging.tables.merging.merge_alone)
    row = merging.conn.execute(merging.tables.merging.bump_merge_epoch).fetchone()
    if row is None:
        raise NotFound("the graph's merge epoch is missing; run `harvester doctor`")
    return int(row[0])


def _node_id(merging: Merging, key: str, guard: str | None, *, argument: str) -> int:
    row = merging.conn.execute(merging.tables.removal.node_by_key, {"key": key}).fetchone()
    if row is None or not matches_guard(row[1], guard):
        raise NotFound(f"node {key} does not exist" + (f" in {guard}" if guard else ""), argument=argument)
    return int(row[0])


def _record(row: Sequence[Any] | None) -> MergeRecord:
    if row is None:
        raise NotFound("the merge was not stored")
    merge_id, from_key, into_key, reason, agent_id, merged_at, undone_at = row
    return MergeRecord(
        merge_id=merge_id, from_key=from_key, into_key=into_key, reason=reason, agent_id=agent_id, merged_at=merged_at,
        undone_at=undone_at,
    )  # fmt: skip


def _re_resolve(merging: Merging, ids: Sequence[int], exclusive: set[str], epoch: int) -> None:
    """Write the closure anew and stand every row at these nodes where it now belongs."""
    redirects = _rewrite_closure(merging)
    changes = _moves(merging, ids, redirects)

    def unchanged() -> None:
        if _moves(merging, ids, redirects) != changes:
            raise InterruptedWriteError("the nodes were written meanwhile")

    replace_contributions(
        merging.conn, merging.tables, changes, scope_keys=_scope_keys(merging, changes), epoch=epoch,
        exclusive=frozenset(exclusive), verify=unchanged,
    )  # fmt: skip


def _moves(merging: Merging, ids: Sequence[int], redirects: Mapping[str, str]) -> list[OriginChange]:
    found = merging.conn.execute(merging.tables.removal.origins_at_nodes, {"ids": numbers(ids)})
    rows = rows_of_origins(merging.conn, merging.tables, sorted(origin for (origin,) in found))
    changes = [OriginChange(origin, before, before.resolved(redirects)) for origin, before in rows.items()]
    return [change for change in changes if change.before != change.after]


def _scope_keys(merging: Merging, changes: Sequence[OriginChange]) -> dict[int, str]:
    cited = sorted({key for change in changes for key in change.after.keys})
    found = merging.conn.execute(merging.tables.merging.scope_keys_of, {"ids": numbers(cited)})
    return dict(found.fetchall())


def _rewrite_closure(merging: Merging) -> dict[str, str]:
    before: dict[str, str] = dict(merging.conn.execute(merging.tables.merging.all_redirects).fetchall())
    after = closure(merging.conn.execute(merging.tables.merging.standing_merges).fetchall())
    gone = [key for key in before if key not in after]
    if gone:
        merging.conn.execute(merging.tables.merging.clear_redirects, {"keys": texts(gone)})
    new = {key: target for key, target in after.items() if before.get(key) != target}
    if new:
        merging.conn.execute(
            merging.tables.merging.write_redirects, {"named_keys": texts(new), "target_keys": texts(new.values())}
        )
    return after
