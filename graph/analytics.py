"""The graph as a whole, by networkx: how it hangs together, what is central, what falls apart if one node goes.

Relations count as ties in both directions here, except for PageRank, which follows them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Sequence

DAMPING = 0.85
STEPS = 100
TOLERANCE = 1e-9
# Beyond it communities take minutes; the report says that it left them out.
MOST_EDGES_GROUPED = 200_000
LISTED_SIZES = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranked:
    """A node by its weight in the graph; `degree` counts the nodes that it is tied to."""

    node_key: str
    name: str
    kind: str
    degree: int
    rank: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Community:
    """Nodes that are tied to each other more than to the others, and the weightiest of them."""

    size: int
    chief: tuple[Ranked, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Analysis:
    """`degrees`: how many nodes have how many ties. `articulation`: nodes without which a component falls apart.

    `communities` is empty and `modularity` None when the graph has no edges or too many to be grouped.
    """

    nodes: int
    edges: int
    components: int
    component_sizes: tuple[int, ...]
    isolated: int
    density: float
    mean_degree: float
    degrees: Mapping[int, int]
    central: tuple[Ranked, ...]
    communities: tuple[Community, ...]
    modularity: float | None
    articulation_points: int
    articulation: tuple[Ranked, ...]


def analyse(graph: nx.MultiDiGraph[str], *, top: int = 10) -> Analysis:
    """Everything that the report says of a graph; the same graph gives the same answer."""
    ties = _ties(graph)
    ranks = pagerank(graph)
    degrees = dict(ties.degree())
    components = sorted((len(part) for part in nx.connected_components(ties)), reverse=True)
    groups = communities(ties)
    separating = set(nx.articulation_points(ties))

    def ranked(keys: Iterable[str], most: int = top) -> tuple[Ranked, ...]:
        best = sorted(keys, key=lambda key: (-ranks[key], key))[:most]
        return tuple(_ranked(graph, key, degrees[key], ranks[key]) for key in best)

    return Analysis(
        nodes=graph.number_of_nodes(),
        edges=graph.number_of_edges(),
        components=len(components),
        component_sizes=tuple(components[:LISTED_SIZES]),
        isolated=sum(degree == 0 for degree in degrees.values()),
        density=nx.density(ties),
        mean_degree=sum(degrees.values()) / len(degrees) if degrees else 0.0,
        degrees=dict(sorted(Counter(degrees.values()).items())),
        central=ranked(graph.nodes),
        communities=tuple(Community(size=len(group), chief=ranked(group, 5)) for group in groups[:top]),
        modularity=nx.community.modularity(ties, groups) if groups else None,
        articulation_points=len(separating),
        articulation=ranked(separating),
    )


def _ties(graph: nx.MultiDiGraph[str]) -> nx.Graph[str]:
    """Who is tied to whom, in the order of keys, so that nothing depends on the order of rows."""
    ties: nx.Graph[str] = nx.Graph()
    ties.add_nodes_from(sorted(graph.nodes))
    ties.add_edges_from(sorted({(min(ends), max(ends)) for ends in graph.edges()}))
    return ties


def communities(ties: nx.Graph[str]) -> list[set[str]]:
    """Communities (Louvain), the largest first; none for a graph without edges or with too many."""
    if not 0 < ties.number_of_edges() <= MOST_EDGES_GROUPED:
        return []
    found: list[set[str]] = nx.community.louvain_communities(ties, seed=1)
    return sorted(found, key=lambda group: (-len(group), min(group)))


def pagerank(graph: nx.MultiDiGraph[str]) -> dict[str, float]:
    """PageRank with confidence as the weight of an edge. By hand, since networkx asks for scipy here, which weighs 100 MB."""
    keys: Sequence[str] = sorted(graph.nodes)
    if not keys:
        return {}
    out: dict[str, dict[str, float]] = {key: {} for key in keys}
    for source, target, confidence in graph.edges(data="confidence", default=1.0):
        out[source][target] = out[source].get(target, 0.0) + confidence
    total = {key: sum(targets.values()) for key, targets in out.items()}
    ranks = dict.fromkeys(keys, 1.0 / len(keys))
    for _ in range(STEPS):
        dangling = sum(ranks[key] for key in keys if not total[key])
        floor = (1.0 - DAMPING + DAMPING * dangling) / len(keys)
        after = dict.fromkeys(keys, floor)
        for key, targets in out.items():
            for target, weight in targets.items():
                if weight:
                    after[target] += DAMPING * ranks[key] * weight / total[key]
        moved = sum(abs(after[key] - ranks[key]) for key in keys)
        ranks = after
        if moved < TOLERANCE:
            break
    return ranks


def _ranked(graph: nx.MultiDiGraph[str], key: str, degree: int, rank: float) -> Ranked:
    # Of a namespace, a node outside it is a bare key.
    kind, _, name = key.partition(":")
    shown = graph.nodes[key]
    return Ranked(
        node_key=key, name=shown.get("name", name), kind=shown.get("kind", kind), degree=degree, rank=round(rank, 6)
    )
