"""The doctor: does AGE show what the tables hold, do the tables hold what the ledger says, does anything hang in the air.

Every check looks at one moment and gives findings as values. What can be mended without losing anything is mended on
request: AGE's catalogue and rows, rows that nothing refers to, pins. Where derived rows contradict their origins the
remedy is `harvester rebuild`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import psycopg

from facts.sqlfiles import Queries, load_queries
from graph.examined import edge_faults, ledger_faults
from graph.merging import closure
from graph.projection import graph_is_whole, project_all, repair_oid
from graph.tables import GraphTables, graph_queries, graph_tables
from graph.versions import version_complaint

if TYPE_CHECKING:
    from psycopg import Connection

    from graph.rebuild import Place

SHOWN = 20
REBUILD = "`harvester rebuild` makes the graph again from the ledger"
FIX = "`harvester doctor --fix` mends it"


class Level(StrEnum):
    """A fault breaks a promise; a notice is something that a person may want to know."""

    FAULT = "fault"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What is wrong with how many rows, some of them by name, and what to do."""

    check: str
    level: Level
    message: str
    count: int
    examples: tuple[str, ...]
    remedy: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One query of `checks.sql` or `crosschecks.sql` that lists what is wrong."""

    name: str
    message: str
    remedy: str
    level: Level = Level.FAULT


OWN = (
    Check(name="mentions_without_node", message="mentions stand at no node", remedy=REBUILD),
    Check(name="statements_without_edge", message="statements belong to no edge, or to another one", remedy=REBUILD),
    Check(name="dangling_edges", message="edges end in nodes that are not there", remedy=REBUILD),
    Check(name="unstated_edges", message="edges are stated by nothing", remedy=REBUILD),
    Check(name="unnamed_nodes", message="nodes are named by nothing", remedy=REBUILD),
    Check(name="misplaced_mentions", message="mentions are not where the recorded merges put them", remedy=REBUILD),
    Check(name="misplaced_statements", message="statements are not where the recorded merges put them", remedy=REBUILD),
    Check(name="wrong_surfaces", message="spellings shown are not those of the mentions", remedy=REBUILD),
    Check(name="wrong_nodes", message="nodes show something else than their mentions say", remedy=REBUILD),
    Check(name="unfounded_rows", message="rows come from facts or assertions that are not there", remedy=REBUILD),
    Check(name="unused_sources", message="sources are needed by nothing", remedy=FIX),
    Check(name="empty_assertions", message="hand assertions assert nothing", remedy=FIX),
)
PROJECTED = (
    Check(name="wrong_vertices", message="GraphNode rows differ from the nodes", remedy=FIX),
    Check(name="wrong_age_edges", message="REL rows differ from the edges", remedy=FIX),
    Check(name="wrong_anchors", message="Fact rows differ from the facts behind the graph", remedy=FIX),
    Check(name="wrong_evidence", message="EVIDENCED_BY rows differ from the evidence", remedy=FIX),
    Check(
        name="altered_labels",
        message="label tables have columns or policies that AGE does not know",
        remedy="take them away: they have crashed servers",
    ),
)
WITH_FACTS = (
    Check(name="unpinned", message="facts behind the graph are not kept from a purge", remedy=FIX),
    Check(name="leases_without_fact", message="leases are on facts that are gone", remedy=FIX),
    Check(name="miscounted", message="the queue's length is not what is kept of it", remedy=FIX),
    Check(
        name="ledger_without_fact",
        message="the ledger holds facts that are gone",
        remedy="take what they said away with graph_remove_evidence",
    ),
    Check(
        name="other_versions",
        message="facts were acknowledged by hand in a version that the graph does not have",
        remedy="`harvester requeue` has them read again",
        level=Level.NOTICE,
    ),
    Check(
        name="cited_unknown",
        message="hand assertions cite facts that do not exist",
        remedy="store the facts, or take the assertions away with graph_remove_evidence",
        level=Level.NOTICE,
    ),
    Check(
        name="parked",
        message="facts kept failing and are parked",
        remedy="`harvester queue --state parked` shows why, `harvester queue --unpark` tries again",
        level=Level.NOTICE,
    ),
    Check(
        name="waiting_long",
        message="facts have waited for more than a day",
        remedy="is a harvester running, and do its rules cover them? `harvester stats` counts those without a rule",
        level=Level.NOTICE,
    ),
)


@dataclass(frozen=True, slots=True)
class _Look:
    """One examination, in one transaction."""

    conn: Connection
    place: Place

    @property
    def queries(self) -> dict[str, Queries]:
        return graph_queries(self.place.graph, self.place.registry)

    def with_facts(self) -> Queries:
        """The queries over both schemas."""
        return load_queries(
            "graph",
            "sql/crosschecks",
            facts=self.place.facts.schema,
            graph=self.place.graph,
            registry=self.place.registry,
        )

    def findings(self) -> Iterator[Finding]:
        """Everything that is found, AGE first."""
        self.conn.execute(self.queries["checks"].snapshot)
        yield from self._versions()
        tables = graph_tables(self.conn, self.place.graph, self.place.registry) if self._whole() else None
        if tables is None:
            yield _finding("graph_missing", "AGE does not have the graph", [self.place.graph], REBUILD)
        else:
            yield from self.projected(tables)
        yield from self._own(tables)
        yield from self._listed(self.with_facts(), WITH_FACTS, {})

    def _whole(self) -> bool:
        return graph_is_whole(self.conn, self.place.graph, self.place.registry)

    def _versions(self) -> Iterator[Finding]:
        row = self.conn.execute(self.queries["checks"].versions).fetchone()
        complaint = version_complaint(row)
        if complaint is not None:
            yield _finding("age_version", complaint, [], "`ALTER EXTENSION age UPDATE`, or install the other version")

    def projected(self, tables: GraphTables) -> Iterator[Finding]:
        """What AGE shows that it should not, or does not show."""
        oid = self.conn.execute(tables.checks.oid_mismatch, {"graph": self.place.graph}).fetchall()
        if oid:
            said = "AGE's catalogue has the graph under another oid (a plain dump was restored): Cypher fails"
            yield _finding("graph_oid", said, [row[0] for row in oid], FIX)
        else:
            yield from self._probe(tables)
        labels = tables.label_ids
        parameters = {"node_label": labels.node, "fact_label": labels.fact, "rel_label": labels.rel}
        yield from self._listed(tables.checks, PROJECTED, parameters)

    def _probe(self, tables: GraphTables) -> Iterator[Finding]:
        try:
            with self.conn.transaction():
                self.conn.execute(tables.cypher.load_age)
                self.conn.execute(tables.cypher.see_operators)
                self.conn.execute(tables.checks.read_probe)
        except psycopg.Error as error:
            yield _finding("cypher_fails", f"Cypher cannot read the graph: {str(error).splitlines()[0]}", [], REBUILD)

    def _own(self, tables: GraphTables | None) -> Iterator[Finding]:
        checks = self.queries["checks"]
        yield from self._listed(checks, OWN, {})
        yield from self._redirects()
        sums = list(edge_faults(self.conn, self.queries))
        if sums:
            yield _finding("edge_sums", "edges do not add up to what states them", sums, REBUILD)
        said = list(ledger_faults(self.conn, tables)) if tables is not None else []
        if said:
            yield _finding("ledger_rows", "rows are not what the ledger's extraction gives", said, REBUILD)

    def _redirects(self) -> Iterator[Finding]:
        merging = self.queries["merging"]
        stored: dict[str, str] = dict(self.conn.execute(merging.all_redirects).fetchall())
        due = closure(self.conn.execute(merging.standing_merges).fetchall())
        wrong = sorted(key for key in stored.keys() | due.keys() if stored.get(key) != due.get(key))
        if wrong:
            yield _finding("redirects", "redirects are not what the recorded merges add up to", wrong, REBUILD)

    def _listed(self, queries: Queries, checks: Sequence[Check], parameters: dict[str, Any]) -> Iterator[Finding]:
        for check in checks:
            rows = self.conn.execute(
                getattr(queries, check.name), {"shown": SHOWN, **parameters}, prepare=False
            ).fetchall()
            if rows:
                yield Finding(
                    check=check.name, level=check.level, message=check.message, count=rows[0][1],
                    examples=tuple(row[0] for row in rows[:SHOWN]), remedy=check.remedy,
                )  # fmt: skip


def _finding(check: str, message: str, examples: Sequence[str], remedy: str) -> Finding:
    return Finding(
        check=check, level=Level.FAULT, message=message, count=max(1, len(examples)), examples=tuple(examples[:SHOWN]),
        remedy=remedy,
    )  # fmt: skip


def examine(place: Place) -> tuple[Finding, ...]:
    """Everything that is wrong or worth knowing; nothing is changed."""
    with place.db.transaction() as conn:
        return tuple(_Look(conn, place).findings())


def mend(place: Place) -> tuple[str, ...]:
    """Mend what is safe, in one transaction; names what was mended. Rows that contradict their origins are left alone."""
    return place.db.run(lambda conn: tuple(_mended(_Look(conn, place))))


def _mended(look: _Look) -> Iterator[str]:
    with_facts = look.with_facts()
    if look.conn.execute(with_facts.miscounted, {"shown": 1}).fetchone() is not None:
        look.conn.execute(with_facts.hold_queue)
        look.conn.execute(with_facts.recount)
        yield "miscounted"
    if look.conn.execute(with_facts.pin).rowcount:
        yield "unpinned"
    if look.conn.execute(with_facts.drop_leases).rowcount:
        yield "leases_without_fact"
    if not graph_is_whole(look.conn, look.place.graph, look.place.registry):
        return
    tables = graph_tables(look.conn, look.place.graph, look.place.registry)
    look.conn.execute(tables.rebuild.lock_everything)
    if look.conn.execute(tables.checks.drop_empty_assertions).rowcount:
        yield "empty_assertions"
    if look.conn.execute(tables.rebuild.drop_unused_sources).rowcount:
        yield "unused_sources"
    if repair_oid(look.conn, look.place.graph, look.place.registry):
        yield "graph_oid"
    projected = list(look.projected(tables))
    if any(finding.remedy == FIX for finding in projected):
        project_all(look.conn, tables)
        yield from (finding.check for finding in projected if finding.remedy == FIX)
