"""The shapes of values that already hold a graph, known by the names of their fields.

Hot path: a drain reads every value here, so these are plain functions over decoded JSON. They judge structure only (is
this a text, a number, an object?); lengths, kinds, keys and confidence ranges are judged once, by the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from crawler.errors import UnknownShape
from graph.keys import Identity
from graph.model import ABSENT, EdgeMention, NamespaceArgument, NodeMention, NodeRef

JsonObject = Mapping[str, Any]
Mentions = tuple[list[NodeMention], list[EdgeMention]]


class Defaults(NamedTuple):
    """What a rule fills in where a value is silent."""

    confidence: float = 0.8
    kind: str = "entity"


class _Triple(NamedTuple):
    """The field names of one usual shape of a triple."""

    source: str
    predicate: str
    target: str


_CANONICAL: Final = _Triple("from", "predicate", "to")
TRIPLES: Final = (
    _Triple("subject", "predicate", "object"),
    _Triple("source", "type", "target"),
    _Triple("head", "relation", "tail"),
)
_EDGE_SHAPES: Final = (_CANONICAL, *TRIPLES)
_KIND_FIELDS: Final = ("kind", "type", "label")
_NAME_FIELDS: Final = ("name", "id")
_SHOWN_FIELDS: Final = 6


def _path_of_known_shapes() -> str:
    triples = [" && ".join(f"exists(@.{field})" for field in shape) for shape in TRIPLES]
    listed = '(exists(@.nodes) && @.nodes.type() == "array") || (exists(@.edges) && @.edges.type() == "array")'
    known = f'@.type() == "object" && ({listed} || ' + " || ".join(f"({one})" for one in triples) + ")"
    # A filter unwraps arrays by itself, so lists within the list are ruled out apart.
    return f'exists($[*]) && !exists($[*].type() ? (@ == "array")) && !exists($[*] ? (!({known})))'


KNOWN_SHAPES_PATH: Final = _path_of_known_shapes()
"""The same test as `is_known`, as a jsonpath predicate for the claim's SQL: one element or a list of them."""


def is_known(value: object) -> bool:
    """Whether `read_mentions` has a reading of the value: an object of a known shape, or a list of such objects."""
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(isinstance(item, dict) and _item_is_known(item) for item in items)


def read_mentions(value: object, defaults: Defaults) -> Mentions:
    """Nodes and edges of a value of a known shape; anything else is refused with the shape's name."""
    nodes: list[NodeMention] = []
    edges: list[EdgeMention] = []
    for item in value if isinstance(value, list) else (value,):
        if not isinstance(item, dict):
            raise UnknownShape(name_shape(item), f"{name_shape(item)} holds no nodes or edges")
        triple = _triple_of(item, TRIPLES)
        if triple is not None:
            edges.append(_edge(item, triple, defaults, _named_endpoint))
        elif _holds_lists(item):
            _read_graph(item, defaults, nodes, edges)
        else:
            raise UnknownShape(name_shape(item), f"{name_shape(item)} is none of the known shapes: {known_shapes()}")
    return nodes, edges


def known_shapes() -> str:
    return "nodes + edges, " + ", ".join("/".join(shape) for shape in TRIPLES)


