"""Reading the graph. Whatever the tool, evidence shows only the scope keys that the caller may see."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from crawler.arguments import Arguments, Cap, Count, Fraction, Texts
from crawler.registry import OVERSEERS, Answer, Desk, Need, tool
from crawler.rendering import encoded_size, fitting, fitting_views, to_json
from graph.queries import MOST_DEPTH, MOST_NODES, MOST_ROWS, EdgeQuery, NeighbourhoodQuery, NodeQuery
from graph.stats import GraphStats
from graph.suggestions import SuggestionQuery
from graph.views import EdgeView, NodeView

GRAPH = (Need.GRAPH,)
Depth = Annotated[Count, Cap(MOST_DEPTH), Field(description="steps from the start, up to 5")]
Limit = Annotated[Count, Cap(MOST_ROWS), Field(description="up to 500")]
Least = Annotated[Fraction | None, Field(description="edges below this confidence do not count")]
Within = Annotated[str | None, Field(description="this namespace or below it; `default`: none")]
Cursor = Annotated[str | None, Field(description="the cursor of the last answer, to go on")]
# What says nothing stays out of an answer.
_OPTIONAL = frozenset({"namespace", "degree", "evidenceTruncated", "staleEvidence", "model"})


def node_json(node: NodeView) -> Answer:
    return _brief(to_json(node))


def edge_json(edge: EdgeView) -> Answer:
    return _brief(to_json(edge))


def _brief(shown: dict[str, Any]) -> Answer:
    return {name: value for name, value in shown.items() if name not in _OPTIONAL or value not in (None, False, [])}


class SearchNodes(Arguments):
    kind: str | None = Field(None, description="what they are, however spelled")
    name_like: str | None = Field(None, description="part of a name or alias, literal, case does not matter")
    namespace: Within = None
    seeds: Texts = Field(default_factory=list, description="scope keys of facts, or node keys, to start from")
    depth: Depth = 1
    min_confidence: Least = None
    limit: Limit = 50
    cursor: Cursor = None


@tool(SearchNodes, needs=GRAPH)
def graph_search_nodes(desk: Desk, asked: SearchNodes) -> Answer:
    """Find things in the knowledge graph by name, kind or namespace, or what lies around facts or nodes you know
    (seeds). Evidence lists the facts behind a node: read_facts with scopeKeys resolves them.
    """
    query = NodeQuery(
        kind=asked.kind,
        name_like=asked.name_like,
        namespace=asked.namespace,
        seeds=asked.seeds,
        depth=asked.depth,
        min_confidence=asked.min_confidence,
        limit=asked.limit,
        cursor=asked.cursor,
    )
    page = desk.graph.search_nodes(query, desk.access)
    rendered = [node_json(node) for node in page.nodes]
    kept = fitting_views(rendered, desk.budget)
    cursor, truncated = page.cursor, page.truncated
    if len(kept) < len(rendered):
        cursor, truncated = desk.graph.search_nodes(replace(query, limit=len(kept)), desk.access).cursor, True
    return _page("nodes", kept, cursor, truncated=truncated)


class SearchEdges(Arguments):
    predicate: str | None = Field(None, description="the relation, however spelled")
    predicate_key: str | None = Field(None, description="or its key, as answers give it")
    from_key: str | None = Field(None, description="nodeKey it starts at")
    to_key: str | None = Field(None, description="nodeKey it ends at")
    namespace: Within = None
    min_confidence: Least = None
    limit: Limit = 50
    cursor: Cursor = None


@tool(SearchEdges, needs=GRAPH)
def graph_search_edges(desk: Desk, asked: SearchEdges) -> Answer:
    """Find relations by predicate, by the nodes they connect, by namespace or confidence. Each says how many
    observations stand behind it and which facts are its evidence.
    """
    query = EdgeQuery(
        predicate=asked.predicate,
        predicate_key=asked.predicate_key,
        from_key=asked.from_key,
        to_key=asked.to_key,
        namespace=asked.namespace,
        min_confidence=asked.min_confidence,
        limit=asked.limit,
        cursor=asked.cursor,
    )
    page = desk.graph.search_edges(query, desk.access)
    rendered = [edge_json(edge) for edge in page.edges]
    kept = fitting_views(rendered, desk.budget)
    cursor, truncated = page.cursor, len(kept) < len(rendered)
    if truncated:
        cursor = desk.graph.search_edges(replace(query, limit=len(kept)), desk.access).cursor
    return _page("edges", kept, cursor, truncated=truncated)


def _page(name: str, kept: list[Answer], cursor: str | None, *, truncated: bool) -> Answer:
    answer: Answer = {"count": len(kept), name: kept}
    if cursor is not None:
        answer["cursor"] = cursor
    return answer | {"truncated": True} if truncated else answer


class Neighbourhood(Arguments):
    node_key: str = Field(description="nodeKey of the node in the middle")
    depth: Depth = 1
    namespace: Within = None
    direction: Literal["any", "out", "in"] = "any"
    min_confidence: Least = None
    max_nodes: Annotated[Count, Cap(MOST_NODES), Field(description="up to 1,000")] = 200


@tool(Neighbourhood, needs=GRAPH)
def graph_neighbourhood(desk: Desk, asked: Neighbourhood) -> Answer:
    """What lies around a node, nearest first: its neighbours up to `depth` steps away and the relations among them.
    The node itself is `anchor` (null: there is no such node). `truncated` says that there is more.
    """
    found = desk.graph.neighbourhood(
        NeighbourhoodQuery(
            node_key=asked.node_key,
            depth=asked.depth,
            namespace=asked.namespace,
            direction=asked.direction,
            min_confidence=asked.min_confidence,
            max_nodes=asked.max_nodes,
        ),
        desk.access,
    )
    anchor = None if found.anchor is None else node_json(found.anchor)
    nodes = [node_json(node) for node in found.nodes]
    edges = [edge_json(edge) for edge in found.edges]
    left = desk.budget - encoded_size(anchor)
    kept = fitting(nodes, left // 2)
    listed = {node["nodeKey"] for node in kept} | {asked.node_key, found.anchor.node_key if found.anchor else ""}
    among = edges if len(kept) == len(nodes) else [e for e in edges if {e["fromKey"], e["toKey"]} <= listed]
    drawn = fitting(among, left - sum(encoded_size(node) + 1 for node in kept))
    cut = len(kept) < len(nodes) or len(drawn) < len(edges)
    return {"anchor": anchor, "nodes": kept, "edges": drawn, "truncated": found.truncated or cut}


class MergeSuggestions(Arguments):
    namespace: Within = None
    kind: str | None = Field(None, description="pairs of which one node is of this kind")
    min_score: Annotated[Fraction | None, Field(description="1.0: only pairs that share a name or alias")] = None
    limit: Limit = 50


@tool(MergeSuggestions, needs=GRAPH)
def graph_merge_suggestions(desk: Desk, asked: MergeSuggestions) -> Answer:
    """Which nodes may be one, the surest first, as arguments of graph_merge_nodes, each with its reasons. Score 1.0: a
    name or alias of one is a name or alias of the other. Lower: the same name under another kind, spelled alike,
    neighbours in common.
    """
    found = desk.graph.merge_suggestions(
        SuggestionQuery(namespace=asked.namespace, kind=asked.kind, min_score=asked.min_score, limit=asked.limit),
        desk.access,
    )
    suggestions = [to_json(each) for each in found.suggestions]
    kept = fitting(suggestions, desk.budget)
    return _page("suggestions", kept, cursor=None, truncated=found.truncated or len(kept) < len(suggestions))


class Stats(Arguments):
    namespace: Within = None


@tool(Stats, roles=OVERSEERS, needs=GRAPH)
def graph_stats(desk: Desk, asked: Stats) -> Answer:
    """The graph and its queue in numbers, of one namespace if named: nodes, edges and evidence, by namespace, kind and
    predicate; what is pending, worked on, parked, and not covered by any rule.
    """
    return stats_json(desk.graph.stats(asked.namespace, access=desk.access, coverage=desk.coverage))


def stats_json(found: GraphStats) -> Answer:
    totals = found.totals
    return {
        "nodes": totals.nodes,
        "edges": totals.edges,
        "evidence": totals.evidence,
        "queue": to_json(found.queue),
        "lastCrawledAt": to_json(found.last_crawled_at),
        "byNamespace": dict(totals.by_namespace),
        "byKind": dict(totals.by_kind),
        "byPredicate": dict(totals.by_predicate),
    }


TOOLS = (graph_search_nodes, graph_search_edges, graph_neighbourhood, graph_merge_suggestions, graph_stats)
