"""The AGE graph as a projection of our tables: made where it is missing, mended where AGE lost it, written anew as a whole.

Readers of plain Cypher see these rows; nothing of ours reads them back, so they can always be made again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.tables import GraphTables, LabelIds, graph_queries, graph_tables, label_ids_of

if TYPE_CHECKING:
    from psycopg import Connection

# In the order of the first migration: AGE counts label ids up, and other processes have learned them.
_VERTICES = ("GraphNode", "Fact")
_EDGES = ("REL", "EVIDENCED_BY")


def graph_is_whole(conn: Connection, graph: str, registry: str) -> bool:
    """Whether AGE knows the graph and all four labels."""
    return label_ids_of(conn, graph, registry) is not None


def ensure_graph(conn: Connection, graph: str, registry: str) -> GraphTables:
    """The graph with empty labels where it was missing; one that lost a label is dropped first."""
    if not graph_is_whole(conn, graph, registry):
        _create(conn, graph, registry)
    return graph_tables(conn, graph, registry)


def _create(conn: Connection, graph: str, registry: str) -> None:
    projection = graph_queries(graph, registry)["projection"]
    conn.execute(projection.see_age)
    if conn.execute(projection.graph_exists, {"graph": graph}).fetchone() == (True,):
        conn.execute(projection.drop_graph)
    conn.execute(projection.create_graph)
    for label in _VERTICES:
        conn.execute(projection.create_vertex_label, {"label": label})
    for label in _EDGES:
        conn.execute(projection.create_edge_label, {"label": label})
    conn.execute(projection.create_node_index)
    conn.execute(projection.create_fact_index)
    conn.execute(projection.create_edge_index)


def repair_oid(conn: Connection, graph: str, registry: str) -> int:
    """Give AGE's catalogue the oid that the graph's schema has now; returns how many labels were moved."""
    return conn.execute(graph_queries(graph, registry)["projection"].repair_oid, {"graph": graph}).rowcount


def project_all(conn: Connection, tables: GraphTables) -> None:
    """Write every AGE row anew from our tables, in this transaction."""
    projection, labels = tables.projection, _columns(tables.label_ids)
    conn.execute(projection.clear_projection)
    conn.execute(projection.project_nodes, {"node_label": labels["node_label"]})
    conn.execute(projection.project_anchors, {"fact_label": labels["fact_label"]})
    conn.execute(projection.project_evidence, labels)
    conn.execute(projection.project_every_edge, labels)


def _columns(ids: LabelIds) -> dict[str, int]:
    return {"node_label": ids.node, "fact_label": ids.fact, "rel_label": ids.rel}
