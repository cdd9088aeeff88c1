"""GraphStore: the graph's public face. Every method is one transaction, repeated when another writer got in between."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Self, TypeVar

from psycopg import Connection

from facts.errors import Busy, Unsupported
from facts.migrations import require_current
from graph.engine import InterruptedWriteError
from graph.hand import Writing, upsert_edge, upsert_node
from graph.incorporate import Derived, derive_ahead, incorporate
from graph.merging import Merging, merge_nodes, unmerge_nodes
from graph.migrations import graph_migrations
from graph.model import (
    Author,
    EdgeUpsert,
    Incorporation,
    MergeRecord,
    NodeUpsert,
    Outcome,
    Provenance,
    Removal,
    UpsertedEdge,
    UpsertedNode,
)
from graph.namespaces import (
    NamespaceDeletion,
    NamespaceRecord,
    NamespaceUpsert,
    archive_namespace,
    delete_namespace,
    get_namespace,
    list_namespaces,
    upsert_namespace,
)
from graph.reading import Topology
from graph.reads import GraphReads
from graph.removal import Removing, delete_edge, delete_node, remove_evidence
from graph.tables import DEFAULT_GRAPH, DEFAULT_REGISTRY, GraphTables, graph_tables
from graph.versions import require_one_version

if TYPE_CHECKING:
    from facts import FactStore
    from facts.connections import Database

T = TypeVar("T")
RESTARTS = 20


class GraphStore(GraphReads):
    """A knowledge graph on Apache AGE, fed by the facts of one fact store."""

    def __init__(self, facts: FactStore, tables: GraphTables, topology: Topology | str = Topology.SHARED) -> None:
        self.facts = facts
        self.tables = tables
        self.topology = Topology(topology)
        self.db: Database = facts.db

    def __repr__(self) -> str:
        return f"GraphStore(graph={self.tables.graph!r}, registry={self.tables.registry!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing of its own to close; the fact store owns the connections."""

    def write(self, work: Callable[[Connection], T]) -> T:
        """A whole transaction of the write path, started anew when another writer deleted or merged in between.

        Statements are pipelined: the server works on one while the next is being written.
        """

        def piped(conn: Connection) -> T:
            with conn.pipeline():
                return work(conn)

        for _ in range(RESTARTS):
            try:
                return self.db.run(piped)
            except InterruptedWriteError:
                continue
        raise Busy("other writers kept deleting or merging the same nodes; try again")

    def derive_ahead(
        self, batch: Sequence[tuple[Incorporation, int]], provenance: Provenance
    ) -> Mapping[tuple[str, int], Derived]:
        """Work out what facts say (each beside its `facts.id`) while another batch is written; for `incorporate`."""
        return self.db.run(lambda conn: derive_ahead(conn, self.tables, batch, provenance))

    def incorporate(
        self,
        batch: Sequence[Incorporation],
        provenance: Provenance,
        ahead: Mapping[tuple[str, int], Derived] | None = None,
    ) -> list[Outcome]:
        """Replace what these facts said with what they say now, and acknowledge them; one outcome an item."""
        if not batch:
            return []
        return self.write(lambda conn: incorporate(conn, self.facts.tables, self.tables, batch, provenance, ahead))

    def upsert_node(self, asked: NodeUpsert, author: Author) -> UpsertedNode:
        """Assert a node by hand."""
        return self.write(lambda conn: upsert_node(self._writing(conn, author), asked))

    def upsert_edge(self, asked: EdgeUpsert, author: Author) -> UpsertedEdge:
        """Assert an edge by hand; its endpoints must exist."""
        return self.write(lambda conn: upsert_edge(self._writing(conn, author), asked))

    def delete_node(self, key: str, *, namespace: str | None = None, requeue: bool = True) -> bool:
        """Take a node away with its edges; the facts behind it go back on the queue unless asked not to."""
        return self.write(lambda conn: delete_node(self._removing(conn, requeue), key, namespace))

    def delete_edge(
        self, from_key: str, to_key: str, predicate_key: str, *, namespace: str | None = None, requeue: bool = True
    ) -> bool:
        """Take an edge away, whoever stated it."""
        return self.write(
            lambda conn: delete_edge(self._removing(conn, requeue), from_key, to_key, predicate_key, namespace)
        )

    def remove_evidence(self, scope_key: str, *, namespace: str | None = None, requeue: bool = True) -> Removal:
        """Take away all that stands on one fact."""
        return self.write(lambda conn: remove_evidence(self._removing(conn, requeue), scope_key, namespace))

    def merge_nodes(
        self, from_key: str, into_key: str, reason: str, author: Author, *, namespace: str | None = None
    ) -> MergeRecord:
        """Record that two keys are one; every row keeps the key as named, so it can be taken back exactly."""
        return self.write(lambda conn: merge_nodes(self._merging(conn, author), from_key, into_key, reason, namespace))

    def unmerge_nodes(self, merge_id: int, author: Author) -> MergeRecord:
        """Take a merge back."""
        return self.write(lambda conn: unmerge_nodes(self._merging(conn, author), merge_id))

    def upsert_namespace(self, asked: NamespaceUpsert) -> NamespaceRecord:
        """Write a registry entry; absent detail fields keep what they hold."""
        return self.db.run(lambda conn: upsert_namespace(conn, self.tables, asked))

    def get_namespace(self, namespace: str) -> NamespaceRecord | None:
        """One registry entry; None when it is not registered."""
        return self.db.run(lambda conn: get_namespace(conn, self.tables, namespace))

    def list_namespaces(self, *, prefix: str = "", include_archived: bool = False) -> list[NamespaceRecord]:
        """Registered namespaces and the default one, by name."""
        return self.db.run(
            lambda conn: list_namespaces(conn, self.tables, prefix=prefix, include_archived=include_archived)
        )

    def archive_namespace(self, namespace: str) -> bool:
        """Leave a namespace out of lists; False when it is not registered."""
        return self.db.run(lambda conn: archive_namespace(conn, self.tables, namespace))

    def delete_namespace(self, namespace: str, *, requeue: bool = True) -> NamespaceDeletion:
        """Withdraw every contribution in exactly this namespace, and its registry entry."""
        return self.write(lambda conn: delete_namespace(self._removing(conn, requeue), namespace))

    def _removing(self, conn: Connection, requeue: bool) -> Removing:  # noqa: FBT001 - the callers name it
        return Removing(conn, self.facts.tables, self.tables, requeue)

    def _merging(self, conn: Connection, author: Author) -> Merging:
        return Merging(conn, self.tables, author.agent_id)

    def _writing(self, conn: Connection, author: Author) -> Writing:
        return Writing(conn, self.facts.tables, self.tables, author)


def open_graph_store(
    url: str | None = None,
    *,
    facts: FactStore,
    graph: str = DEFAULT_GRAPH,
    registry: str = DEFAULT_REGISTRY,
    topology: Topology | str = Topology.SHARED,
) -> GraphStore:
    """The graph beside an open fact store.

    :param url: must be that of the fact store, or None for the same.
    :param topology: `visible` hides from a caller whatever none of its readable evidence shows.
    :raises Unavailable: the database is not migrated; run ``harvester migrate``.
    """
    if url is not None and url != facts.db.url:
        raise Unsupported("the graph on another server than the facts is not supported yet", argument="graph_url")
    require_current(facts.db, graph_migrations(graph, registry))
    with facts.db.transaction() as conn:
        tables = graph_tables(conn, graph, registry)
        require_one_version(conn, tables)
    return GraphStore(facts, tables, topology)
