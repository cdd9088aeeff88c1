"""Replace by source: what a version of a fact says takes the place of what the last incorporated version said.

One transaction: lock the facts whose version is pending (the others leave the batch before anything is written),
write the ledger, replace the contributions, acknowledge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from psycopg import Connection

from facts.errors import InvalidArgument
from facts.parameters import texts as json_texts
from facts.receipts import LockedFact, Receipt, Refusal, acknowledge, judge_refused, lock_pending
from facts.tables import FactTables
from graph.columns import numbers, texts
from graph.contributions import InvalidExtractionError, derive
from graph.engine import InterruptedWriteError, hold_merges, redirects_of, replace_contributions
from graph.ledger import extraction_text
from graph.model import Incorporation, Outcome, Provenance
from graph.origins import rows_of_origins
from graph.releases import Release, delete_released, release_sources, withdraw_citations
from graph.rows import OriginChange, Rows
from graph.tables import GraphTables

SOURCE_BLOCK = 1_000


class _Known(NamedTuple):
    """A source as the ledger has it before this write."""

    source_id: int
    writer: str | None
    model: str | None
    extraction: str | None


class _Said(NamedTuple):
    """One fact of the batch: what it says, derived and in ledger form."""

    item: Incorporation
    fact: LockedFact
    origin: int
    text: str
    rows: Rows


class Derived(NamedTuple):
    """What an incorporation says, worked out before the transaction under a source id that no other fact has."""

    origin: int
    order: int
    provenance: Provenance
    text: str
    rows: Rows


def derive_ahead(
    conn: Connection, tables: GraphTables, batch: Sequence[tuple[Incorporation, int]], provenance: Provenance
) -> dict[tuple[str, int], Derived]:
    """The part of `incorporate` that needs no lock, by scope key and etag; a faulty item is left for it to reject.

    :param batch: each incorporation with the `facts.id` of its fact.
    """
    ids = _reserve_ids(conn, tables, len(batch))
    ahead: dict[tuple[str, int], Derived] = {}
    for (item, order), origin in zip(batch, ids, strict=False):
        try:
            rows = derive(item, origin=origin, order=order, provenance=provenance)
        except InvalidExtractionError:
            continue
        ahead[item.scope_key, item.etag] = Derived(origin, order, provenance, extraction_text(item), rows)
    return ahead


def incorporate(
    conn: Connection,
    facts: FactTables,
    tables: GraphTables,
    batch: Sequence[Incorporation],
    provenance: Provenance,
    ahead: Mapping[tuple[str, int], Derived] | None = None,
) -> list[Outcome]:
    """Incorporate and acknowledge a batch in this transaction; one outcome an item, in order.

    :param ahead: what `derive_ahead` made of items of this batch; the others are derived here.
    :raises InterruptedWriteError: start the transaction again.
    """
    _check_batch(batch)
    receipts = [Receipt(scope_key=item.scope_key, etag=item.etag) for item in batch]
    locked = {fact.scope_key: fact for fact in lock_pending(conn, facts, receipts)}
    refused = judge_refused(conn, facts, [receipt for receipt in receipts if receipt.scope_key not in locked])
    outcomes = {key: _refused(key, refusal) for key, refusal in refused.items()}
    epoch = hold_merges(conn, tables)
    known = _known_sources(conn, tables, locked)
    pending = [item for item in batch if item.scope_key in locked]
    said, rejected = _derive_all(conn, tables, pending, locked, _Before(known, provenance, ahead or {}))
    outcomes |= rejected
    outcomes |= _write(conn, tables, said, known, provenance, epoch)
    acknowledge(conn, facts, [fact for key, fact in locked.items() if key not in rejected])
    return [outcomes[item.scope_key] for item in batch]


def _check_batch(batch: Sequence[Incorporation]) -> None:
    keys = [item.scope_key for item in batch]
    if len(set(keys)) != len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidArgument(f"{twice} is in the batch twice", argument="facts")


def _refused(key: str, refusal: Refusal) -> Outcome:
    reason = refusal.reason.value if refusal.reason else None
    return Outcome(scope_key=key, outcome=refusal.outcome.value, reason=reason)


def _known_sources(conn: Connection, tables: GraphTables, keys: Iterable[str]) -> dict[str, _Known]:
    rows = conn.execute(tables.sources.known_sources, {"scope_keys": json_texts(keys)})
    return {key: _Known(number, writer, model, extraction) for key, number, writer, model, extraction in rows}


class _Before(NamedTuple):
    """What there is before a derivation: sources as the ledger has them, and what was worked out ahead."""

    known: Mapping[str, _Known]
    provenance: Provenance
    ahead: Mapping[tuple[str, int], Derived]

    def made(self, item: Incorporation, fact: LockedFact) -> _Said | None:
        """What was worked out ahead, where it holds: for a source that is new, and for one that says nothing new."""
        derived = self.ahead.get((item.scope_key, item.etag))
        if derived is None or fact.deleted or (derived.order, derived.provenance) != (fact.fact_id, self.provenance):
            return None
        known = self.known.get(item.scope_key)
        if known is None:
            return _Said(item, fact, derived.origin, derived.text, derived.rows)
        said = _Said(item, fact, known.source_id, derived.text, derived.rows)
        return said if _says_the_same(said, known, self.provenance) else None


def _derive_all(
    conn: Connection,
    tables: GraphTables,
    batch: Sequence[Incorporation],
    locked: Mapping[str, LockedFact],
    before: _Before,
) -> tuple[list[_Said], dict[str, Outcome]]:
    """What each locked fact says as rows; those with faults are rejected before anything is written."""
    made = [before.made(item, locked[item.scope_key]) for item in batch]
    ids = _reserve_ids(
        conn,
        tables,
        sum(one is None and item.scope_key not in before.known for one, item in zip(made, batch, strict=True)),
    )
    said: list[_Said] = []
    rejected: dict[str, Outcome] = {}
    for one, item in zip(made, batch, strict=True):
        if one is not None:
            said.append(one)
            continue
        known = before.known.get(item.scope_key)
        try:
            origin = next(ids) if known is None else known.source_id
            said.append(_derive_one(item, locked[item.scope_key], origin, before.provenance))
        except InvalidExtractionError as error:
            rejected[item.scope_key] = Outcome(
                scope_key=item.scope_key, outcome="rejected", reason="; ".join(error.errors), errors=tuple(error.errors)
            )
    return said, rejected


def _reserve_ids(conn: Connection, tables: GraphTables, count: int) -> Iterator[int]:
    if not count:
        return iter(())
    blocks = conn.execute(tables.sources.reserve_sources, {"blocks": -(-count // SOURCE_BLOCK)}).fetchall()
    return (first + step for (first,) in blocks for step in range(SOURCE_BLOCK))


def _derive_one(item: Incorporation, fact: LockedFact, origin: int, provenance: Provenance) -> _Said:
    if fact.deleted and (item.nodes or item.edges):
        raise InvalidExtractionError(item.scope_key, ["the fact is deleted: a tombstone takes no nodes or edges"])
    if fact.deleted:
        return _Said(item, fact, origin, "", Rows())
    rows = derive(item, origin=origin, order=fact.fact_id, provenance=provenance)
    return _Said(item, fact, origin, extraction_text(item), rows)


def _write(
    conn: Connection,
    tables: GraphTables,
    said: Sequence[_Said],
    known: Mapping[str, _Known],
    provenance: Provenance,
    epoch: int,
) -> dict[str, Outcome]:
    alive = [each for each in said if not each.fact.deleted]
    first = [each for each in alive if each.item.scope_key not in known]
    repeated = [each for each in alive if _says_the_same(each, known.get(each.item.scope_key), provenance)]
    same = {each.origin for each in repeated}
    changed = [each for each in alive if each.item.scope_key in known and each.origin not in same]
    buried = [known[s.item.scope_key].source_id for s in said if s.fact.deleted and s.item.scope_key in known]
    release = release_sources(conn, tables, buried)
    changes = _changes(conn, tables, first, changed, release)
    _write_ledger(conn, tables, first, changed, repeated, provenance)
    if changes:
        withdraw_citations(conn, tables, release)
        scope_keys = {each.origin: each.item.scope_key for each in alive}
        replace_contributions(
            conn, tables, changes, scope_keys=scope_keys, epoch=epoch, first=frozenset(each.origin for each in first)
        )
    delete_released(conn, tables, release)
    by_origin = {change.origin: change for change in changes}
    return {each.item.scope_key: _acked(each, by_origin.get(each.origin)) for each in said}


def _says_the_same(said: _Said, known: _Known | None, provenance: Provenance) -> bool:
    return known is not None and (known.extraction, known.writer, known.model) == (
        said.text,
        provenance.writer,
        provenance.model,
    )


def _changes(
    conn: Connection, tables: GraphTables, first: Sequence[_Said], changed: Sequence[_Said], release: Release
) -> list[OriginChange]:
    before = rows_of_origins(conn, tables, [each.origin for each in changed])
    speaking = [*first, *changed]
    redirects = redirects_of(conn, tables, {key for each in speaking for key in each.rows.named_keys})
    ours = {each.origin for each in speaking}
    nothing = Rows()
    return [
        *(
            # Derived rows stand at the nodes that they name, until a merge redirects them.
            OriginChange(
                each.origin, before.get(each.origin, nothing), each.rows.resolved(redirects) if redirects else each.rows
            )
            for each in speaking
        ),
        *(change for change in release.changes if change.origin not in ours),
    ]


def _write_ledger(
    conn: Connection,
    tables: GraphTables,
    first: Sequence[_Said],
    changed: Sequence[_Said],
    repeated: Sequence[_Said],
    provenance: Provenance,
) -> None:
    who = {
        "writer": provenance.writer,
        "model": provenance.model,
        "extractor": provenance.extractor or provenance.writer,
        "version": provenance.version,
    }
    if first:
        keys = {"scope_keys": texts(each.item.scope_key for each in first)}
        made = conn.execute(tables.sources.insert_sources, {**who, **keys, **_ledger_columns(first)}).fetchall()
        if len(made) != len(first):
            raise InterruptedWriteError("a fact was cited by hand meanwhile")
    if changed:
        conn.execute(tables.sources.update_sources, {**who, **_ledger_columns(changed)})
    if repeated:
        ids, etags = numbers(each.origin for each in repeated), numbers(each.fact.etag for each in repeated)
        parameters = {"ids": ids, "etags": etags, "extractor": who["extractor"], "version": who["version"]}
        conn.execute(tables.sources.touch_sources, parameters)


def _ledger_columns(said: Sequence[_Said]) -> dict[str, str]:
    return {
        "ids": numbers(each.origin for each in said),
        "owners": texts(each.fact.owner_session_id for each in said),
        "fact_ids": numbers(each.fact.fact_id for each in said),
        "etags": numbers(each.fact.etag for each in said),
        "extractions": texts(each.text for each in said),
    }


def _acked(said: _Said, change: OriginChange | None) -> Outcome:
    rows = change.after if change else said.rows
    loops = sum(row.loop for row in rows.observations) if change else 0
    return Outcome(
        scope_key=said.item.scope_key,
        outcome="acked",
        nodes=len({mention.named_key for mention in rows.mentions}),
        edges=len(rows.observations) - loops,
        withdrawn=change.withdrawn if change else 0,
        skipped=loops,
    )
