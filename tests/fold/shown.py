"""The graph as the public reads show it, page by page, as the oracle would hold it."""

from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx

from facts.access import UNRESTRICTED
from graph.queries import EdgeQuery, NodeQuery
from graph.store import GraphStore
from tests.oracle.fold import Graph

PAGE = 7


def pages(fetch: Callable[[str | None], Any]) -> Iterator[Any]:
    """A walk by cursor to its end."""
    cursor = None
    while True:
        page = fetch(cursor)
        yield page
        cursor = page.cursor
        if cursor is None:
            return


def public_reads(graph: GraphStore) -> Graph:
    """Every node and edge that search gives to a caller who may see all."""
    seen: Graph = nx.MultiDiGraph()
    for page in pages(lambda cursor: graph.search_nodes(NodeQuery(limit=PAGE, cursor=cursor), UNRESTRICTED)):
        for node in page.nodes:
            if node.node_key in seen:
                raise AssertionError(f"a walk shows {node.node_key} twice")
            seen.add_node(
                node.node_key,
                name=node.name,
                kind=node.kind,
                aliases=list(node.aliases),
                namespace=node.namespace,
                namespaces=spaces(node.namespaces),
                evidence=frozenset(node.evidence),
            )
    for page in pages(lambda cursor: graph.search_edges(EdgeQuery(limit=PAGE, cursor=cursor), UNRESTRICTED)):
        for edge in page.edges:
            if seen.has_edge(edge.from_key, edge.to_key, edge.predicate_key):
                raise AssertionError(f"a walk shows {edge.from_key} {edge.predicate_key} {edge.to_key} twice")
            seen.add_edge(
                edge.from_key,
                edge.to_key,
                key=edge.predicate_key,
                predicate=edge.predicate,
                confidence=edge.confidence,
                observations=edge.observations,
                namespace=edge.namespace,
                namespaces=spaces(edge.namespaces),
                evidence=frozenset(edge.evidence),
                asserted_by=frozenset(edge.asserted_by),
            )
    return seen


def spaces(named: tuple[str, ...]) -> frozenset[str | None]:
    """The oracle's name of the default partition is None."""
    return frozenset(None if space == "default" else space for space in named)
