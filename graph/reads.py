"""The reading half of the graph's public face: every method is one transaction, filtered by the caller's access."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from facts.access import NOBODY, UNRESTRICTED, AccessContext
from facts.coverage import EVERYTHING, Coverage
from graph.cypher import CypherQuery, CypherResult, run_cypher
from graph.export import ExportCounts, ExportFormat, take_snapshot, to_networkx, write_export
from graph.neighbourhood import neighbourhood
from graph.queries import EdgeQuery, NeighbourhoodQuery, NodeQuery
from graph.reading import Reading, Topology
from graph.search import resolve_nodes, search_edges, search_nodes
from graph.stats import GraphStats, graph_stats
from graph.suggestions import SuggestionPage, SuggestionQuery, merge_suggestions
from graph.views import EdgePage, Neighbourhood, NodePage, NodeView

if TYPE_CHECKING:
    import networkx as nx
    from psycopg import Connection

    from facts import FactStore
    from facts.connections import Database
    from graph.tables import GraphTables

T = TypeVar("T")


class GraphReads:
    """Reads of one graph. `topology` says whether names and relations are everybody's (the default)."""

    facts: FactStore
    tables: GraphTables
    db: Database
    topology: Topology = Topology.SHARED

    def search_nodes(self, query: NodeQuery | None = None, access: AccessContext = NOBODY) -> NodePage:
        """One page of the nodes that match, best matches first."""
        return self.read(access, lambda reading: search_nodes(reading, query or NodeQuery()))

    def search_edges(self, query: EdgeQuery | None = None, access: AccessContext = NOBODY) -> EdgePage:
        """One page of the edges that match, in the order of their keys."""
        return self.read(access, lambda reading: search_edges(reading, query or EdgeQuery()))

    def resolve(self, text: str, *, kind: str | None = None, access: AccessContext = NOBODY) -> tuple[NodeView, ...]:
        """The node of this key, else all that bear this name or alias, however it is spelled."""
        return self.read(access, lambda reading: resolve_nodes(reading, text, kind=kind))

    def neighbourhood(self, query: NeighbourhoodQuery, access: AccessContext = NOBODY) -> Neighbourhood:
        """A node and what lies around it, nearest first."""
        return self.read(access, lambda reading: neighbourhood(reading, query))

    def stats(
        self, namespace: str | None = None, *, access: AccessContext = UNRESTRICTED, coverage: Coverage = EVERYTHING
    ) -> GraphStats:
        """The graph and its queue in numbers; `coverage` is what the harvester's rules cover."""
        return self.read(access, lambda reading: graph_stats(reading, namespace=namespace, coverage=coverage))

    def query(self, query: CypherQuery, access: AccessContext = NOBODY) -> CypherResult:
        """Read-only Cypher over the whole graph, for unrestricted callers; `graph.cypher.as_models` dresses the rows."""
        return self.read(access, lambda reading: run_cypher(reading, query))

    def merge_suggestions(self, query: SuggestionQuery | None = None, access: AccessContext = NOBODY) -> SuggestionPage:
        """Pairs of nodes that may be one, the surest first."""
        return self.read(access, lambda reading: merge_suggestions(reading, query or SuggestionQuery()))

    def export(
        self,
        out: BinaryIO,
        export_format: ExportFormat | str,
        *,
        namespace: str | None = None,
        access: AccessContext = NOBODY,
    ) -> ExportCounts:
        """Write the graph as the caller sees it: `jsonl` (streamed), `node-link`, `graphml`, `gexf`."""
        with self.db.transaction() as conn:
            return write_export(self._reading(conn, access), out, export_format, namespace=namespace)

    def to_networkx(self, *, namespace: str | None = None, access: AccessContext = NOBODY) -> nx.MultiDiGraph[str]:
        """The graph as the caller sees it, for analysis: nodes by node key, edges by predicate key."""
        with self.db.transaction() as conn:
            reading = self._reading(conn, access)
            take_snapshot(reading)
            return to_networkx(reading, namespace)

    def read(self, access: AccessContext, work: Callable[[Reading], T]) -> T:
        """One transaction of reads for one caller."""
        return self.db.run(lambda conn: work(self._reading(conn, access)))

    def _reading(self, conn: Connection, access: AccessContext) -> Reading:
        return Reading(
            conn=conn,
            facts=self.facts.tables,
            tables=self.tables,
            access=access,
            rules=self.facts.settings.reserved,
            topology=self.topology,
        )
