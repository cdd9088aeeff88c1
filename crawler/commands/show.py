"""`harvester show`: look at one node with what lies around it, at one fact, or for a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from crawler.invocation import invocation
from crawler.output import emit_json, hint, say, short, show_table

if TYPE_CHECKING:
    from crawler.wiring import Stores
    from facts.records import FactRecord
    from graph.views import EdgeView, Neighbourhood, NodeView


def add(app: typer.Typer) -> None:
    app.command("show")(show)


def show(
    context: typer.Context,
    what: Annotated[str, typer.Argument(help="A node key, a scope key (shared:KEY), or part of a name.")],
    depth: Annotated[int, typer.Option(min=1, max=5, help="Steps from the node.")] = 1,
    limit: Annotated[int, typer.Option(min=1, help="Rows.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> int:
    """Show a node and its neighbourhood, a fact, or the nodes whose name holds a text. Sees everything."""
    from crawler.wiring import open_stores

    with open_stores(invocation(context).settings) as stores:
        found = _look(stores, what, depth, limit)
    if found is None:
        say(f"nothing is called {what}")
        return 1
    if as_json:
        emit_json(_as_json(found))
    else:
        _print(found)
    return 0


def _look(
    stores: Stores, what: str, depth: int, limit: int
) -> FactRecord | Neighbourhood | tuple[NodeView, ...] | None:
    """A stored fact first, then a node, then names."""
    from facts.access import UNRESTRICTED
    from graph.queries import NeighbourhoodQuery, NodeQuery

    fact = stores.facts.inspect(what)
    if fact is not None or stores.graph is None:
        return fact
    near = stores.graph.neighbourhood(NeighbourhoodQuery(node_key=what, depth=depth, max_nodes=limit), UNRESTRICTED)
    if near.anchor is not None:
        return near
    nodes = stores.graph.search_nodes(NodeQuery(name_like=what, limit=limit), UNRESTRICTED).nodes
    if len(nodes) == 1:
        query = NeighbourhoodQuery(node_key=nodes[0].node_key, depth=depth, max_nodes=limit)
        return stores.graph.neighbourhood(query, UNRESTRICTED)
    return nodes or None


def _as_json(found: Any) -> dict[str, Any]:
    from crawler.rendering import to_json
    from facts.records import FactRecord

    if isinstance(found, FactRecord):
        return {"fact": to_json(found)}
    return {"nodes": to_json(found)} if isinstance(found, tuple) else dict(to_json(found))


def _print(found: Any) -> None:
    from facts.records import FactRecord

    if isinstance(found, FactRecord):
        _print_fact(found)
    elif isinstance(found, tuple):
        rows = ((node.node_key, node.name, node.kind, node.degree, node.namespace) for node in found)
        show_table(None, ("node", "name", "kind", "edges", "namespace"), rows)
        hint(f"several have it in their name; one by its key: harvester show {found[0].node_key}")
    else:
        _print_neighbourhood(found)


def _print_fact(fact: FactRecord) -> None:
    state = "deleted" if fact.deleted else "live"
    harvested = f"harvested {fact.last_crawled_at:%Y-%m-%d %H:%M:%S}" if fact.last_crawled_at else "on the queue"
    say(f"{fact.scope_key}  ({state}, etag {fact.etag}, {harvested})")
    writer, session = fact.agent_id or "nobody named", fact.session_id or "-"
    say(f"by {writer} in session {session}, {fact.updated_at:%Y-%m-%d %H:%M:%S}")
    if fact.tags:
        say(f"tags: {', '.join(fact.tags)}")
    say(short(fact.value, 4_000))


def _print_neighbourhood(near: Neighbourhood) -> None:
    node = near.anchor
    if node is None:
        return
    say(f"{node.name}  ({node.node_key})")
    others = [alias for alias in node.aliases if alias != node.name]
    if others:
        say(f"also called {', '.join(others)}")
    if node.evidence:
        say(f"evidence: {', '.join(node.evidence)}{' and more' if node.evidence_truncated else ''}")
    rows = [_edge_row(edge, node.node_key) for edge in near.edges]
    if rows:
        say()
        show_table(None, ("from", "relation", "to", "confidence", "observations", "evidence"), rows)
    if near.truncated:
        say("there is more: raise --limit")


def _edge_row(edge: EdgeView, here: str) -> tuple[Any, ...]:
    ends = ["." if key == here else key for key in (edge.from_key, edge.to_key)]
    evidence = ", ".join(edge.evidence[:2]) + (", ..." if len(edge.evidence) > 2 else "")  # noqa: PLR2004 - a column
    return (ends[0], edge.predicate, ends[1], edge.confidence, edge.observations, evidence)
