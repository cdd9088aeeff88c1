"""What the report says of a graph as a whole."""

from __future__ import annotations

import networkx as nx
import pytest
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python  # type: ignore[attr-defined]

from graph.analytics import analyse, communities, pagerank


def drawn(*edges: tuple[str, str], alone: tuple[str, ...] = ()) -> nx.MultiDiGraph:
    graph: nx.MultiDiGraph = nx.MultiDiGraph()
    graph.add_nodes_from(alone)
    for source, target in edges:
        graph.add_edge(source, target, key="p", confidence=0.5)
    return graph


BARBELL = drawn(
    ("n:a", "n:b"), ("n:b", "n:c"), ("n:c", "n:a"), ("n:c", "n:hub"), ("n:hub", "n:x"), ("n:x", "n:y"), ("n:y", "n:z"),
    ("n:z", "n:x"), alone=("n:lone",),
)  # fmt: skip


def test_components_degrees_and_what_holds_the_graph_together() -> None:
    found = analyse(BARBELL, top=3)
    assert (found.nodes, found.edges, found.components, found.component_sizes, found.isolated) == (8, 8, 2, (7, 1), 1)
    assert found.degrees == {0: 1, 2: 5, 3: 2}
    assert sum(found.degrees.values()) == found.nodes
    assert found.articulation_points == 3
    assert {each.node_key for each in found.articulation} == {"n:c", "n:hub", "n:x"}
    assert len(found.central) == 3


def test_communities_are_found_and_the_same_each_time() -> None:
    found = analyse(BARBELL)
    assert found.modularity is not None
    assert found.modularity > 0.3
    assert analyse(BARBELL) == found
    ties: nx.Graph[str] = nx.Graph(BARBELL.edges())
    assert {"n:a", "n:b", "n:c"} <= communities(ties)[0] | communities(ties)[1]


def test_pagerank_agrees_with_networkx() -> None:
    # The variant that needs no scipy; the public one asks for it.
    expected = _pagerank_python(nx.DiGraph(BARBELL), weight="confidence", tol=1e-12, max_iter=500)
    assert pagerank(BARBELL) == pytest.approx(expected, abs=1e-7)


def test_ranks_add_up_and_follow_the_edges() -> None:
    ranks = pagerank(drawn(("n:a", "n:c"), ("n:b", "n:c"), ("n:c", "n:d")))
    assert sum(ranks.values()) == pytest.approx(1)
    assert sorted(ranks, key=lambda key: ranks[key])[-2:] == ["n:c", "n:d"]


def test_an_empty_graph_and_one_without_edges_have_a_report() -> None:
    assert analyse(nx.MultiDiGraph()).components == 0
    found = analyse(drawn(alone=("n:a", "n:b")))
    assert (found.components, found.communities, found.modularity, found.mean_degree) == (2, (), None, 0)