def name_shape(value: object) -> str:
    """A short stable name for what was found: ``object with a, b``, ``text``, ``list of text``."""
    if isinstance(value, dict):
        fields = sorted(str(field)[:40] for field in value)
        more = ", ..." if len(fields) > _SHOWN_FIELDS else ""
        return f"object with {', '.join(fields[:_SHOWN_FIELDS])}{more}" if fields else "empty object"
    if isinstance(value, list):
        return f"list of {name_shape(value[0])}" if value else "empty list"
    names = {str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _item_is_known(item: JsonObject) -> bool:
    return _triple_of(item, TRIPLES) is not None or _holds_lists(item)


def _holds_lists(item: JsonObject) -> bool:
    return isinstance(item.get("nodes"), list) or isinstance(item.get("edges"), list)


def _triple_of(item: JsonObject, shapes: tuple[_Triple, ...]) -> _Triple | None:
    for shape in shapes:
        if shape[1] in item and shape[0] in item and shape[2] in item:
            return shape
    return None


def _read_graph(item: JsonObject, defaults: Defaults, nodes: list[NodeMention], edges: list[EdgeMention]) -> None:
    listed, drawn = item.get("nodes", ()), item.get("edges", ())
    if not isinstance(listed, list | tuple) or not isinstance(drawn, list | tuple):
        raise UnknownShape("nodes + edges", "nodes and edges must both be lists")
    by_id: dict[str, NodeRef] = {}
    for index, entry in enumerate(listed):
        node = _node(entry, index, defaults)
        nodes.append(node)
        if isinstance(entry.get("id"), str):
            by_id[entry["id"]] = NodeRef(kind=node.kind, name=node.name, identity=node.identity)

    def endpoint(end: object, _kind: object, _defaults: Defaults, field: str) -> str | NodeRef:
        if isinstance(end, str):
            return by_id.get(end, end)
        return _reference(end, field, defaults)

    for index, entry in enumerate(drawn):
        shape = _triple_of(entry, _EDGE_SHAPES) if isinstance(entry, dict) else None
        if shape is None:
            raise UnknownShape(
                f"edge: {name_shape(entry)}",
                f"edges[{index}] is {name_shape(entry)}; an edge has {', '.join('/'.join(s) for s in _EDGE_SHAPES)}",
            )
        edges.append(_edge(entry, shape, defaults, endpoint))


def _node(entry: object, index: int, defaults: Defaults) -> NodeMention:
    if not isinstance(entry, dict):
        raise UnknownShape(f"node: {name_shape(entry)}", f"nodes[{index}] is {name_shape(entry)}, not an object")
    name = _first_text(entry, _NAME_FIELDS)
    if name is None:
        raise UnknownShape(f"node: {name_shape(entry)}", f"nodes[{index}] has no name")
    aliases = entry.get("aliases") or ()
    if not isinstance(aliases, list | tuple) or not all(isinstance(alias, str) for alias in aliases):
        raise UnknownShape("node: aliases", f"nodes[{index}].aliases must be a list of texts")
    return NodeMention(
        kind=_first_text(entry, _KIND_FIELDS) or defaults.kind,
        name=name,
        aliases=tuple(aliases),
        namespace=_namespace(entry),
        identity=_identity(entry),
    )


def _edge(
    entry: JsonObject,
    shape: _Triple,
    defaults: Defaults,
    endpoint: Callable[[object, object, Defaults, str], str | NodeRef],
) -> EdgeMention:
    source, predicate, target = shape
    spoken = entry[predicate]
    if not isinstance(spoken, str):
        found = name_shape(spoken)
        raise UnknownShape(f"{predicate}: {found}", f"{predicate} must be a text, not {found}")
    confidence = entry.get("confidence")
    if confidence is None:
        confidence = defaults.confidence
    elif isinstance(confidence, bool) or not isinstance(confidence, int | float):
        raise UnknownShape("confidence", f"confidence must be a number, not {name_shape(confidence)}")
    return EdgeMention(
        source=endpoint(entry[source], _kind_beside(entry, source), defaults, source),
        target=endpoint(entry[target], _kind_beside(entry, target), defaults, target),
        predicate=spoken,
        confidence=float(confidence),
        namespace=_namespace(entry),
    )


def _kind_beside(entry: JsonObject, field: str) -> object:
    """``subject_type`` or ``subject_kind`` beside ``subject``."""
    return entry.get(f"{field}_type") or entry.get(f"{field}_kind")


def _named_endpoint(end: object, kind: object, defaults: Defaults, field: str) -> NodeRef:
    """In a plain triple a text is a name, never a key: its kind stands beside it or is the rule's."""
    if isinstance(end, str):
        return NodeRef(kind=kind if isinstance(kind, str) else defaults.kind, name=end)
    return _reference(end, field, defaults)


def _reference(end: object, field: str, defaults: Defaults) -> NodeRef:
    name = _first_text(end, _NAME_FIELDS) if isinstance(end, dict) else None
    if not isinstance(end, dict) or name is None:
        raise UnknownShape(f"{field}: {name_shape(end)}", f"{field} must be a text or an object with kind and name")
    return NodeRef(kind=_first_text(end, _KIND_FIELDS) or defaults.kind, name=name, identity=_identity(end))


def _namespace(entry: JsonObject) -> NamespaceArgument:
    given = entry.get("namespace", ABSENT)
    if given is ABSENT or given is None or isinstance(given, str):
        return given
    raise UnknownShape("namespace", f"namespace must be a text, not {name_shape(given)}")


def _identity(entry: JsonObject) -> Identity:
    given = entry.get("identity")
    if given is None or given == "normal":
        return "normal"
    if given == "exact":
        return "exact"
    raise UnknownShape("identity", "identity must be normal or exact")


def _first_text(entry: JsonObject, fields: tuple[str, ...]) -> str | None:
    for field in fields:
        value = entry.get(field)
        if isinstance(value, str):
            return value
    return None
