"""Letting go: what the graph loses when facts go, or when rows are struck by hand, worked out before it is withdrawn.

Nothing here is written until `carry_out`. What facts said goes from the ledger with it, so that the graph stays the
fold of the ledger: a whole row, or the items struck (their places stay, as null).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from psycopg import Connection

from graph.columns import numbers, texts
from graph.contributions import derive
from graph.engine import Effect, redirects_of, replace_contributions
from graph.ledger import extraction_text, incorporation_of
from graph.model import Incorporation, Provenance
from graph.origins import rows_of_origins
from graph.rows import EDGE_BASE, NODE_SLOTS, Mention, Observation, OriginChange, Rows
from graph.tables import GraphTables


@dataclass(frozen=True, slots=True)
class Release:
    """What goes: contributions, citations (assertion, source), assertions that fall, sources, items of extractions."""

    changes: Sequence[OriginChange] = ()
    citations: Sequence[tuple[int, int]] = ()
    fallen: Sequence[int] = ()
    sources: Sequence[int] = ()
    rewritten: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Doomed:
    """Which rows go."""

    mention: Callable[[Mention], bool]
    observation: Callable[[Observation], bool]

    def within(self, rows: Rows) -> tuple[list[Mention], list[Observation]]:
        """Those of an origin's rows that go."""
        return [row for row in rows.mentions if self.mention(row)], [
            row for row in rows.observations if self.observation(row)
        ]


def release_sources(conn: Connection, tables: GraphTables, sources: Sequence[int]) -> Release:
    """All that anyone asserted on the strength of these facts."""
    if not sources:
        return Release()
    rows = rows_of_origins(conn, tables, [*sources, *_assertions_citing(conn, tables, sources)])
    gone = set(sources)
    citing = [uncited(origin, before, gone) for origin, before in rows.items() if origin < 0]
    return Release(
        changes=[*(OriginChange(source, rows[source], Rows()) for source in sources), *citing],
        citations=[(-change.origin, key) for change in citing for key in change.before.keys if key in gone],
        fallen=[-change.origin for change in citing if not change.after.keys],
        sources=tuple(sources),
    )


def _assertions_citing(conn: Connection, tables: GraphTables, sources: Sequence[int]) -> list[int]:
    return [-number for (number,) in conn.execute(tables.sources.assertions_citing, {"ids": numbers(sources)})]


def uncited(origin: int, before: Rows, gone: set[int]) -> OriginChange:
    """A hand assertion that no longer cites these sources; it falls with the last key it cited."""
    keys = tuple(key for key in before.keys if key not in gone)
    return OriginChange(origin, before, before._replace(keys=keys) if keys else Rows())


def strike(conn: Connection, tables: GraphTables, origins: Iterable[int], doomed: Doomed) -> Release:
    """Rows struck by hand: items leave the extractions of facts, hand assertions fall as a whole."""
    rows = rows_of_origins(conn, tables, origins)
    hit = {origin: before for origin, before in rows.items() if any(doomed.within(before))}
    struck = _strike_items(conn, tables, {origin: before for origin, before in hit.items() if origin > 0}, doomed)
    changes = [
        OriginChange(origin, before, struck[origin].rows if origin > 0 else Rows()) for origin, before in hit.items()
    ]
    return Release(
        changes=changes,
        fallen=[-origin for origin in hit if origin < 0],
        rewritten={origin: extraction_text(each.item) for origin, each in struck.items()},
    )


class _Struck(NamedTuple):
    """What is left of an extraction, and the rows that it gives."""

    item: Incorporation
    rows: Rows


def _strike_items(conn: Connection, tables: GraphTables, hit: Mapping[int, Rows], doomed: Doomed) -> dict[int, _Struck]:
    """Repeated until nothing doomed is left: an end that was listed is a mention of its own once its listing is gone."""
    ledger = _ledger_rows(conn, tables, list(hit))
    left = {origin: _Struck(incorporation_of(row[1], row[2], row[6]), hit[origin]) for origin, row in ledger.items()}
    doomed_origins = list(left)
    while doomed_origins:
        items = {origin: _without(left[origin].item, *doomed.within(left[origin].rows)) for origin in doomed_origins}
        derived = {origin: _derived(ledger[origin], item) for origin, item in items.items()}
        redirects = redirects_of(conn, tables, {key for each in derived.values() for key in each.named_keys})
        for origin, item in items.items():
            left[origin] = _Struck(item, derived[origin].resolved(redirects))
        doomed_origins = [origin for origin in doomed_origins if any(doomed.within(left[origin].rows))]
    return left


def _ledger_rows(conn: Connection, tables: GraphTables, sources: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    if not sources:
        return {}
    return {row[0]: row for row in conn.execute(tables.removal.ledger_rows, {"ids": numbers(sources)})}


def _without(item: Incorporation, mentions: Sequence[Mention], observations: Sequence[Observation]) -> Incorporation:
    """The extraction less the items behind these rows; an end of an edge goes with its edge."""
    nodes, edges = list(item.nodes), list(item.edges)
    for mention in mentions:
        if mention.pos < EDGE_BASE:
            nodes[mention.pos // NODE_SLOTS] = None
        else:
            edges[(mention.pos - EDGE_BASE) // 2] = None
    for observation in observations:
        edges[observation.pos] = None
    return item._replace(nodes=nodes, edges=edges)


def _derived(row: tuple[Any, ...], item: Incorporation) -> Rows:
    return derive(item, origin=row[0], order=row[3], provenance=Provenance(writer=row[4], model=row[5]))


def withdraw_citations(conn: Connection, tables: GraphTables, release: Release) -> None:
    """Before contributions are replaced: hand assertions no longer cite what is let go."""
    if release.citations:
        pairs = {
            "assertions": numbers(assertion for assertion, _ in release.citations),
            "sources": numbers(source for _, source in release.citations),
        }
        conn.execute(tables.removal.withdraw_citations, pairs)


def delete_released(conn: Connection, tables: GraphTables, release: Release) -> None:
    """After contributions were replaced: assertions that fell, ledger rows, sources that nothing needs."""
    unused = [*release.sources, *(source for _, source in release.citations)]
    if release.fallen:
        fallen = {"ids": numbers(release.fallen)}
        unused += [number for (number,) in conn.execute(tables.removal.sources_of_assertions, fallen)]
        conn.execute(tables.sources.delete_assertions, fallen)
    if release.rewritten:
        rewritten = {"ids": numbers(release.rewritten), "extractions": texts(release.rewritten.values())}
        conn.execute(tables.removal.rewrite_ledger, rewritten)
    if release.sources:
        conn.execute(tables.sources.strike_ledger, {"ids": numbers(release.sources)})
    if unused:
        conn.execute(tables.removal.delete_unused_sources, {"ids": numbers(sorted(set(unused)))})


def carry_out(conn: Connection, tables: GraphTables, release: Release, epoch: int) -> Effect:
    """Withdraw it all in this transaction."""
    withdraw_citations(conn, tables, release)
    effect = replace_contributions(conn, tables, release.changes, scope_keys={}, epoch=epoch)
    delete_released(conn, tables, release)
    return effect
