"""The registry of namespaces: what each corpus is for, and taking one away."""

from __future__ import annotations

from typing import Annotated, Any

import structlog
from pydantic import BeforeValidator, Field, WithJsonSchema

from crawler.arguments import Arguments, Flag, decoded_json
from crawler.registry import CRAWLERS, FACTS_MANAGER, WRITERS, Answer, Desk, Need, tool
from crawler.rendering import fitting, to_json
from facts.errors import InvalidArgument, NotFound
from graph.model import ABSENT
from graph.namespaces import NamespaceRecord, NamespaceUpsert

log = structlog.get_logger()

GRAPH = (Need.GRAPH,)
# Absent keeps what is stored, null clears it.
Detail = Annotated[
    Any,
    BeforeValidator(lambda value: decoded_json(value) if isinstance(value, str) else value),
    WithJsonSchema({"type": ["object", "null"]}),
    Field(default_factory=lambda: ABSENT),
]
_DETAILS = ("source", "nodeSchema", "edgeSchema", "harvestConfig")


def namespace_json(record: NamespaceRecord, *, details: bool = True) -> Answer:
    shown: Answer = {"found": True, **to_json(record)}
    return shown if details else {name: value for name, value in shown.items() if name not in _DETAILS}


class ListNamespaces(Arguments):
    prefix: str | None = Field(None, description="literal start of the namespace")
    include_archived: Flag = False
    include_details: Flag = Field(False, description="with source, schemas and harvest configuration")


@tool(ListNamespaces, needs=GRAPH)
def graph_list_namespaces(desk: Desk, asked: ListNamespaces) -> Answer:
    """Which corpora the graph is divided into, each with what it is for. `default` holds what names no namespace."""
    found = desk.graph.list_namespaces(prefix=asked.prefix or "", include_archived=asked.include_archived)
    rendered = [namespace_json(record, details=asked.include_details) for record in found]
    kept = fitting(rendered, desk.budget)
    answer: Answer = {"count": len(kept), "namespaces": kept}
    return answer | {"truncated": True, "total": len(rendered)} if len(kept) < len(rendered) else answer


class GetNamespace(Arguments):
    namespace: str


@tool(GetNamespace, needs=GRAPH)
def graph_get_namespace(desk: Desk, asked: GetNamespace) -> Answer:
    """One namespace: what it is for, where its facts come from, its kinds and relations, and how to harvest it."""
    record = desk.graph.get_namespace(asked.namespace)
    return {"found": False, "namespace": asked.namespace} if record is None else namespace_json(record)


class Frontmatter(Arguments):
    name: str | None = None
    description: str = Field(description="what is in it, for whoever decides where to look")


class UpsertNamespace(Arguments):
    namespace: str
    frontmatter: Annotated[Frontmatter, BeforeValidator(lambda v: decoded_json(v) if isinstance(v, str) else v)]
    source: Annotated[Any, WithJsonSchema({"type": ["string", "null"]})] = Field(
        default_factory=lambda: ABSENT, description="where its facts come from"
    )
    node_schema: Detail
    edge_schema: Detail
    harvest_config: Detail
    archived: Flag = False


@tool(UpsertNamespace, roles=WRITERS, needs=GRAPH, mutates=True)
def graph_upsert_namespace(desk: Desk, asked: UpsertNamespace) -> Answer:
    """Register a namespace or change what is said about it. Name, description and archived are replaced; of the details
    (source, schemas, harvestConfig) those left out are kept, and those given as null are cleared.
    """
    record = desk.graph.upsert_namespace(
        NamespaceUpsert(
            namespace=asked.namespace,
            name=asked.frontmatter.name,
            description=asked.frontmatter.description,
            archived=asked.archived,
            source=asked.source,
            node_schema=asked.node_schema,
            edge_schema=asked.edge_schema,
            harvest_config=asked.harvest_config,
        )
    )
    return namespace_json(record)


@tool(GetNamespace, roles=CRAWLERS, needs=GRAPH, mutates=True)
def graph_archive_namespace(desk: Desk, asked: GetNamespace) -> Answer:
    """Leave a namespace out of the list of namespaces. What is in it stays readable; graph_upsert_namespace brings it
    back.
    """
    if not desk.graph.archive_namespace(asked.namespace):
        raise NotFound(f"there is no namespace {asked.namespace!r}", argument="namespace")
    return {"namespace": asked.namespace, "archived": True}


class DeleteNamespace(Arguments):
    namespace: str
    confirm_destructive_delete: Flag = Field(False, description="must be true")
    reason: str = Field(description="why; it is logged", min_length=1)
    requeue: Flag = Field(True, description="true: live facts behind what went are harvested again")


@tool(DeleteNamespace, roles=FACTS_MANAGER, needs=GRAPH, mutates=True, destroys=True)
def graph_delete_namespace(desk: Desk, asked: DeleteNamespace) -> Answer:
    """Take away everything in exactly this namespace, and its entry. Facts stay; those that are alive are harvested
    again, unless requeue=false.
    """
    if not asked.confirm_destructive_delete:
        raise InvalidArgument("confirmDestructiveDelete must be true", argument="confirmDestructiveDelete")
    done = desk.graph.delete_namespace(asked.namespace, requeue=asked.requeue)
    log.info("namespace_deleted", namespace=asked.namespace, reason=asked.reason[:80], agent=desk.caller.name)
    shown: Answer = to_json(done)
    return {"namespace": asked.namespace} | shown


TOOLS = (
    graph_list_namespaces,
    graph_get_namespace,
    graph_upsert_namespace,
    graph_archive_namespace,
    graph_delete_namespace,
)
