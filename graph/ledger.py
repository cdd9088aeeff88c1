"""The ledger's text form of an extraction: canonical, so that two that say the same are the same text.

Shape: {"namespace", "nodes": [{"kind","name","aliases","namespace","identity"} | null], "edges": [{"from","to",
"predicate","confidence","namespace"} | null]}; null keeps the place of an item that was struck out by hand.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from graph.model import ABSENT, EdgeMention, Incorporation, NamespaceArgument, NodeMention, NodeRef


def _namespace(value: NamespaceArgument, inherited: str | None) -> str | None:
    return inherited if value is ABSENT else value


def _node(item: NodeMention | None, namespace: str | None) -> dict[str, Any] | None:
    if item is None:
        return None
    return {
        "kind": item.kind,
        "name": item.name,
        "aliases": list(item.aliases),
        "namespace": _namespace(item.namespace, namespace),
        "identity": item.identity,
    }


def _endpoint(end: str | NodeRef) -> str | dict[str, str]:
    return end if isinstance(end, str) else {"kind": end.kind, "name": end.name, "identity": end.identity}


def _edge(item: EdgeMention | None, namespace: str | None) -> dict[str, Any] | None:
    if item is None:
        return None
    return {
        "from": _endpoint(item.source),
        "to": _endpoint(item.target),
        "predicate": item.predicate,
        "confidence": item.confidence,
        "namespace": _namespace(item.namespace, namespace),
    }


def extraction_text(item: Incorporation) -> str:
    """The ledger text of an incorporation."""
    return orjson.dumps(
        {
            "namespace": item.namespace,
            "nodes": [_node(node, item.namespace) for node in item.nodes],
            "edges": [_edge(edge, item.namespace) for edge in item.edges],
        }
    ).decode()


def _read_endpoint(end: str | Mapping[str, Any]) -> str | NodeRef:
    return end if isinstance(end, str) else NodeRef(kind=end["kind"], name=end["name"], identity=end["identity"])


def incorporation_of(scope_key: str, etag: int, extraction: Mapping[str, Any]) -> Incorporation:
    """The incorporation that a ledger row records."""
    return Incorporation(
        scope_key=scope_key,
        etag=etag,
        namespace=extraction["namespace"],
        nodes=[node and NodeMention(**node) for node in extraction["nodes"]],
        edges=[
            edge
            and EdgeMention(
                source=_read_endpoint(edge["from"]),
                target=_read_endpoint(edge["to"]),
                predicate=edge["predicate"],
                confidence=edge["confidence"],
                namespace=edge["namespace"],
            )
            for edge in extraction["edges"]
        ],
    )
