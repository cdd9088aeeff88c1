"""The graph as it lies in the AGE label tables, read by plain SQL, as the oracle would hold it."""

from typing import Any

import networkx as nx
from psycopg import Connection, sql

from tests.oracle.fold import Graph

NODES = """
    SELECT node.properties::text::jsonb,
           coalesce((SELECT array_agg(fact.properties::text::jsonb ->> 'scope_key')
                     FROM {graph}."EVIDENCED_BY" AS evidence
                     JOIN {graph}."Fact" AS fact ON fact.id OPERATOR(ag_catalog.=) evidence.end_id
                     WHERE evidence.start_id OPERATOR(ag_catalog.=) node.id), '{{}}')
    FROM {graph}."GraphNode" AS node
"""
EDGES = """
    SELECT source.properties::text::jsonb ->> 'node_key', target.properties::text::jsonb ->> 'node_key',
           edge.properties::text::jsonb
    FROM {graph}."REL" AS edge
    LEFT JOIN {graph}."GraphNode" AS source ON source.id OPERATOR(ag_catalog.=) edge.start_id
    LEFT JOIN {graph}."GraphNode" AS target ON target.id OPERATOR(ag_catalog.=) edge.end_id
"""
LONELY_ANCHORS = """
    SELECT fact.properties::text::jsonb ->> 'scope_key' FROM {graph}."Fact" AS fact
    WHERE NOT EXISTS (SELECT FROM {graph}."EVIDENCED_BY" AS e WHERE e.end_id OPERATOR(ag_catalog.=) fact.id)
"""


def label_tables(connection: Connection, graph: str = "knowledge") -> Graph:
    """Every node and edge; a doubled one, a dangling end and a lonely anchor are errors here and now."""
    seen: Graph = nx.MultiDiGraph()
    for properties, evidence in rows(connection, NODES, graph):
        key = properties["node_key"]
        if key in seen:
            raise AssertionError(f"two nodes with the key {key}")
        if len(evidence) != len(set(evidence)):
            raise AssertionError(f"{key} is evidenced twice by a fact: {sorted(evidence)}")
        seen.add_node(key, **node_fields(properties), evidence=frozenset(evidence))
    for source, target, properties in rows(connection, EDGES, graph):
        if source is None or target is None:
            raise AssertionError(f"a dangling edge: {source} -> {target} {properties}")
        if seen.has_edge(source, target, properties["predicate_key"]):
            raise AssertionError(f"two edges {source} -[{properties['predicate_key']}]-> {target}")
        seen.add_edge(source, target, key=properties["predicate_key"], **edge_fields(properties))
    if lonely := rows(connection, LONELY_ANCHORS, graph):
        raise AssertionError(f"anchors of facts that justify nothing: {lonely}")
    return seen


def rows(connection: Connection, statement: str, graph: str) -> list[Any]:
    """The rows of one look behind the curtain."""
    return connection.execute(sql.SQL(statement).format(graph=sql.Identifier(graph))).fetchall()


def node_fields(properties: dict[str, Any]) -> dict[str, Any]:
    """What a GraphNode shows."""
    return {
        "name": properties["name"],
        "kind": properties["kind"],
        "aliases": properties["aliases"],
        "namespace": properties.get("namespace"),
    }


def edge_fields(properties: dict[str, Any]) -> dict[str, Any]:
    """What a REL shows."""
    return {
        "predicate": properties["predicate"],
        "confidence": float(properties["confidence"]),
        "observations": properties["observations"],
        "evidence": frozenset(properties["evidence"]),
        "asserted_by": frozenset(properties["asserted_by"]),
        "namespace": properties.get("namespace"),
    }
