"""`graph_incorporate`: a crawler agent's whole job for a fact in one call."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, WithJsonSchema

from crawler.arguments import Arguments, JsonList
from crawler.registry import CRAWLERS, Answer, Desk, Need, tool
from facts.errors import InvalidArgument
from facts.limits import number_in, unstorable
from graph.model import ABSENT, EdgeMention, Incorporation, NodeMention, NodeRef, Outcome, Provenance

MOST_FACTS = 100
_ITEM_FIELDS = {"scopeKey", "etag", "namespace", "nodes", "edges"}
_NODE_FIELDS = {"kind", "name", "aliases", "namespace", "identity"}
_EDGE_FIELDS = {"from", "to", "predicate", "confidence", "namespace"}
_END_FIELDS = {"kind", "name", "identity"}

_END_SCHEMA = {
    "anyOf": [
        {"type": "string", "description": "a node key"},
        {"type": "object", "properties": {"kind": {"type": "string"}, "name": {"type": "string"}}},
    ]
}
_FACTS_SCHEMA = {
    "type": "array",
    "maxItems": MOST_FACTS,
    "items": {
        "type": "object",
        "required": ["scopeKey", "etag"],
        "properties": {
            "scopeKey": {"type": "string"},
            "etag": {"type": "integer"},
            "namespace": {"type": ["string", "null"]},
            "nodes": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["kind", "name"],
                    "properties": {
                        "kind": {"type": "string"},
                        "name": {"type": "string"},
                        "aliases": {"type": "array", "items": {"type": "string"}},
                        "namespace": {"type": ["string", "null"]},
                        "identity": {"enum": ["normal", "exact"]},
                    },
                },
            },
            "edges": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["from", "to", "predicate"],
                    "properties": {
                        "from": _END_SCHEMA,
                        "to": _END_SCHEMA,
                        "predicate": {"type": "string"},
                        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
                        "namespace": {"type": ["string", "null"]},
                    },
                },
            },
        },
    },
}


class Incorporate(Arguments):
    judged_by_store: ClassVar[bool] = True

    facts: Annotated[list[Any], JsonList, WithJsonSchema(_FACTS_SCHEMA)] = Field(
        description="1 to 100 facts, each with the etag that was read", min_length=1, max_length=MOST_FACTS
    )
    model: str | None = Field(None, description="the model that extracted, if one did")


@tool(Incorporate, roles=CRAWLERS, needs=[Need.GRAPH], mutates=True)
def graph_incorporate(desk: Desk, asked: Incorporate) -> Answer:
    """Do a crawler's whole job for up to 100 facts: say which nodes and edges each states now. Replaces what the fact
    stated before, withdraws what it no longer states, and acknowledges it, in one step, if it still has the etag that
    you read. Per fact: acked, stale (changed: read it again; acknowledged: done already), gone, or rejected with every
    fault. A deleted fact takes no nodes or edges. No edge is a fact of its own: what you leave out is withdrawn.
    """
    fault = unstorable(asked.model or "")
    if fault is not None:
        raise InvalidArgument(f"model {fault}", argument="model")
    faults: dict[str, list[str]] = {}
    ready = [_read_item(item, at, faults) for at, item in enumerate(asked.facts)]
    known = desk.facts.readable([item.scope_key for item in ready], desk.access.at_work())
    sound = [item for item in ready if item.scope_key in known and item.scope_key not in faults]
    writer = desk.caller.name
    done = desk.graph.incorporate(sound, Provenance(writer=writer, model=asked.model, extractor=writer))
    outcomes = {one.scope_key: one for one in done}
    return {"facts": [_outcome(item.scope_key, outcomes, faults) for item in ready]}


def _outcome(scope_key: str, outcomes: dict[str, Outcome], faults: dict[str, list[str]]) -> Answer:
    if scope_key in faults:
        one = Outcome(scope_key=scope_key, outcome="rejected", reason="; ".join(faults[scope_key]))
    else:
        # Outside the caller's grant a fact is as good as not there.
        one = outcomes.get(scope_key) or Outcome(scope_key=scope_key, outcome="gone")
    answer: Answer = {
        "scopeKey": scope_key,
        "outcome": one.outcome,
        "nodes": one.nodes,
        "edges": one.edges,
        "withdrawn": one.withdrawn,
    }
    if one.skipped:
        answer["skipped"] = one.skipped
    if one.reason is not None:
        answer["reason"] = one.reason
    return answer


def _read_item(item: Any, at: int, faults: dict[str, list[str]]) -> Incorporation:
    """Which fact an entry speaks of must be clear; whatever else is wrong with it rejects that fact alone."""
    if not isinstance(item, dict):
        raise InvalidArgument(f"facts[{at}] must be an object", argument=f"facts[{at}]")
    item = {"scopeKey": item.get("scope_key"), **item}
    item.pop("scope_key", None)
    key, etag = item["scopeKey"], item.get("etag")
    if not isinstance(key, str) or not key:
        raise InvalidArgument(f"facts[{at}].scopeKey is missing", argument=f"facts[{at}].scopeKey")
    fault = unstorable(key)
    if fault is not None:
        raise InvalidArgument(f"facts[{at}].scopeKey {fault}", argument=f"facts[{at}].scopeKey")
    if isinstance(etag, str):
        etag = number_in(etag)
    if isinstance(etag, bool) or not isinstance(etag, int) or not 0 <= etag < 2**63:
        raise InvalidArgument(f"facts[{at}].etag must be the number that was read", argument=f"facts[{at}].etag")
    found: list[str] = _unknown(item, _ITEM_FIELDS, "")
    nodes = [_node(one, f"nodes[{index}]", found) for index, one in enumerate(_list(item, "nodes", found))]
    edges = [_edge(one, f"edges[{index}]", found) for index, one in enumerate(_list(item, "edges", found))]
    if found:
        faults[key] = found
    return Incorporation(scope_key=key, etag=etag, namespace=item.get("namespace"), nodes=nodes, edges=edges)


def _list(item: dict[str, Any], name: str, faults: list[str]) -> list[Any]:
    found = item.get(name)
    if found is None or isinstance(found, list):
        return found or []
    faults.append(f"{name} must be a list")
    return []


def _unknown(item: dict[str, Any], known: set[str], place: str) -> list[str]:
    return [f"{place}{name} is unknown" for name in sorted(set(item) - known)]


def _node(item: Any, place: str, faults: list[str]) -> NodeMention:
    """Texts and lists are judged by the graph, which knows the limits."""
    if not isinstance(item, dict):
        faults.append(f"{place} must be an object")
        return NodeMention(kind="", name="")
    faults += _unknown(item, _NODE_FIELDS, f"{place}.")
    return NodeMention(
        kind=item.get("kind", ""),
        name=item.get("name", ""),
        aliases=item.get("aliases") or (),
        namespace=item.get("namespace", ABSENT),
        identity=item.get("identity") or "normal",
    )


def _edge(item: Any, place: str, faults: list[str]) -> EdgeMention:
    if not isinstance(item, dict):
        faults.append(f"{place} must be an object")
        return EdgeMention(source="", target="", predicate="")
    faults += _unknown(item, _EDGE_FIELDS, f"{place}.")
    confidence = item.get("confidence")
    return EdgeMention(
        source=_end(item.get("from"), f"{place}.from", faults),
        target=_end(item.get("to"), f"{place}.to", faults),
        predicate=item.get("predicate", ""),
        confidence=1.0 if confidence is None else confidence,
        namespace=item.get("namespace", ABSENT),
    )


def _end(end: Any, place: str, faults: list[str]) -> str | NodeRef:
    if isinstance(end, str):
        return end
    if not isinstance(end, dict):
        faults.append(f"{place} must be a node key or an object with kind and name")
        return ""
    faults += _unknown(end, _END_FIELDS, f"{place}.")
    return NodeRef(kind=end.get("kind", ""), name=end.get("name", ""), identity=end.get("identity") or "normal")
