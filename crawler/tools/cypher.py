"""Ad-hoc Cypher, for callers that may see everything."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from crawler.arguments import Arguments, Cap, Count, Texts, decoded_json
from crawler.registry import OVERSEERS, Answer, Desk, Need, tool
from crawler.rendering import encoded_size, to_json
from graph.cypher import DEFAULT_ROWS, MOST_ROWS, CypherQuery


class Query(Arguments):
    cypher: str = Field(description="reading clauses only; values go into params, never into the text")
    params: Annotated[
        dict[str, Any] | None,
        BeforeValidator(lambda value: decoded_json(value) if isinstance(value, str) else value),
        WithJsonSchema({"type": ["object", "null"]}),
    ] = Field(None, description="what $name in the text stands for")
    columns: Texts | None = Field(None, description="names for what the text returns; without, they are made")
    limit: Annotated[Count, Cap(MOST_ROWS)] = Field(DEFAULT_ROWS, description="up to 1,000 rows")


@tool(Query, roles=OVERSEERS, needs=[Need.GRAPH])
def graph_query(desk: Desk, asked: Query) -> Answer:
    """Ask the whole graph in Cypher, read-only and bounded in time: (:GraphNode {node_key, kind, name, aliases})
    -[:REL {predicate, predicate_key, confidence, observations, evidence}]-> (:GraphNode), and (:GraphNode)
    -[:EVIDENCED_BY]-> (:Fact {scope_key}). Write WHERE n.node_key = $key, which uses an index; the map form in the
    pattern does not. For what lies around a node graph_neighbourhood is much faster.
    """
    found = desk.graph.query(
        CypherQuery(cypher=asked.cypher, params=asked.params, columns=asked.columns, limit=asked.limit), desk.access
    )
    left = desk.budget - 512
    kept: list[Any] = []
    for row in found.rows:
        shown = to_json(row)
        left -= encoded_size(shown) + 1
        if left < 0:
            break
        kept.append(shown)
    return {"columns": list(found.columns), "rows": kept, "truncated": found.truncated or len(kept) < len(found.rows)}


TOOLS = (graph_query,)
