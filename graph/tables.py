"""The graph's named queries, rendered for one pair of schemas, and the AGE label ids that give our ids their graphid."""

from dataclasses import dataclass
from functools import cache

from psycopg import Connection

from facts.errors import Unavailable
from facts.sqlfiles import Queries, load_queries

DEFAULT_GRAPH = "knowledge"
DEFAULT_REGISTRY = "knowledge_registry"
_FILES = (
    "engine", "edges", "sources", "labels", "hand", "removal", "merging", "reads", "stats", "visible", "cypher", "export",
    "namespaces", "erasure", "ledger", "projection", "checks", "rebuild", "suggestions",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelIds:
    """AGE's label ids; a graphid is (label id, our id)."""

    node: int
    fact: int
    rel: int
    evidenced_by: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphTables:
    """One graph's queries, a field for each `.sql` file."""

    graph: str
    registry: str
    engine: Queries
    edges: Queries
    sources: Queries
    labels: Queries
    hand: Queries
    removal: Queries
    merging: Queries
    reads: Queries
    stats: Queries
    visible: Queries
    cypher: Queries
    export: Queries
    namespaces: Queries
    erasure: Queries
    ledger: Queries
    projection: Queries
    checks: Queries
    rebuild: Queries
    suggestions: Queries
    label_ids: LabelIds


@cache
def graph_queries(graph: str, registry: str) -> dict[str, Queries]:
    """Every query file, rendered for these names."""
    return {name: load_queries("graph", f"sql/{name}", graph=graph, registry=registry) for name in _FILES}


def label_ids_of(conn: Connection, graph: str, registry: str) -> LabelIds | None:
    """The label ids of a graph that has all four labels, else None."""
    rows = conn.execute(graph_queries(graph, registry)["labels"].label_ids, {"graph": graph}).fetchall()
    ids = {str(name): int(number) for name, number in rows}
    if not {"GraphNode", "Fact", "REL", "EVIDENCED_BY"} <= ids.keys():
        return None
    return LabelIds(node=ids["GraphNode"], fact=ids["Fact"], rel=ids["REL"], evidenced_by=ids["EVIDENCED_BY"])


def read_label_ids(conn: Connection, graph: str, registry: str) -> LabelIds:
    """The label ids of a migrated graph; Unavailable when the graph is not there."""
    ids = label_ids_of(conn, graph, registry)
    if ids is None:
        raise Unavailable(f"AGE has no graph {graph!r} any more; `harvester rebuild` makes it again from the ledger")
    return ids


def graph_tables(conn: Connection, graph: str = DEFAULT_GRAPH, registry: str = DEFAULT_REGISTRY) -> GraphTables:
    """The queries over one graph, bound to its label ids."""
    return GraphTables(
        graph=graph,
        registry=registry,
        label_ids=read_label_ids(conn, graph, registry),
        **graph_queries(graph, registry),
    )
