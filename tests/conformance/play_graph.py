"""Operations on the graph and its namespaces."""

from typing import Any

from graph import keys
from graph.confidence import combine_confidence
from graph.model import EdgeUpsert, NodeUpsert
from graph.namespaces import NamespaceRecord, NamespaceUpsert
from graph.queries import EdgeQuery, NeighbourhoodQuery, NodeQuery
from tests.conformance.case import Operation
from tests.conformance.stage import Answer, Stage, operation

NODE_FIELDS = ("node_key", "kind", "name", "namespace", "aliases", "evidence")
EDGE_FIELDS = (
    "from_key",
    "to_key",
    "predicate",
    "predicate_key",
    "namespace",
    "confidence",
    "observations",
    "evidence",
)


def shown(view: Any, fields: tuple[str, ...]) -> Answer:
    """Some fields of a value, tuples as lists."""
    values = {name: getattr(view, name) for name in fields}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


# --- pure rules ----------------------------------------------------------------------------------------------------


@operation("node_key")
def node_key(_stage: Stage, asked: Operation) -> Answer:
    return {"node_key": keys.node_key(**asked.args)}


@operation("predicate_key")
def predicate_key(_stage: Stage, asked: Operation) -> Answer:
    return {"predicate_key": keys.predicate_key(**asked.args)}


@operation("merge_aliases")
def merge_aliases(_stage: Stage, asked: Operation) -> Answer:
    return {"aliases": keys.merge_aliases(**asked.args)}


@operation("combine_confidence")
def combined(_stage: Stage, asked: Operation) -> Answer:
    return {"confidence": combine_confidence(asked.args["values"])}


# --- writes --------------------------------------------------------------------------------------------------------


@operation("upsert_node")
def upsert_node(stage: Stage, asked: Operation) -> Answer:
    made = stage.graph.upsert_node(NodeUpsert(**asked.args), stage.author(asked.caller))
    return {**shown(made, ("node_key", "kind", "name", "namespace", "created")), "aliases": list(made.aliases)}


@operation("upsert_edge")
def upsert_edge(stage: Stage, asked: Operation) -> Answer:
    made = stage.graph.upsert_edge(EdgeUpsert(**asked.args), stage.author(asked.caller))
    return shown(made, ("predicate", "predicate_key", "namespace", "confidence", "observations", "reinforced"))


@operation("merge_nodes")
def merge_nodes(stage: Stage, asked: Operation) -> Answer:
    stage.graph.merge_nodes(**asked.args, author=stage.author(asked.caller))
    return {}


@operation("delete_node")
def delete_node(stage: Stage, asked: Operation) -> Answer:
    args = dict(asked.args)
    return {"deleted": stage.graph.delete_node(args.pop("node_key"), **args)}


@operation("delete_edge")
def delete_edge(stage: Stage, asked: Operation) -> Answer:
    return {"deleted": stage.graph.delete_edge(**asked.args)}


@operation("remove_evidence")
def remove_evidence(stage: Stage, asked: Operation) -> Answer:
    removed = stage.graph.remove_evidence(**asked.args)
    return shown(removed, ("node_evidence_removed", "edge_evidence_removed", "nodes_deleted", "edges_deleted"))


# --- reads ---------------------------------------------------------------------------------------------------------


@operation("search_nodes")
def search_nodes(stage: Stage, asked: Operation) -> Answer:
    page = stage.graph.search_nodes(NodeQuery(**asked.args), stage.access(asked.caller))
    nodes = [shown(node, NODE_FIELDS) for node in page.nodes]
    return {"count": len(nodes), "node_keys": [node["node_key"] for node in nodes], "nodes": nodes}


@operation("search_edges")
def search_edges(stage: Stage, asked: Operation) -> Answer:
    page = stage.graph.search_edges(EdgeQuery(**asked.args), stage.access(asked.caller))
    return {"count": len(page.edges), "edges": [shown(edge, EDGE_FIELDS) for edge in page.edges]}


@operation("neighbourhood")
def neighbourhood(stage: Stage, asked: Operation) -> Answer:
    found = stage.graph.neighbourhood(NeighbourhoodQuery(**asked.args), stage.access(asked.caller))
    edges = [f"{edge.from_key} -[{edge.predicate}]-> {edge.to_key}" for edge in found.edges]
    return {"node_keys": [node.node_key for node in found.nodes], "edges": edges}


@operation("graph_stats")
def graph_stats(stage: Stage, asked: Operation) -> Answer:
    totals = stage.graph.stats(asked.args.get("namespace")).totals
    return {"node_count": totals.nodes, "edge_count": totals.edges}


# --- namespaces ----------------------------------------------------------------------------------------------------


def descriptor(record: NamespaceRecord | None) -> Answer:
    """A registry entry as the cases show it."""
    if record is None:
        return {"found": False}
    fields = (
        "namespace",
        "archived",
        "name",
        "description",
        "source",
        "node_schema",
        "edge_schema",
        "harvest_config",
    )
    return {"found": True, **shown(record, fields), "has_timestamps": record.created_at is not None}


@operation("upsert_namespace")
def upsert_namespace(stage: Stage, asked: Operation) -> Answer:
    return descriptor(stage.graph.upsert_namespace(NamespaceUpsert(**asked.args)))


@operation("get_namespace")
def get_namespace(stage: Stage, asked: Operation) -> Answer:
    return descriptor(stage.graph.get_namespace(asked.args["namespace"]))


@operation("list_namespaces")
def list_namespaces(stage: Stage, asked: Operation) -> Answer:
    args = {name: value for name, value in asked.args.items() if name != "include_details"}
    records = stage.graph.list_namespaces(**args)
    return {"namespaces": [each.namespace for each in records], "rows": [descriptor(each) for each in records]}


@operation("archive_namespace")
def archive_namespace(stage: Stage, asked: Operation) -> Answer:
    return {"archived": stage.graph.archive_namespace(asked.args["namespace"])}


@operation("delete_namespace")
def delete_namespace(stage: Stage, asked: Operation) -> Answer:
    return shown(stage.graph.delete_namespace(**asked.args), ("deleted", "nodes_deleted", "edges_deleted"))
