"""The graph for other programs: networkx, GraphML, GEXF, node-link JSON, JSON lines; as the caller sees it, at one moment."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, BinaryIO, assert_never

import networkx as nx

from facts.errors import InvalidArgument
from graph.queries import MOST_ROWS, EdgeQuery, NodeQuery
from graph.search import search_edges, search_nodes
from graph.views import EdgeView, NodeView

if TYPE_CHECKING:
    from graph.reading import Reading

# What XML 1.0 cannot hold, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class ExportFormat(StrEnum):
    """The formats that `harvester export` knows; JSON lines are written as they are read, the others whole."""

    JSONL = "jsonl"
    NODE_LINK = "node-link"
    GRAPHML = "graphml"
    GEXF = "gexf"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExportCounts:
    """What an export holds."""

    nodes: int
    edges: int


def checked_format(value: str) -> ExportFormat:
    """One of the formats."""
    try:
        return ExportFormat(value)
    except ValueError:
        raise InvalidArgument(
            f"format must be one of {', '.join(ExportFormat)}, not {value!r}", argument="format"
        ) from None


def take_snapshot(reading: Reading) -> None:
    """Let all reads of this transaction see one moment; to be called before any of them."""
    reading.conn.execute(reading.tables.export.snapshot)


def nodes_of(reading: Reading, namespace: str | None = None) -> Iterator[NodeView]:
    """Every node in key order."""
    query = NodeQuery(namespace=namespace, limit=MOST_ROWS)
    while True:
        page = search_nodes(reading, query)
        yield from page.nodes
        if page.cursor is None:
            return
        query = NodeQuery(namespace=namespace, limit=MOST_ROWS, cursor=page.cursor)


def edges_of(reading: Reading, namespace: str | None = None) -> Iterator[EdgeView]:
    """Every edge in the order of its keys; in a namespace, those that lie in it or touch a node of it."""
    query = EdgeQuery(namespace=namespace, limit=MOST_ROWS)
    while True:
        page = search_edges(reading, query)
        yield from page.edges
        if page.cursor is None:
            return
        query = EdgeQuery(namespace=namespace, limit=MOST_ROWS, cursor=page.cursor)


def to_networkx(reading: Reading, namespace: str | None = None) -> nx.MultiDiGraph[str]:
    """Nodes by node key, edges by predicate key, with the fields of their views.

    Of a namespace, an edge to a node outside it brings that node as a bare key.
    """
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for node in nodes_of(reading, namespace):
        graph.add_node(node.node_key, **_fields(node, without={"node_key"}))
    for edge in edges_of(reading, namespace):
        attributes = _fields(edge, without={"from_key", "to_key", "predicate_key"})
        graph.add_edge(edge.from_key, edge.to_key, key=edge.predicate_key, **attributes)
    return graph


def write_export(
    reading: Reading, out: BinaryIO, export_format: ExportFormat | str, *, namespace: str | None = None
) -> ExportCounts:
    """Write the graph to a binary stream; returns how much there was."""
    chosen = checked_format(export_format)
    take_snapshot(reading)
    if chosen is ExportFormat.JSONL:
        return _write_lines(reading, out, namespace)
    graph = to_networkx(reading, namespace)
    match chosen:
        case ExportFormat.NODE_LINK:
            out.write(json.dumps(nx.node_link_data(graph, edges="links"), default=_plain, ensure_ascii=False).encode())
        case ExportFormat.GRAPHML:
            nx.write_graphml_xml(_for_xml(graph), out, named_key_ids=True)
        case ExportFormat.GEXF:
            nx.write_gexf(_for_xml(graph), out)
        case never:
            assert_never(never)
    return ExportCounts(nodes=graph.number_of_nodes(), edges=graph.number_of_edges())


def _write_lines(reading: Reading, out: BinaryIO, namespace: str | None) -> ExportCounts:
    nodes = edges = 0
    for node in nodes_of(reading, namespace):
        out.write(_line("node", node))
        nodes += 1
    for edge in edges_of(reading, namespace):
        out.write(_line("edge", edge))
        edges += 1
    return ExportCounts(nodes=nodes, edges=edges)


def _line(kind: str, item: NodeView | EdgeView) -> bytes:
    shown = {_wire_name(name): value for name, value in _fields(item).items()}
    return json.dumps({"type": kind, **shown}, default=_plain, ensure_ascii=False).encode() + b"\n"


def _wire_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _fields(item: NodeView | EdgeView, without: Collection[str] = ()) -> dict[str, Any]:
    found = {field.name: getattr(item, field.name) for field in fields(item) if field.name not in without}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _for_xml(graph: nx.MultiDiGraph[str]) -> nx.MultiDiGraph[str]:
    """The same graph as XML formats take it: scalar attributes, no absent ones, edge ids that are unique."""
    flat: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    for key, attributes in graph.nodes(data=True):
        flat.add_node(_xml_text(key), **_scalars(attributes))
    for number, (source, target, key, attributes) in enumerate(graph.edges(keys=True, data=True)):
        flat.add_edge(
            _xml_text(source), _xml_text(target), key=str(number), predicate_key=_xml_text(key), **_scalars(attributes)
        )
    return flat


def _scalars(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: _scalar(value) for name, value in attributes.items() if value is not None}


def _scalar(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    return _xml_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
