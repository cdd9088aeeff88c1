"""Writing the graph by hand, and taking away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from crawler.arguments import Arguments, Count, Flag, Fraction, Texts
from crawler.registry import CRAWLERS, WRITERS, Answer, Desk, Need, tool
from crawler.rendering import to_json
from facts import ReadFactsQuery
from facts.errors import InvalidArgument, NotFound
from facts.inputs import ReadScope
from facts.scope_keys import parse_scope_key
from graph.model import ABSENT, Author, EdgeUpsert, NodeUpsert, Removal

GRAPH = (Need.GRAPH,)
# Absent and null differ: absent keeps the agent's own namespace, null and blank clear it.
Namespace = Annotated[
    Any, WithJsonSchema({"type": ["string", "null"]}), Field(default_factory=lambda: ABSENT, description="the corpus")
]
Guard = Annotated[str | None, Field(description="a guard: outside this namespace nothing matches")]
Requeue = Annotated[Flag, Field(description="true: live facts behind what went are harvested again")]
Evidence = Annotated[Texts, Field(description="scope keys of the facts that justify this", max_length=256)]


def author(desk: Desk) -> Author:
    return Author(agent_id=desk.caller.name, session_id=desk.caller.session_id)


def check_citations(desk: Desk, evidence: Sequence[str]) -> None:
    """Unless the caller cites freely: a key that it may not see and one that does not exist are refused alike."""
    for key in evidence:
        if parse_scope_key(key) is None:
            raise InvalidArgument(f"evidence: {key!r} is no scope key", argument="evidence")
    if not evidence or desk.caller.cites_freely:
        return
    # Whoever may cite may read it: scope `accessible` is the caller's sight, and only live facts are in it.
    query = ReadFactsQuery(scope_keys=list(dict.fromkeys(evidence)), scope=ReadScope.ACCESSIBLE)
    found = {fact.scope_key for fact in desk.facts.read(query, desk.access).facts}
    missing = [key for key in dict.fromkeys(evidence) if key not in found]
    if missing:
        raise NotFound(f"evidence: there is no fact {', '.join(missing)}", argument="evidence")


class UpsertNode(Arguments):
    kind: str = Field(description="what it is: person, package, service, ...")
    name: str = Field(description="what it is called")
    aliases: Texts = Field(default_factory=list, description="other names of the same thing")
    namespace: Namespace
    evidence: Evidence = Field(default_factory=list)
    identity: Literal["normal", "exact"] = Field("normal", description="exact for paths, urls, emails")


@tool(UpsertNode, roles=WRITERS, needs=GRAPH, mutates=True)
def graph_upsert_node(desk: Desk, asked: UpsertNode) -> Answer:
    """Assert a node: a thing with a kind and a name. The same kind and name, however spelled, are one node; aliases are
    added to it. Cite the facts that justify it. The answer's nodeKey is what edges need.
    """
    check_citations(desk, asked.evidence)
    done = desk.graph.upsert_node(
        NodeUpsert(
            kind=asked.kind,
            name=asked.name,
            aliases=asked.aliases,
            namespace=asked.namespace,
            evidence=asked.evidence,
            identity=asked.identity,
        ),
        author(desk),
    )
    return _shown(done)


class UpsertEdge(Arguments):
    from_key: str = Field(description="nodeKey it starts at; the node must exist")
    to_key: str = Field(description="nodeKey it ends at; the node must exist")
    predicate: str = Field(description="how they are related: depends on, works for, ...; direction matters")
    confidence: Fraction = 1.0
    namespace: Namespace
    evidence: Evidence = Field(default_factory=list)
    model: str | None = Field(None, description="the model that judged, if one did")


@tool(UpsertEdge, roles=WRITERS, needs=GRAPH, mutates=True)
def graph_upsert_edge(desk: Desk, asked: UpsertEdge) -> Answer:
    """Assert a relation between two nodes that exist. New evidence for a known edge reinforces it: confidences combine
    (0.6 and 0.5 give 0.8). Known evidence again changes nothing.
    """
    check_citations(desk, asked.evidence)
    done = desk.graph.upsert_edge(
        EdgeUpsert(
            from_key=asked.from_key,
            to_key=asked.to_key,
            predicate=asked.predicate,
            confidence=asked.confidence,
            namespace=asked.namespace,
            evidence=asked.evidence,
            model=asked.model,
        ),
        author(desk),
    )
    return _shown(done)


def _shown(done: Any) -> Answer:
    shown: Answer = to_json(done)
    return shown


class MergeNodes(Arguments):
    from_key: str = Field(description="the duplicate")
    into_key: str = Field(description="the node that stays")
    reason: str = Field(description="why they are one; kept with the merge")
    namespace: Guard = None


@tool(MergeNodes, roles=WRITERS, needs=GRAPH, mutates=True)
def graph_merge_nodes(desk: Desk, asked: MergeNodes) -> Answer:
    """Record that two nodes are one. Everything said of the duplicate, now and later, counts for the other;
    graph_unmerge_nodes takes it back exactly.
    """
    done = desk.graph.merge_nodes(asked.from_key, asked.into_key, asked.reason, author(desk), namespace=asked.namespace)
    return _shown(done)


class UnmergeNodes(Arguments):
    merge_id: Count = Field(description="mergeId of graph_merge_nodes")


@tool(UnmergeNodes, roles=WRITERS, needs=GRAPH, mutates=True)
def graph_unmerge_nodes(desk: Desk, asked: UnmergeNodes) -> Answer:
    """Take a merge back: each of the two nodes has again exactly what was said of it, before and since."""
    return _shown(desk.graph.unmerge_nodes(asked.merge_id, author(desk)))


class DeleteNode(Arguments):
    node_key: str
    namespace: Guard = None
    requeue: Requeue = True


@tool(DeleteNode, roles=WRITERS, needs=GRAPH, mutates=True, destroys=True)
def graph_delete_node(desk: Desk, asked: DeleteNode) -> Answer:
    """Delete a node with its edges. Live facts that still say it are harvested again and bring it back, unless
    requeue=false; delete or edit those facts to be rid of it.
    """
    deleted = desk.graph.delete_node(asked.node_key, namespace=asked.namespace, requeue=asked.requeue)
    return {"nodeKey": asked.node_key, "deleted": deleted}


class DeleteEdge(Arguments):
    from_key: str
    to_key: str
    predicate_key: str
    namespace: Guard = None
    requeue: Requeue = True


@tool(DeleteEdge, roles=WRITERS, needs=GRAPH, mutates=True, destroys=True)
def graph_delete_edge(desk: Desk, asked: DeleteEdge) -> Answer:
    """Delete one relation, whoever asserted it. Live facts that still say it bring it back, unless requeue=false."""
    deleted = desk.graph.delete_edge(
        asked.from_key, asked.to_key, asked.predicate_key, namespace=asked.namespace, requeue=asked.requeue
    )
    place = {"fromKey": asked.from_key, "toKey": asked.to_key, "predicateKey": asked.predicate_key}
    return place | {"deleted": deleted}


class RemoveEvidence(Arguments):
    scope_key: str
    namespace: Guard = None
    requeue: Requeue = True


@tool(RemoveEvidence, roles=CRAWLERS, needs=GRAPH, mutates=True, destroys=True)
def graph_remove_evidence(desk: Desk, asked: RemoveEvidence) -> Answer:
    """Take away everything that stands on one fact: its evidence, what only it said, and what falls with that."""
    if not desk.facts.readable([asked.scope_key], desk.access.at_work()):
        # A fact outside the grant is answered like one that nothing stands on.
        return {"scopeKey": asked.scope_key} | _shown(Removal())
    done = desk.graph.remove_evidence(asked.scope_key, namespace=asked.namespace, requeue=asked.requeue)
    return {"scopeKey": asked.scope_key} | _shown(done)


TOOLS = (
    graph_upsert_node,
    graph_upsert_edge,
    graph_merge_nodes,
    graph_unmerge_nodes,
    graph_delete_node,
    graph_delete_edge,
    graph_remove_evidence,
)
